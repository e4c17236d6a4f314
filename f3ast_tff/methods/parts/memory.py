"""What an aggregation remembers: rules of one client and of the server, in NumPy or JAX alike."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, ClassVar, NamedTuple

import numpy as np

# Vectors `float32 [num_weights]` and numbers, by name.
Values = dict[str, Any]

_LARGEST = np.finfo(np.float32).max


class RoundContext(NamedTuple):
    """What holds for a whole round.

    Attributes:
        xp: `numpy` or `jax.numpy`, of which all arrays are.
        round_number: Round t, from 1; a scalar that may be traced, as the others.
        learning_rate: Of the clients in this round.
        model: w_t, before the round, `[num_weights]`.
        num_clients: Clients with p_k above 0.
    """

    xp: Any
    round_number: Any
    learning_rate: Any
    model: Any
    num_clients: Any


class Client(NamedTuple):
    """A client of the cohort.

    Attributes:
        kept: Its `Memory.vectors` and `Memory.numbers`.
        share: p_k.
        steps: Its local steps in this round; 0 for one without a whole batch.
    """

    kept: Values
    share: Any
    steps: Any


class ClientInit(NamedTuple):
    """How a client enters a round: w = model, gradients g + offset, and scale * D_k + shift back.

    `None` stands for the model w_t, and for an offset, a scale and a shift that change nothing;
    which of them are `None` must not depend on values.
    """

    model: Any = None
    offset: Any = None
    scale: Any = None
    shift: Any = None


class Memory:
    """Rules of what the server keeps, for each client and for itself. Base of all memories.

    Pure: arguments are not changed, and results depend on them alone. Rules are written for one
    client and for vectors of `num_weights` numbers. Engines apply them to the clients of a cohort
    whose update D_k is finite; the others leave no trace. A round goes

        `client` for each of the cohort; local training gives D_k;
        Delta = sum_k w_k (scale_k D_k + shift_k) [over sum_k w_k if `mean`] + `correction`;
        `after_client` for each of the cohort; the server optimizer steps along Delta if `steps`;
        `after_server_step` for each of the cohort; `end_round`. `evaluated` is what is scored.

    With an `echo_clip` C the clients' own part is clipped before their shifts are added,
    Delta = clip_C(sum_k w_k scale_k D_k [over sum_k w_k]) + sum_k w_k shift_k [over sum_k w_k].

    Attributes:
        vectors: What is kept for each client, and where it starts: `"zero"`, or `"model"` for the
            initial model.
        numbers: Further numbers kept for each client, from 0.
        averages: Names of `vectors` y of which `server["average_" + name]`, sum_j p_j y_j over all
            clients, is kept; accurate over any number of rounds. Renewed after `after_client`.
        settled_averages: Such names whose average is renewed after `after_server_step` instead.
        totals: Names of `numbers` of which `server["total_" + name]`, the sum over all clients, is.
        server_vectors: What is kept once, see `vectors`.
        vectors_down: Vectors of the model's size that a client gets in a round, the model among
            them, where each client keeps what is its own.
        vectors_up: Vectors that it sends, its update among them.
    """

    vectors: ClassVar[Mapping[str, str]] = MappingProxyType({})
    numbers: ClassVar[tuple[str, ...]] = ()
    averages: ClassVar[tuple[str, ...]] = ()
    settled_averages: ClassVar[tuple[str, ...]] = ()
    totals: ClassVar[tuple[str, ...]] = ()
    server_vectors: ClassVar[Mapping[str, str]] = MappingProxyType({})
    vectors_down: ClassVar[int] = 1
    vectors_up: ClassVar[int] = 1

    def client(self, client: Client, server: Values, now: RoundContext) -> ClientInit:
        """Returns how a client enters the round."""
        return ClientInit()

    def after_client(
        self, client: Client, update: Any, server: Values, now: RoundContext
    ) -> Values:
        """Returns what is kept for a client after its update D_k, `[num_weights]`."""
        return client.kept

    def correction(self, server: Values, now: RoundContext) -> Any:
        """Returns what is added to Delta, `[num_weights]`, or `None`."""
        return None

    def mean(self, normalise: bool, now: RoundContext) -> Any:
        """Whether the cohort's weights enter over their sum.

        Args:
            normalise: Whether the aggregation says so.
            now: The round.
        """
        return normalise

    def steps(self, server: Values, now: RoundContext, present: Any) -> Any:
        """Whether the server steps; if not, what clients sent is noted and the model stays.

        Args:
            server: After `after_client`.
            now: The round.
            present: Whether an update came back; if not, Delta is the correction.
        """
        return present

    def after_server_step(self, kept: Values, delta: Any, model: Any, now: RoundContext) -> Values:
        """Returns what is kept for a client of the cohort after the server's step.

        Args:
            kept: After `after_client`.
            delta: Delta, as the server optimizer took it.
            model: w_{t+1}.
            now: The round.
        """
        return kept

    def end_round(self, server: Values, model: Any, now: RoundContext) -> tuple[Values, Any]:
        """Returns the server's values and the model at the end of every round, an empty one too."""
        return server, model

    def evaluated(self, server: Values, model: Any) -> Any:
        """Returns the model that is scored, `[num_weights]`: w, unless the method has another."""
        return model

    @property
    def echo_clip(self) -> float | None:
        """Norm C that the clients' own part of Delta is clipped to; `None` for no limit."""
        return None

    @property
    def by_client(self) -> bool:
        """Whether anything is kept for each client."""
        return bool(self.vectors or self.numbers)


def use_of_start(memory: Memory) -> ClientInit:
    """Returns the parts of `ClientInit` that a memory uses as arrays, the others as `None`."""
    vector, number = np.zeros(1, np.float32), np.float32(0)
    kept = {**dict.fromkeys(memory.vectors, vector), **dict.fromkeys(memory.numbers, number)}
    now = RoundContext(np, np.int32(1), np.float32(1), vector, np.int32(1))
    server = dict.fromkeys(server_names(memory), vector)
    return memory.client(Client(kept, number, np.int32(1)), server, now)


def server_names(memory: Memory) -> list[str]:
    """Returns names of the server's values; what averages lose to rounding is under `_error`."""
    averages = [f"average_{name}" for name in (*memory.averages, *memory.settled_averages)]
    errors = [f"{name}_error" for name in averages]
    totals = [f"total_{name}" for name in memory.totals]
    return [*memory.server_vectors, *averages, *errors, *totals]


def initial_server(memory: Memory, model: Any, xp: Any) -> Values:
    """Returns the server's values before the first round.

    Args:
        memory: The rules.
        model: The initial model, `float32 [num_weights]`.
        xp: `numpy` or `jax.numpy`.
    """
    # The average of what starts as the model is the model: shares sum to 1.
    averages = (*memory.averages, *memory.settled_averages)
    starts = {**{f"average_{n}": memory.vectors[n] for n in averages}, **memory.server_vectors}
    values: Values = {}
    for name in server_names(memory):
        if name.startswith("total_"):
            values[name] = xp.float32(0)
        else:
            values[name] = xp.array(model) if starts.get(name) == "model" else xp.zeros_like(model)
    return values


def clipped(vector: Any, limit: float, xp: Any) -> Any:
    """Returns a vector scaled down to a norm of at most `limit`; NaN if its norm overflows."""
    norm = xp.sqrt(xp.sum(xp.square(vector)))
    most = xp.where(xp.isfinite(norm), xp.float32(limit), xp.float32(np.nan))
    return vector * (most / xp.maximum(norm, most))


def added(values: tuple[Any, Any], term: Any) -> tuple[Any, Any]:
    """Adds to a sum that is kept in two parts, after Knuth.

    Args:
        values: The sum, rounded, and what rounding has left out of it.
        term: Of the same shape.
    """
    total, error = values
    raw = total + term
    part = raw - total
    error = error + ((total - (raw - part)) + (term - part))
    # The rounded sum takes in what has been left out, so that it is right by itself.
    taken = raw + error
    return taken, error - (taken - raw)


def renewed(averages: tuple[Any, Any], share: Any, before: Any, after: Any) -> tuple[Any, Any]:
    """Returns sum_j p_j y_j, in two parts, after y_k has changed; what was added is taken out."""
    return added(added(averages, _rounded(-share * before)), _rounded(share * after))


def _rounded(product: Any) -> Any:
    """The same; XLA must not add a product that is not rounded, which is not what it takes out."""
    return product.clip(-_LARGEST, _LARGEST)
