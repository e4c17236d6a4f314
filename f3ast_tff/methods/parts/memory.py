"""Memory of an aggregation: rules per client and for the server, for NumPy and JAX arrays."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, ClassVar, NamedTuple

import numpy as np

# Vectors `float32 [num_weights]` and numbers, by name.
Values = dict[str, Any]
# Rising ranges (first, end) of a model's coordinates.
Ranges = tuple[tuple[int, int], ...]

_LARGEST = np.finfo(np.float32).max


class CohortSums(NamedTuple):
    """Sums over the updates that enter Delta: those delivered and finite; all 0 without any.

    Attributes:
        weight: sum_k w_k of the cohort's weights.
        steps: sum_k w_k tau_k, tau_k being the client's local steps.
    """

    weight: Any
    steps: Any


class RoundContext(NamedTuple):
    """Values common to all clients of a round; scalars may be traced.

    Attributes:
        xp: Array module, `numpy` or `jax.numpy`.
        round_number: Round t, from 1.
        learning_rate: Client learning rate in this round.
        server_rate: Server learning rate, the same in all rounds.
        model: w_t, before the round, `[num_weights]`.
        num_clients: Number of clients with p_k above 0.
        cohort: Sums over the updates, for the rules of the server from `aggregated` on; `None` in
            the rules of a client, which precede them.
        server: Server values before the round, for `Memory.message`, which has no such argument.
    """

    xp: Any
    round_number: Any
    learning_rate: Any
    server_rate: Any
    model: Any
    num_clients: Any
    cohort: CohortSums | None = None
    server: Mapping[str, Any] = MappingProxyType({})


class Client(NamedTuple):
    """A client of the cohort.

    Attributes:
        kept: Its `Memory.vectors`, `Memory.numbers` and `Memory.parts`.
        share: p_k.
        steps: Its local steps in this round; 0 without a whole batch.
        weight: w_k in the cohort, over all draws of the client; only in `Memory.message`.
        id: Its number k; only in `Memory.message`.
    """

    kept: Values
    share: Any
    steps: Any
    weight: Any = None
    id: Any = None


class Gathered(NamedTuple):
    """Messages of a round's clients, for `Aggregation.combine_round`; NumPy arrays.

    Attributes:
        updates: Update sent by each client, `float32 [m, num_weights]`; finite, m at least 1.
        weights: Weights of the clients in the cohort, over all draws, `float32 [m]`.
        ids: Numbers of the clients, rising, `int64 [m]`.
        round_number: Round t, from 1.
        model: w_t, before the round, `float32 [num_weights]`.
        server: Server values of the memory before the round; empty without a memory.
        kept: Values of the memory for each client before the round, by name, `[m, ...]`.
    """

    updates: np.ndarray
    weights: np.ndarray
    ids: np.ndarray
    round_number: int
    model: np.ndarray
    server: Values
    kept: Values


class ClientLosses(NamedTuple):
    """Mean losses over the examples in a client's batches of this round; NaN without any step.

    Attributes:
        trained: Mean of the losses that training saw, each under the weights of its step.
        start: Loss under the model that the client starts from; NaN unless `Memory.start_loss`.
    """

    trained: Any
    start: Any


class ClientInit(NamedTuple):
    """Start of a client: its first model, the direction of its steps, and its message.

    It trains from `model` by steps along g + offset + pull (w - model), and sends scale * D_k +
    shift. `pull` is thus the penalty (pull / 2) |w - model|^2, which reported losses leave out.
    `trains` is a factor of the sum above: 1 for coordinates that the client trains, and 0 for
    others. `None` stands for the model w_t, offset 0, scale 1, shift 0, pull 0 and trains 1. Which
    fields are `None` must not depend on values. `scale` and `pull` are numbers, the others
    `[num_weights]`.
    """

    model: Any = None
    offset: Any = None
    scale: Any = None
    shift: Any = None
    pull: Any = None
    trains: Any = None

    @classmethod
    def stacked(cls, starts: Sequence[ClientInit]) -> ClientInit:
        """Returns what m clients send: scale `float32 [m, 1]`, shift `float32 [m, num_weights]`."""
        scales = [start.scale for start in starts if start.scale is not None]
        shifts = [start.shift for start in starts if start.shift is not None]
        return cls(
            scale=np.array(scales, np.float32)[:, None] if scales else None,
            shift=np.array(shifts, np.float32) if shifts else None,
        )

    def sent(self, update: Any) -> Any:
        """Returns scale * D_k + shift, of the shape of `update`."""
        scaled = update if self.scale is None else self.scale * update
        return scaled if self.shift is None else scaled + self.shift


class Memory:
    """Rules for the state that the server keeps, per client and for itself. Base of all memories.

    All methods are pure functions. They are written for one client and for vectors of
    `num_weights` numbers. Engines apply them to the clients of a cohort whose update D_k is finite;
    other clients change nothing. A round runs as follows:

        `client` for each of the cohort; local training gives D_k;
        `message` turns v_k = scale_k D_k + shift_k into the update sent, and may change w_k;
        Delta = `aggregated` of sum_k w_k v_k [over sum_k w_k if `mean`] + `correction`;
        `after_client` for each of the cohort; the server optimizer steps along Delta if `steps`;
        `after_server_step` for each of the cohort; `end_round`. `evaluated` gives the scored model.

    If there is an `echo_clip` C, the clients' own part is clipped before the shifts are added:
    Delta = clip_C(sum_k w_k scale_k D_k [over sum_k w_k]) + sum_k w_k shift_k [over sum_k w_k].

    Attributes:
        vectors: Vectors kept per client, by name. Each starts as `"zero"` or as `"model"`, the
            initial model.
        numbers: Names of numbers kept per client, from 0.
        parts: Ranges of the model's coordinates, kept per client by name, initially the model's.
        averages: Names of `vectors` y whose average sum_j p_j y_j over all clients is kept as
            `server["average_" + name]`, exact over any number of rounds. Updated after
            `after_client`.
        settled_averages: Names of such `vectors` with averages updated after `after_server_step`.
        totals: Names of `numbers` whose sum over all clients is kept as `server["total_" + name]`.
        server_vectors: Vectors kept once; start as in `vectors`.
        last_step: Whether D_k is a client's last local step only, not its whole movement.
        start_loss: Whether `message` reads the loss at the client's start, which costs a pass
            through the network per batch.
        reads_gradients: Whether the rules read gradients off D_k. Clients must then step by rate
            times direction: clipping, and optimizers other than plain SGD, are refused.
        vectors_down: Vectors of the model's size sent to a client per round, the model included.
        vectors_up: Vectors sent back, the update included.

    Examples:
        >>> import numpy as np
        >>> from f3ast_tff.methods.parts.memory import Memory, initial_server
        >>> class LatestUpdates(Memory):  # MIFA's: y_k is the latest update of client k.
        ...     vectors, averages = {"y": "zero"}, ("y",)
        ...     def after_client(self, client, update, server, now):
        ...         return {"y": update}
        >>> sorted(initial_server(LatestUpdates(), np.zeros(2), np))
        ['average_y', 'average_y_error']
    """

    vectors: ClassVar[Mapping[str, str]] = MappingProxyType({})
    numbers: ClassVar[tuple[str, ...]] = ()
    parts: ClassVar[Mapping[str, Ranges]] = MappingProxyType({})
    averages: ClassVar[tuple[str, ...]] = ()
    settled_averages: ClassVar[tuple[str, ...]] = ()
    totals: ClassVar[tuple[str, ...]] = ()
    server_vectors: ClassVar[Mapping[str, str]] = MappingProxyType({})
    last_step: ClassVar[bool] = False
    start_loss: ClassVar[bool] = False
    reads_gradients: ClassVar[bool] = False
    vectors_down: ClassVar[int] = 1
    vectors_up: ClassVar[int] = 1

    def client(self, client: Client, server: Values, now: RoundContext) -> ClientInit:
        """Returns the start of a client's round."""
        return ClientInit()

    def after_client(
        self, client: Client, update: Any, server: Values, now: RoundContext
    ) -> Values:
        """Returns the values kept for a client after its update D_k, `[num_weights]`."""
        return client.kept

    def message(
        self, client: Client, update: Any, losses: ClientLosses, now: RoundContext
    ) -> tuple[Any, Any]:
        """Returns the update that a client sends after training, and the factor of its weight w_k.

        For clipping, quantisation, sparse updates and weights that depend on the update. The rule
        also has the client's number, `client.id`, and the server's values, `now.server`. A client
        whose update, message or factor is not finite is left out. The rule `after_client` gets D_k
        itself.

        Args:
            client: The client.
            update: v_k = scale_k D_k + shift_k, `[num_weights]`.
            losses: The client's losses.
            now: The round.
        """
        return update, 1.0

    def aggregated(self, delta: Any, server: Values, now: RoundContext) -> Any:
        """Returns Delta before the correction, `[num_weights]`.

        Args:
            delta: Sum or mean of the updates sent.
            server: Server values before the round.
            now: The round; `now.cohort` holds sums over the updates in `delta`.
        """
        return delta

    def correction(self, server: Values, now: RoundContext) -> Any:
        """Returns the term added to Delta, `[num_weights]`, if any."""
        return None

    def mean(self, normalise: bool, now: RoundContext) -> Any:
        """Returns whether the cohort's weights are divided by their sum.

        Args:
            normalise: Whether the aggregation divides them.
            now: The round.
        """
        return normalise

    def steps(self, server: Values, now: RoundContext, present: Any) -> Any:
        """Returns whether the server steps; otherwise updates are remembered and the model stays.

        Args:
            server: Server values after `after_client`.
            now: The round.
            present: Whether any update arrived; otherwise Delta is the correction.
        """
        return present

    def after_server_step(self, kept: Values, delta: Any, model: Any, now: RoundContext) -> Values:
        """Returns the values kept for a client of the cohort after the server's step.

        Args:
            kept: The client's values after `after_client`.
            delta: Delta, the input of the server optimizer.
            model: w_{t+1}.
            now: The round.
        """
        return kept

    def end_round(self, server: Values, model: Any, now: RoundContext) -> tuple[Values, Any]:
        """Returns the server's values and the model at the end of each round, even an empty one."""
        return server, model

    def evaluated(self, server: Values, model: Any) -> Any:
        """Returns the model to score and to keep for use, `[num_weights]`; w by default."""
        return model

    def own_model(self, kept: Values, server: Values, model: Any, xp: Any) -> Any:
        """Returns the model scored on a client's own examples, `[num_weights]`.

        Args:
            kept: The client's values.
            server: Server values.
            model: The result of `evaluated`.
            xp: `numpy` or `jax.numpy`.
        """
        return model

    def payload(self, model_bytes: int) -> tuple[int, int]:
        """Returns the bytes that a client receives and sends per round.

        Args:
            model_bytes: Bytes of the model's leaves that are shared.
        """
        return self.vectors_down * model_bytes, self.vectors_up * model_bytes

    @property
    def least_weights(self) -> int:
        """Least number of weights that a model must have for the rules."""
        return 0

    @property
    def server_numbers(self) -> Mapping[str, float]:
        """Numbers kept once, by name, and their first values."""
        return {}

    @property
    def has_own_models(self) -> bool:
        """Whether clients are scored under models of their own."""
        return type(self).own_model is not Memory.own_model

    @property
    def echo_clip(self) -> float | None:
        """Norm C to which the clients' own part of Delta is clipped; `None` for no limit."""
        return None

    @property
    def by_client(self) -> bool:
        """Whether clients differ: by values kept for each, by starts, messages or own models."""
        own_start = type(self).client is not Memory.client
        return self.keeps_clients or own_start or self.has_messages or self.has_own_models

    @property
    def has_messages(self) -> bool:
        """Whether `message` changes what clients send."""
        return type(self).message is not Memory.message

    @property
    def keeps_clients(self) -> bool:
        """Whether values are kept per client."""
        return bool(self.vectors or self.numbers or self.parts)


def server_names(memory: Memory) -> list[str]:
    """Returns names of the server's values; `_error` holds an average's rounding error."""
    averages = [f"average_{name}" for name in (*memory.averages, *memory.settled_averages)]
    errors = [f"{name}_error" for name in averages]
    totals = [f"total_{name}" for name in memory.totals]
    return [*memory.server_vectors, *memory.server_numbers, *averages, *errors, *totals]


def initial_server(memory: Memory, model: Any, xp: Any) -> Values:
    """Returns the server's values before the first round.

    Args:
        memory: The rules.
        model: The initial model, `float32 [num_weights]`.
        xp: `numpy` or `jax.numpy`.
    """
    # Shares sum to 1, so the average of vectors that start as the model is the model.
    averages = (*memory.averages, *memory.settled_averages)
    starts = {**{f"average_{n}": memory.vectors[n] for n in averages}, **memory.server_vectors}
    values: Values = {}
    for name in server_names(memory):
        if name in memory.server_numbers or name.startswith("total_"):
            values[name] = xp.float32(memory.server_numbers.get(name, 0))
        else:
            values[name] = xp.array(model) if starts.get(name) == "model" else xp.zeros_like(model)
    return values


def clipped(vector: Any, limit: float, xp: Any) -> Any:
    """Returns a vector scaled down to a norm of at most `limit`; NaN if its norm overflows."""
    norm = xp.sqrt(xp.sum(xp.square(vector)))
    most = xp.where(xp.isfinite(norm), xp.float32(limit), xp.float32(np.nan))
    return vector * (most / xp.maximum(norm, most))


def added(values: tuple[Any, Any], term: Any) -> tuple[Any, Any]:
    """Adds to a sum kept in two parts (Knuth's two-sum).

    Args:
        values: The rounded sum and its rounding error.
        term: Array of the same shape.
    """
    total, error = values
    raw = total + term
    part = raw - total
    error = error + ((total - (raw - part)) + (term - part))
    # The error is folded into the sum, so that the first part is correctly rounded by itself.
    taken = raw + error
    return taken, error - (taken - raw)


def renewed(averages: tuple[Any, Any], share: Any, before: Any, after: Any) -> tuple[Any, Any]:
    """Returns sum_j p_j y_j in two parts, with y_k replaced."""
    return added(added(averages, _rounded(-share * before)), _rounded(share * after))


def _rounded(product: Any) -> Any:
    """Keeps XLA from fusing a product into a sum: the amounts added and removed must be equal."""
    return product.clip(-_LARGEST, _LARGEST)
