"""What becomes of a round's cohort between selection and aggregation: in time, lost, or late."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from f3ast_tff.core.errors import ComponentError
from f3ast_tff.delivery import Arrivals, Delivery
from f3ast_tff.engines.engine import Flight, RoundOutcome
from f3ast_tff.methods.parts.late import Taken, staleness_weight, taken_by
from f3ast_tff.methods.parts.strategy import Cohort, Outcome, Round, Strategy
from f3ast_tff.run.selecting import refused, weigh_updates

# Place of an update that never arrives.
_NOWHERE = -1


@dataclass(frozen=True)
class Payload:
    """Bytes of talking to one client.

    Attributes:
        bytes_down: Bytes to a client in a round that asks it for an update or for its loss.
        bytes_up: Bytes of its update.
    """

    bytes_down: int = 0
    bytes_up: int = 0


@dataclass(frozen=True)
class LateRound:
    """A round in which updates may be late.

    Attributes:
        ids: Clients selected, then those of earlier rounds whose updates are there, `int64 [m]`.
        entered: Whether the update of each enters the aggregate, `bool [m]`.
        asked_in: Round in which each was asked, `int64 [m]`.
        flight: The engine's part: which clients train, which updates enter.
        lost: Clients selected, in this round or before, whose updates are lost since this round.
        in_flight: Updates that the engine keeps after the round.
    """

    ids: np.ndarray
    entered: np.ndarray
    asked_in: np.ndarray
    flight: Flight
    lost: int
    in_flight: int

    def staleness(self, round_number: int) -> np.ndarray:
        """Returns tau, the rounds since each update that enters was asked for, `int64 [e]`."""
        return round_number - self.asked_in[self.entered]


@dataclass(frozen=True)
class Answers:
    """A cohort, and the updates that arrived.

    Attributes:
        asked: The cohort as it was selected, `int64 [m]`.
        delivered: Whose update arrived and counts, `bool [m]`; nobody's in a round that failed.
            Where updates may be late, whose enters in this very round.
        cohort: Those delivered, with the weights of their updates: who trains. Where updates may
            be late, those whose update enters, from this round or an earlier one.
        seconds: Duration of the round; NaN without a clock.
        bytes_down: Bytes that the server sent in the round.
        bytes_up: Bytes that it received, also in a round that failed.
        failed: Whether too few updates arrived for the round to count, see `Arrivals`.
        late: The updates under way, where they may be late.
    """

    asked: np.ndarray
    delivered: np.ndarray
    cohort: Cohort
    seconds: float
    bytes_down: int
    bytes_up: int
    failed: bool = False
    late: LateRound | None = None


def deliver(
    delivery: Delivery,
    strategy: Strategy,
    payload: Payload,
    now: Round,
    ids: np.ndarray,
    scored: Sequence[np.ndarray] = (),
) -> Answers:
    """Finds out which updates arrive, and has the strategy weigh these.

    `scored` holds ids of the clients that were asked for their losses: these got the model too.

    Raises:
        ComponentError: If the delivery returns no `Arrivals` of these clients, or the strategy
            another cohort than the clients delivered.
    """
    arrivals = _arrivals(delivery, now.number, ids)
    delivered = arrivals.delivered & (not arrivals.failed)
    return Answers(
        asked=ids,
        delivered=delivered,
        cohort=weigh_updates(strategy, now, ids, delivered),
        seconds=float(arrivals.round_seconds),
        bytes_down=payload.bytes_down * _distinct([ids, *scored]),
        bytes_up=payload.bytes_up * _distinct([ids[arrivals.delivered]]),
        failed=arrivals.failed,
    )


def _distinct(ids: Sequence[np.ndarray]) -> int:
    """Counts clients: one that is drawn twice gets one model, and sends one update."""
    return len(np.unique(np.concatenate(ids)))


def _arrivals(delivery: Delivery, t: int, ids: np.ndarray) -> Arrivals:
    """Asks a delivery; `ComponentError` if it returns no `Arrivals` of the clients asked."""
    arrivals, asked = delivery.arrivals(t, ids), len(ids)
    where = f"delivery {type(delivery).__name__}: arrivals({t})"
    parts = [getattr(arrivals, name, None) for name in ("delivered", "seconds")]
    found = [(part.shape, part.dtype.kind) for part in parts if isinstance(part, np.ndarray)]
    if found != [((asked,), "b"), ((asked,), "f")]:
        raise ComponentError(
            f"{where} returned {type(arrivals).__name__}: "
            f"must be Arrivals whose delivered is bool [{asked}], and seconds as long"
        )
    if arrivals.round_seconds < 0 or np.isinf(arrivals.round_seconds):
        wrong = f"has a round of {arrivals.round_seconds} s: must be finite and at least 0"
        raise ComponentError(f"{where} {wrong}")
    rounds = arrivals.rounds
    if getattr(delivery, "is_late", False) and not (
        isinstance(rounds, np.ndarray)
        and rounds.shape == (asked,)
        and rounds.dtype.kind == "i"
        and not np.any(rounds < 0)
    ):
        raise ComponentError(f"{where} has rounds {rounds!r}: must be int [{asked}], at least 0")
    return arrivals


def troubles(answers: Answers, outcome: RoundOutcome) -> dict[str, str]:
    """What went wrong in a round, by kind: no update arrived, or something is not finite."""
    dropped, delivered = outcome.num_dropped, len(answers.cohort)
    found: dict[str, str] = {}
    if delivered == 0 and answers.late is not None:
        # Nothing of note: the server waits for updates.
        return found
    if delivered == 0:
        done = "model left alone" if outcome.rejected else "step along the remembered updates"
        asked = len(answers.asked)
        kind, why = "nobody", "no client available"
        if asked:
            kind, why = "lost", f"no update of {asked} clients was delivered"
        if answers.failed:
            kind, why = "failed", f"failed, too few updates of {asked} clients arrived"
        found[kind] = f"{why}, {done}"
    elif dropped:
        found["dropped"] = f"dropped {dropped} non-finite updates of {delivered}"
    if outcome.rejected and dropped < delivered:
        found["rejected"] = "the aggregate is not finite, model left alone"
    return found


def outcome_for_strategy(answers: Answers, outcome: RoundOutcome) -> Outcome:
    """Returns the outcome by client: whether its update counts, and its loss, NaN if lost."""
    ids, delivered = answers.asked, answers.delivered.copy()
    if answers.late is not None:
        ids, delivered = answers.late.ids, answers.late.entered.copy()
    losses = np.full(len(ids), np.nan)
    if len(answers.cohort):
        assert outcome.delivered is not None and outcome.client_losses is not None
        losses[delivered] = outcome.client_losses
        delivered[delivered] = outcome.delivered
    return Outcome(ids, delivered, losses)


class Entries(NamedTuple):
    """Updates under way, in the order in which they were asked for; each `int64 [m]`.

    Attributes:
        ids: Their clients.
        asked_in: Round in which each was asked.
        arrives_in: Round in which each arrives, or is given up if it is lost.
        slots: Place of each in the engine's memory; -1 for a lost one.
    """

    ids: np.ndarray
    asked_in: np.ndarray
    arrives_in: np.ndarray
    slots: np.ndarray

    def at(self, which: np.ndarray) -> Entries:
        """Returns some of them."""
        return Entries(*(part[which] for part in self))

    def and_then(self, others: Entries) -> Entries:
        """Returns these and others."""
        return Entries(*(np.concatenate(parts) for parts in zip(self, others)))


def _none() -> Entries:
    return Entries(*np.zeros((4, 0), np.int64))


class InFlight:
    """The updates under way, an entry for each client selected.

    A client that is selected trains at once, at the model of its round; the engine keeps its
    update in a slot. A slot is free again in the round after its update has entered or was
    dropped. The entries of a client that is drawn twice share a slot.

    Attributes:
        entries: The updates, after the last round.
    """

    def __init__(self, weight: str = "constant") -> None:
        """Starts without any; `weight` is the factor of late weights, see `staleness_weight`."""
        self._weight = weight
        self.entries = _none()

    def free(self, available: np.ndarray, round_number: int) -> np.ndarray:
        """Returns the available clients that have no update on its way, `bool [N]`.

        An update that arrives in this round is on its way; one that waits at the server is not.
        """
        mask = available.copy()
        mask[self.entries.ids[self.entries.arrives_in >= round_number]] = False
        return mask

    def deliver(
        self,
        delivery: Delivery,
        strategy: Strategy,
        payload: Payload,
        now: Round,
        ids: np.ndarray,
        scored: Sequence[np.ndarray] = (),
    ) -> Answers:
        """As `deliver`; the cohort is of the updates that enter in this round.

        Raises:
            ComponentError: See there; or if the strategy's `taken` returns other than `Taken`.
        """
        t = now.number
        arrivals = _arrivals(delivery, t, ids)
        asked = self._asked(t, ids, arrivals)
        # The selected first: a strategy may look at them alone.
        entries = asked.and_then(self.entries)
        here = entries.arrives_in <= t
        lost = here & (entries.slots == _NOWHERE)
        there = here & ~lost
        enters, dropped = self._taken(strategy, now, entries, there)
        known = there.copy()
        known[: len(ids)] = True
        weighed, entered = entries.at(known), enters[known]
        cohort = weigh_updates(
            strategy,
            now=replace(now, asked_in=weighed.asked_in),
            ids=weighed.ids,
            delivered=entered,
        )
        took = weighed.at(entered)
        factor = staleness_weight(self._weight, t - took.asked_in)
        kept = entries.at(~(enters | dropped | lost))
        # In the order of asking, again.
        self.entries = kept.at(np.argsort(kept.asked_in, kind="stable"))
        trains = np.unique(asked.slots[asked.slots != _NOWHERE], return_index=True)[1]
        started = asked.at(np.flatnonzero(asked.slots != _NOWHERE)[np.sort(trains)])
        late = LateRound(
            ids=weighed.ids,
            entered=entered,
            asked_in=weighed.asked_in,
            flight=Flight(
                started.ids, slots=started.slots, entering=took.slots, asked_in=took.asked_in
            ),
            lost=int(np.count_nonzero(dropped | lost)),
            in_flight=len(np.unique(kept.slots[kept.slots != _NOWHERE])),
        )
        return Answers(
            asked=ids,
            delivered=enters[: len(ids)],
            cohort=Cohort(cohort.ids, cohort.weights * factor, cohort.step),
            seconds=float(arrivals.round_seconds),
            bytes_down=payload.bytes_down * _distinct([ids, *scored]),
            bytes_up=payload.bytes_up * _distinct([entries.ids[there & (entries.arrives_in == t)]]),
            late=late,
        )

    def _asked(self, t: int, ids: np.ndarray, arrivals: Arrivals) -> Entries:
        """Entries of the clients selected, each distinct one with the lowest free slot."""
        assert arrivals.rounds is not None
        clients, which = np.unique(ids, return_inverse=True)
        arrives = np.zeros(len(clients), bool)
        arrives[which[arrivals.delivered]] = True
        used = self.entries.slots
        most = len(clients) + len(used)
        free = np.setdiff1d(np.arange(most), used)[: len(clients)]
        slots = np.where(arrives, free, _NOWHERE)[which]
        rounds = arrivals.rounds.astype(np.int64)
        asked_in = np.full(len(ids), t, np.int64)
        return Entries(
            ids.astype(np.int64),
            asked_in=asked_in,
            arrives_in=asked_in + rounds,
            slots=slots.astype(np.int64),
        )

    @staticmethod
    def _taken(
        strategy: Strategy, now: Round, entries: Entries, there: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Which entries enter and which are dropped, both `bool [m]`."""
        taken: Any = taken_by(strategy, now, entries.asked_in[there])
        found = []
        for part in taken if isinstance(taken, Taken) else ():
            if getattr(part, "dtype", None) == np.bool_ and len(part) == np.sum(there):
                found.append(np.zeros(len(there), bool))
                found[-1][there] = part
        if len(found) != 2:
            reason = f"must return Taken, two arrays of bool [{np.sum(there)}]"
            raise refused(strategy, "taken", now, reason)
        return found[0], found[1] & ~found[0]

    def arrays(self) -> dict[str, np.ndarray]:
        """Returns the entries for a checkpoint."""
        return self.entries._asdict()

    def restore(self, arrays: dict[str, np.ndarray]) -> None:
        """Takes back a result of `arrays`."""
        self.entries = Entries(**{name: arrays[name] for name in Entries._fields})
