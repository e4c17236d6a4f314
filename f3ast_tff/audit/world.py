"""Clients that come and go in virtual time, and their replies.

Client k has an optimum b_k, and one local step of rate a: it replies w + a (b_k - w). The optima
are orthogonal, so that the model of a linear server is sum_k omega_k b_k: its coordinates are the
weights that the clients have in it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from f3ast_tff.core.randomness import generator

# A model: arrays by name.
Model = dict[str, np.ndarray]
WEIGHTS, VARIANCE = "w", "bn.running_var"
ROUND_SECONDS = 60.0
# `num-examples` of the clients, repeated for a server that waits for many.
EXAMPLES = np.array([20.0, 40.0, 10.0, 30.0, 30.0, 10.0, 40.0, 20.0])
# Coordinates per client.
DENSE = 4
_MOST_COPIES = 5
# Polls of the list of nodes in one round, without a sleep in between, that count as a hang.
_MOST_POLLS = 10_000


class OutOfTime(BaseException):
    """The schedule is over; not an `Exception`, as a server may catch those while it waits."""


@dataclass(frozen=True, eq=False)
class Schedule:
    """Presence of the clients, and fate of their replies.

    Attributes:
        name: Name in the report.
        masks: Present clients by round of virtual time, `bool [T, N]`.
        lost: Share of the replies that never arrive, in [0, 1).
        late: Share of the replies that arrive one to three rounds later, in [0, 1).
        new_ids: Whether a client has another node id after each absence.
        ids_from: Absences of each client before this schedule.
    """

    name: str
    masks: np.ndarray
    lost: float = 0.0
    late: float = 0.0
    new_ids: bool = False
    ids_from: int = 0


@dataclass(frozen=True, eq=False)
class Reply:
    """A client's reply.

    Attributes:
        client: Client k.
        sent: Model that the client got.
        model: Model that it replies.
        examples: Its `num-examples`.
        failed: Whether an error of the client arrives in its place.
        steps: Local steps that it took.
        loss: Loss of the model that it got.
    """

    client: int
    sent: Model
    model: Model
    examples: float
    failed: bool = False
    steps: float = 1.0
    loss: float = 1.0


@dataclass
class Trace:
    """Record of a server's rounds.

    Attributes:
        models: Model after each round.
        asked: Clients asked in each round, as often as they are asked.
        delivered: Clients whose reply arrived, with their examples, in each round.
        there: Clients present when training began, in each round.
        sent: Hash of the model that each asked client got, in each round; empty if a round of the
            world holds several of the server.
        waited: Virtual seconds that the server waited in each round, `0` for none.
        ended: Why it ended before its last round; `""` if it did not.
        waited_s: Virtual seconds that it waited in the round in which it ended.
        errors: Rounds that raised an error although the server goes on, with the error.
    """

    models: list[Model] = field(default_factory=list)
    asked: list[list[int]] = field(default_factory=list)
    delivered: list[dict[int, float]] = field(default_factory=list)
    there: list[list[int]] = field(default_factory=list)
    sent: list[dict[int, int]] = field(default_factory=list)
    waited: list[float] = field(default_factory=list)
    ended: str = ""
    waited_s: float = 0.0
    errors: dict[int, str] = field(default_factory=dict)

    @property
    def failure(self) -> str:
        """Why it ended, or the first error; `""` if neither."""
        return self.ended or next(iter(self.errors.values()), "")

    def flat(self) -> np.ndarray:
        """Returns the weights after each round, `float64 [R, d]`."""
        return np.array([model[WEIGHTS] for model in self.models], float)


class World:
    """The other side of a server: nodes, messages, and the clock.

    Attributes:
        trace: Record of the rounds so far.
        seconds: Virtual time.
    """

    def __init__(
        self,
        schedule: Schedule,
        answer: Answer,
        seed: int = 0,
        order: int | None = None,
        calls: tuple[int, int] = (1, 1),
    ) -> None:
        """Begins at second 0; for the arguments see `plays.played`."""
        self._order = order
        self._left, self._calls = calls
        self.schedule, self.trace = schedule, Trace()
        self._answer, self._seed = answer, seed
        self.seconds = 0.0
        self._queue: list[tuple[int, Reply]] = []
        self._shape: tuple[int, ...] | None = None
        self._begin()

    def _begin(self) -> None:
        self._waited, self._polls = 0.0, 0
        self._asked: list[int] = []
        self._delivered: dict[int, float] = {}
        self._there: list[int] = []
        self._sent: dict[int, int] = {}

    @property
    def round(self) -> int:
        """The round, from 1; it holds several rounds of a server that gathers replies."""
        return len(self.trace.models) + 1

    def nodes(self) -> dict[int, int]:
        """Returns the client of each present node, by node id.

        Raises:
            OutOfTime: If the schedule is over, or the server polls without end.
        """
        self._polls += 1
        if self._polls > _MOST_POLLS:
            raise OutOfTime(f"round {self.round}: asks who is there without end")
        now = self._now()
        there = np.flatnonzero(self.schedule.masks[now]).tolist()
        if not self.schedule.new_ids:
            return {100 + k: k for k in there}
        masks = self.schedule.masks[: now + 1]
        returns = self.schedule.ids_from + (masks[1:] & ~masks[:-1]).sum(axis=0)
        return {1000 * (k + 1) + int(returns[k]): k for k in there}

    def sleep(self, seconds: float) -> None:
        """Lets virtual time pass.

        Raises:
            OutOfTime: If the schedule is over.
        """
        self.seconds += seconds
        self._waited += seconds
        self.trace.waited_s = self._waited
        self._polls = 0
        self._now()

    def ask(self, clients: Iterable[int], model: Model, *, drops_late: bool = False) -> list[Reply]:
        """Returns the replies that arrive in this round, also late ones of earlier rounds."""
        t, schedule = self.round, self.schedule
        self._shape = model[WEIGHTS].shape
        self._there = sorted(self.nodes().values())
        replies = []
        for k in clients:
            self._asked.append(k)
            self._sent[k] = hash(model[WEIGHTS].tobytes())
            chance = generator(self._seed, "audit replies", t, k).random(3)
            if chance[0] < schedule.lost:
                continue
            found, late = self._answer(k, t, model), chance[1] < schedule.late
            if not late:
                replies += found
            elif not drops_late:
                self._queue += [(t + 1 + int(3 * chance[2]), reply) for reply in found]
        replies += [reply for due, reply in self._queue if due <= t]
        self._queue = [(due, reply) for due, reply in self._queue if due > t]
        self._delivered.update((reply.client, reply.examples) for reply in replies)
        return self.reordered(replies)

    def loss(self, client: int, model: Model) -> float:
        """Returns the loss of a model at a client."""
        return self._answer.loss(client, model)

    def reordered(self, replies: Sequence[Any]) -> list[Any]:
        """Returns the replies of a round in the order in which they arrive."""
        if self._order is None:
            return list(replies)
        places = generator(self._order, "audit order", self.round).permutation(len(replies))
        return [replies[i] for i in places]

    def close(self, model: Model) -> None:
        """Ends the server's round with this model; after its last call the world's next one begins.

        Raises:
            OutOfTime: If the schedule is over.
            ValueError: If the model has other arrays than the one that the clients got.
        """
        if WEIGHTS not in model:
            raise ValueError(f"returns arrays {', '.join(model)}, not {WEIGHTS}")
        shape = np.shape(model[WEIGHTS])
        if self._shape not in (None, shape):
            raise ValueError(f"returns shape {shape} for a model of {self._shape}")
        self._left -= 1
        if self._left:
            return
        self._left = self._calls
        self.trace.models.append({name: np.array(value) for name, value in model.items()})
        self.trace.asked.append(self._asked)
        self.trace.delivered.append(self._delivered)
        self.trace.there.append(self._there)
        self.trace.sent.append(self._sent if self._calls == 1 else {})
        self.trace.waited.append(self._waited)
        self.trace.waited_s = 0.0
        self._begin()
        self.seconds = (self.seconds // ROUND_SECONDS + 1) * ROUND_SECONDS

    def _now(self) -> int:
        now = int(self.seconds // ROUND_SECONDS)
        if now >= len(self.schedule.masks):
            waiting = f"round {self.round}: still waits at the end of the schedule"
            raise OutOfTime(f"{waiting}, after {self._waited:g} s" if self._waited else "over")
        return now


@dataclass(frozen=True, eq=False)
class Clients:
    """Clients of quadratic losses, half the squared distance from the optimum.

    Attributes:
        optima: b_k, `float [N, d]`.
        examples: `num-examples` of each, `float [N]`.
        rate: a, share of the way to the optimum that the client goes, in (0, 1]: a number, or one
            per client, `float [N]`.
        steps: Local steps that each client says that it takes, `float [N]`; `None` for one.
    """

    optima: np.ndarray
    examples: np.ndarray
    rate: float | np.ndarray = 0.1
    steps: np.ndarray | None = None

    def __call__(self, k: int, t: int, model: Model) -> list[Reply]:
        """Returns the reply of client k to a model in round t."""
        start = model[WEIGHTS]
        rate = np.broadcast_to(self.rate, len(self.optima))[k]
        found = {WEIGHTS: (start + rate * (self.optima[k] - start)).astype(start.dtype)}
        if VARIANCE in model:
            found[VARIANCE] = np.array([1.0 + 0.1 * k], model[VARIANCE].dtype)
        steps = 1.0 if self.steps is None else float(self.steps[k])
        loss = self.loss(k, model)
        return [Reply(k, model, found, float(self.examples[k]), steps=steps, loss=loss)]

    def loss(self, k: int, model: Model) -> float:
        """Returns the loss of a model at client k."""
        return float(((self.optima[k] - model[WEIGHTS]) ** 2).sum() / 2)


@dataclass(frozen=True, eq=False)
class Fixed:
    """Clients that always reply the model plus their own update, as if their optimum were far off.

    Attributes:
        updates: Update of each client, `float [N, d]`.
        examples: `num-examples` of each, `float [N]`.
        spoilt: Function that changes a reply, such as to NaN; `None` for none.
        same_loss: Whether all clients have a loss of 1.
    """

    updates: np.ndarray
    examples: np.ndarray
    spoilt: Callable[[int, Reply], list[Reply]] | None = None
    same_loss: bool = False

    def __call__(self, k: int, t: int, model: Model) -> list[Reply]:
        """Returns the reply of client k to a model."""
        start = model[WEIGHTS]
        found = {**model, WEIGHTS: (start + self.updates[k]).astype(start.dtype)}
        reply = Reply(k, model, found, float(self.examples[k]), loss=self.loss(k, model))
        return [reply] if self.spoilt is None else self.spoilt(t, reply)

    def loss(self, k: int, model: Model) -> float:
        """Returns the loss of any model at client k."""
        return 1.0 if self.same_loss else float((self.updates[k] ** 2).sum() / 2)


# Clients that give none, one or several replies to a model.
Answer = Clients | Fixed


def examples_for(least: int) -> np.ndarray:
    """Returns the examples of so many clients that twice `least` are there on average, up to 40."""
    copies = math.ceil(2 * least / presence_of(len(EXAMPLES)).sum())
    return np.tile(EXAMPLES, min(max(copies, 1), _MOST_COPIES))


def presence_of(num_clients: int) -> np.ndarray:
    """Returns the share of the rounds in which each client is present, the rarest first."""
    return np.linspace(0.1, 1.0, num_clients)


def optima(num_clients: int, scale: float = 1.0, seed: int | None = 0) -> np.ndarray:
    """Returns orthogonal optima of one length, `float64 [N, DENSE * N]`.

    Args:
        num_clients: N.
        scale: Their length.
        seed: Seed of a random rotation; `None` for unit vectors of the axes.
    """
    size = DENSE * num_clients
    if seed is None:
        return scale * np.eye(num_clients, size)
    dense = generator(seed, "audit optima").standard_normal((size, num_clients))
    return scale * np.linalg.qr(dense)[0].T


def fixed(
    examples: np.ndarray,
    spoilt: Callable[[int, Reply], list[Reply]] | None = None,
    length: float = 1.0,
) -> Fixed:
    """Returns clients with orthogonal updates of one length."""
    return Fixed(optima(len(examples), length), examples, spoilt)


def start_model(size: int, value: float = 0.0, *, buffers: bool = False) -> Model:
    """Returns a first model of equal numbers, `float32 [size]`, and a running variance of 1."""
    model = {WEIGHTS: np.full(size, value, np.float32)}
    return {**model, VARIANCE: np.ones(1, np.float32)} if buffers else model


def everybody(rounds: int, num_clients: int, name: str = "always") -> Schedule:
    """Returns the schedule in which all clients are always present."""
    return Schedule(name, np.ones((rounds, num_clients), bool))


def shares_of(examples: Mapping[int, float]) -> dict[int, float]:
    """Returns the share of each delivered client in a mean weighted by examples."""
    total = sum(examples.values())
    return {k: n / total for k, n in examples.items()} if total else {}
