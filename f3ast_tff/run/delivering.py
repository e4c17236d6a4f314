"""Delivery of a round's updates, between selection and aggregation: in time, lost, or late."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from f3ast_tff.core.errors import ComponentError
from f3ast_tff.core.read_only import read_only
from f3ast_tff.delivery import Arrivals, Delivery
from f3ast_tff.engines.engine import Flight, RoundOutcome
from f3ast_tff.methods.parts.late import Taken, staleness_weight, taken_by
from f3ast_tff.methods.parts.strategy import Cohort, Outcome, Round, Strategy
from f3ast_tff.records.delivered import Answers, LateRound
from f3ast_tff.run.selecting import refused, weigh_selected

# Slot of an update that never arrives.
_NOWHERE = -1


@dataclass(frozen=True)
class Payload:
    """Bytes of talking to one client.

    Attributes:
        bytes_down: Bytes to a client in a round that asks it for an update or for its loss.
        bytes_up: Bytes of a client's update.
    """

    bytes_down: int = 0
    bytes_up: int = 0


def deliver(
    delivery: Delivery,
    strategy: Strategy,
    payload: Payload,
    now: Round,
    ids: np.ndarray,
    scored: Sequence[np.ndarray] = (),
) -> Answers:
    """Determines which updates arrive, and lets the strategy weigh these.

    `scored` holds ids of the clients that were asked for their losses; they received the model too.

    Raises:
        ComponentError: If the delivery returns no `Arrivals` of these clients, or the strategy
            returns another cohort than the delivered clients.
    """
    arrivals = arrivals_of(delivery, now.number, ids, late=False)
    delivered = arrivals.delivered & (not arrivals.failed)
    return Answers(
        asked=ids,
        delivered=delivered,
        cohort=weigh_selected(strategy, now, ids, delivered),
        seconds=float(arrivals.round_seconds),
        bytes_down=payload.bytes_down * _distinct([ids, *scored]),
        bytes_up=payload.bytes_up * _distinct([ids[arrivals.delivered]]),
        failed=arrivals.failed,
    )


def _distinct(ids: Sequence[np.ndarray]) -> int:
    """Counts distinct clients: a client drawn twice gets one model and sends one update."""
    return len(np.unique(np.concatenate(ids)))


def arrivals_of(delivery: Delivery, t: int, ids: np.ndarray, *, late: bool) -> Arrivals:
    """Returns the arrivals of the clients asked in round t.

    Raises:
        ComponentError: If the delivery returns no `Arrivals` of these clients.
    """
    # A delivery that changed them would change who was selected.
    arrivals, asked = delivery.arrivals(t, read_only(ids)), len(ids)
    where = f"delivery {type(delivery).__name__}: arrivals({t})"
    if not isinstance(arrivals, Arrivals):
        raise ComponentError(f"{where} returned {type(arrivals).__name__}: must be Arrivals")
    kinds = {"delivered": ("b", "bool"), "seconds": ("f", "float")}
    if late:
        kinds["rounds"] = ("i", "int")
    elif arrivals.rounds is not None:
        raise ComponentError(f"{where} has rounds, which only count with is_late = True")
    for name, (kind, words) in kinds.items():
        part = getattr(arrivals, name)
        if not isinstance(part, np.ndarray) or (part.shape, part.dtype.kind) != ((asked,), kind):
            array = isinstance(part, np.ndarray)
            found = f"{part.dtype} {list(part.shape)}" if array else type(part).__name__
            raise ComponentError(f"{where} has {name} of {found}: must be {words} [{asked}]")
        if kind != "b" and np.any(part < 0):
            raise ComponentError(f"{where} has {name} of {part[part < 0][0]}: must be at least 0")
    seconds = arrivals.round_seconds
    if not isinstance(seconds, (int, float, np.number)) or seconds < 0 or np.isinf(seconds):
        wrong = f"has a round of {seconds!r} s: must be finite and at least 0"
        raise ComponentError(f"{where} {wrong}")
    return arrivals


def troubles(answers: Answers, outcome: RoundOutcome) -> dict[str, str]:
    """Returns the problems of a round, by kind: no update arrived, or a value is not finite."""
    dropped, delivered = outcome.num_dropped, len(answers.cohort)
    found: dict[str, str] = {}
    if delivered == 0 and answers.late is not None:
        # No problem: the server waits for updates.
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
    """Returns the outcome per client: whether its update counts, and its loss, NaN if lost."""
    ids, delivered = answers.asked, answers.delivered.copy()
    if answers.late is not None:
        ids, delivered = answers.late.ids, answers.late.entered.copy()
    losses = np.full(len(ids), np.nan)
    if len(answers.cohort):
        assert outcome.delivered is not None and outcome.client_losses is not None
        losses[delivered] = outcome.client_losses
        delivered[delivered] = outcome.delivered
    return Outcome(*map(read_only, (ids, delivered, losses)))


class Entries(NamedTuple):
    """Updates under way, in the order of asking; each field is `int64 [m]`.

    Attributes:
        ids: Client of each update.
        asked_in: Round in which the client was asked.
        arrives_in: Round in which the update arrives; for a lost update, in which it is given up.
        slots: Slot of the update in the engine's memory; -1 for a lost update.
    """

    ids: np.ndarray
    asked_in: np.ndarray
    arrives_in: np.ndarray
    slots: np.ndarray

    def at(self, which: np.ndarray) -> Entries:
        """Returns the entries at `which`."""
        return Entries(*(part[which] for part in self))

    def and_then(self, others: Entries) -> Entries:
        """Returns these entries followed by other entries."""
        return Entries(*(np.concatenate(parts) for parts in zip(self, others)))


def _none() -> Entries:
    return Entries(*np.zeros((4, 0), np.int64))


class InFlight:
    """The updates under way, with an entry per selected client.

    A selected client trains at once, at the model of its round, and the engine keeps its update in
    a slot. A slot is free again in the round after its update has entered or was dropped. The
    entries of a client drawn twice share a slot.

    Attributes:
        entries: The updates, after the last round.
    """

    def __init__(self, weight: str = "constant") -> None:
        """Starts empty; `weight` is the factor of late weights, see `staleness_weight`."""
        self._weight = weight
        self.entries = _none()

    def free(self, available: np.ndarray, round_number: int) -> np.ndarray:
        """Returns the available clients without an update on its way, `bool [N]`.

        An update that arrives in this round is on its way; an update that waits at the server is
        not.
        """
        mask = available.copy()
        mask[self.entries.ids[self.entries.arrives_in >= round_number]] = False
        return read_only(mask)

    def deliver(
        self,
        delivery: Delivery,
        strategy: Strategy,
        payload: Payload,
        now: Round,
        ids: np.ndarray,
        scored: Sequence[np.ndarray] = (),
    ) -> Answers:
        """See the function `deliver`; the cohort holds the updates that enter in this round.

        Raises:
            ComponentError: See `deliver`; also if the strategy's `taken` returns no `Taken`.
        """
        t = now.number
        arrivals = arrivals_of(delivery, t, ids, late=True)
        asked = self._asked(t, ids, arrivals)
        # Selected clients first, because a strategy may use only these.
        entries = asked.and_then(self.entries)
        here = entries.arrives_in <= t
        lost = here & (entries.slots == _NOWHERE)
        there = here & ~lost
        enters, dropped = self._taken(strategy, now, entries, there)
        known = there.copy()
        known[: len(ids)] = True
        weighed, entered = entries.at(known), enters[known]
        cohort = weigh_selected(
            strategy,
            now=replace(now, asked_in=read_only(weighed.asked_in)),
            ids=weighed.ids,
            delivered=entered,
        )
        took = weighed.at(entered)
        factor = staleness_weight(self._weight, t - took.asked_in)
        kept = entries.at(~(enters | dropped | lost))
        # Restore the order of asking.
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
        """Entries of the selected clients; each distinct client gets the lowest free slot."""
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
        """Returns whether each entry enters and whether it is dropped, both `bool [m]`."""
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
        """Restores a result of `arrays`."""
        self.entries = Entries(**{name: arrays[name] for name in Entries._fields})
