"""Updates of a cohort in host memory: messages, and `combine`."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from f3ast_tff.core.errors import ComponentError, ParameterError
from f3ast_tff.engines.engine import EngineParts, ExampleScores
from f3ast_tff.files.process_memory import available_memory_bytes
from f3ast_tff.methods.parts.aggregation import Aggregation
from f3ast_tff.methods.parts.host_memory import HostMemory
from f3ast_tff.methods.parts.memory import ClientInit, ClientLosses, Gathered, RoundContext, Values

_LOG = logging.getLogger("f3ast_tff.engines")
# Bytes of stacked updates above which the terminal says them too.
_LARGE = 2**30


@dataclass(frozen=True)
class Sent:
    """Contributions of a cohort's clients.

    Attributes:
        ids: Clients, `int [m]`.
        steps: Their local steps, `int [m]`.
        updates: D_k, or messages, `float32 [m, num_weights]`.
        weights: Weights in the aggregate, `float32 [m]`.
        finite: Whether each client counts, `bool [m]`.
        starts: Scale and shift of each client, not yet in `updates`; empty without.
    """

    ids: np.ndarray
    steps: np.ndarray
    updates: np.ndarray
    weights: np.ndarray
    finite: np.ndarray
    starts: Sequence[ClientInit] = ()

    def applied(self) -> Sent:
        """Returns the same with v_k = scale D_k + shift in `updates`."""
        if not self.starts:
            return self
        return replace(self, updates=ClientInit.stacked(self.starts).sent(self.updates), starts=())

    def with_messages(
        self, memory: HostMemory, losses: Sequence[ClientLosses], now: RoundContext
    ) -> Sent:
        """Returns the messages of these clients, with their weights; see `Memory.message`."""
        sent = self.applied()
        # Messages that are not finite are found and left out.
        with np.errstate(all="ignore"):
            vectors, factors = memory.messages(
                sent.ids, sent.steps, sent.weights, sent.updates, losses, now
            )
        finite = sent.finite & np.isfinite(vectors).all(axis=1) & np.isfinite(factors)
        return replace(sent, updates=vectors, weights=sent.weights * factors, finite=finite)


def clients_of(sent: Sent) -> np.ndarray:
    """Returns the clients whose contribution is finite, rising, each once, `int [m]`."""
    return np.unique(sent.ids[sent.finite])


def combined(
    aggregation: Aggregation,
    sent: Sent,
    *,
    round_number: int,
    model: np.ndarray,
    server: Values,
    kept: Values,
) -> tuple[np.ndarray, Values]:
    """Returns `Aggregation.combine_round` of the finite updates, each client once.

    Args:
        aggregation: The rule.
        sent: Contributions of the cohort.
        round_number: Round t.
        model: w_t, `float32 [num_weights]`.
        server: The memory's server values before the round.
        kept: Its values of `clients_of(sent)` before the round, `[m, ...]`.

    Returns:
        Delta, `float32 [num_weights]`, 0 without any update; and the values of
        `Memory.server_vectors` and `Memory.server_numbers` after the round, which nothing else
        changes before its end; none without any update.

    Raises:
        ComponentError: If Delta is no vector of the updates' length, or a value has another shape.
    """
    ids, places, which = np.unique(sent.ids[sent.finite], return_index=True, return_inverse=True)
    updates = sent.updates[sent.finite][places]
    if not len(ids):
        return np.zeros(sent.updates.shape[1], np.float32), {}
    weights = np.bincount(which.reshape(-1), sent.weights[sent.finite], len(ids))
    gathered = Gathered(
        updates=updates,
        weights=weights.astype(np.float32),
        ids=ids.astype(np.int64),
        round_number=round_number,
        model=model,
        server=server,
        kept=kept,
    )
    result = aggregation.combine_round(gathered)
    says = f"aggregation {aggregation.own_name}: combine"
    memory = aggregation.memory
    names = () if memory is None else (*memory.server_vectors, *memory.server_numbers)
    if not (isinstance(result, tuple) and len(result) == 2 and {*names} <= {*result[1]}):
        must = f"must return Delta and the server's values, {', '.join(names) or '{}'}"
        raise ComponentError(f"{says}_round {must}")
    found = np.asarray(result[0])
    if found.shape != updates.shape[1:] or found.dtype.kind not in "iuf":
        raise ComponentError(
            f"{says} returned {found.dtype} of shape {[*found.shape]}: must be numbers of shape "
            f"{[*updates.shape[1:]]}"
        )
    changed = {name: np.asarray(result[1][name], np.float32) for name in names}
    for name, value in changed.items():
        if value.shape != np.shape(server[name]):
            shapes = f"{[*value.shape]}: must have shape {[*np.shape(server[name])]}"
            raise ComponentError(f"{says}_round returned {name} of shape {shapes}")
    return found.astype(np.float32), changed


def client_losses_of(
    trained: np.ndarray,
    starts: Sequence[ClientInit],
    ids: np.ndarray,
    *,
    parts: EngineParts,
    round_number: int,
    model: np.ndarray,
    score: Callable[[np.ndarray, np.ndarray], ExampleScores],
) -> list[ClientLosses]:
    """Returns the losses that `Memory.message` reads.

    Args:
        trained: Mean loss of each client's batches, `float [m]`.
        starts: Start of each client.
        ids: Clients, `int [m]`.
        parts: Parts of the engine.
        round_number: Round t.
        model: w_t, `float32 [num_weights]`.
        score: Scores of rows of the training data, given a model `[num_weights]`.
    """
    memory, train = parts.aggregation.memory, parts.data.train
    at_start = np.full(len(ids), np.nan)
    if memory is not None and memory.start_loss:
        for place, k in enumerate(ids.tolist()):
            order = parts.work.order(round_number, k, int(train.sizes[k])).ravel()
            own = starts[place].model
            if len(order):
                scores = score(model if own is None else own, train.offsets[k] + order)
                at_start[place] = scores.loss.sum() / max(scores.count.sum(), 1)
    pairs = zip(trained.astype(np.float32), at_start.astype(np.float32))
    return [ClientLosses(*pair) for pair in pairs]


def check_stack(aggregation: Aggregation, cohort_size: int, num_weights: int) -> None:
    """Says in the log how much memory the stacked updates of a cohort take.

    Raises:
        ParameterError: If they do not fit in free memory.
    """
    needed, room = 4 * cohort_size * num_weights, available_memory_bytes()
    if needed > room:
        allowed = (
            f"keeps the updates of {cohort_size} clients at once, {needed / 2**30:.1f} GiB: this "
            f"machine has {room / 2**30:.1f} GiB to spare"
        )
        raise ParameterError("aggregation", aggregation.own_name, allowed)
    _LOG.log(
        logging.WARNING if needed > _LARGE else logging.INFO,
        "combine keeps the updates of up to %d clients at once, %.1f MiB in host memory and, on "
        "engine fused, as much on the device",
        cohort_size,
        needed / 2**20,
    )
