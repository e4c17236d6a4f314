"""Late updates on their way between rounds: which arrive, enter or are dropped, and their slots."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, ClassVar, NamedTuple

import numpy as np

from f3ast_tff.delivery import Arrivals, Delivery
from f3ast_tff.engines.engine import LateCohort
from f3ast_tff.methods.parts.late import Admitted, admitted_by, staleness_weight
from f3ast_tff.methods.parts.strategy import Round, Strategy
from f3ast_tff.records.delivered import LateRound, RoundDelivery
from f3ast_tff.run.delivering import Payload, arrivals_of, distinct_clients
from f3ast_tff.run.experiment import ByRound
from f3ast_tff.run.selecting import read_only, refused, weigh_selected

# Slot of an update that never arrives.
_NOWHERE = -1


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


class InFlight(ByRound):
    """The updates under way, with an entry per selected client.

    A selected client trains at once, at the model of its round, and the engine keeps its update in
    a slot. A slot is free again in the round after its update has entered or was dropped. The
    entries of a client drawn twice share a slot.

    Attributes:
        entries: The updates, after the last round.
    """

    is_late: ClassVar[bool] = True

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
        scored: Sequence[np.ndarray],
        num_available: int,
    ) -> RoundDelivery:
        """See the function `deliver`; the cohort holds the updates that enter in this round.

        Raises:
            ComponentError: See `deliver`; also if the strategy's `admit` returns no `Admitted`.
        """
        t = now.number
        arrivals = arrivals_of(delivery, t, ids, late=True)
        asked = self._asked(t, ids, arrivals)
        # Selected clients first, because a strategy may use only these.
        entries = asked.and_then(self.entries)
        here = entries.arrives_in <= t
        lost = here & (entries.slots == _NOWHERE)
        there = here & ~lost
        enters, dropped = np.zeros((2, len(there)), bool)
        enters[there], dropped[there] = taken(strategy, now, entries.asked_in[there])
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
            lost=int(np.count_nonzero(dropped | lost)),
            in_flight=len(np.unique(kept.slots[kept.slots != _NOWHERE])),
        )
        arrived = entries.ids[there & (entries.arrives_in == t)]
        return RoundDelivery(
            num_available=num_available,
            asked=ids,
            delivered=enters[: len(ids)],
            cohort=LateCohort.of(
                cohort,
                factor,
                asked=started.ids,
                slots=started.slots,
                entering=took.slots,
                asked_in=took.asked_in,
            ),
            seconds=float(arrivals.round_seconds),
            bytes_down=payload.bytes_down * distinct_clients([ids, *scored]),
            bytes_up=payload.bytes_up * distinct_clients([arrived]),
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

    def arrays(self) -> dict[str, np.ndarray]:
        """Returns the entries for a checkpoint."""
        return self.entries._asdict()

    def restore(self, arrays: dict[str, np.ndarray]) -> None:
        """Restores a result of `arrays`."""
        self.entries = Entries(**{name: arrays[name] for name in Entries._fields})


def taken(strategy: Strategy, now: Round, asked_in: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Returns whether each arrived update enters and whether it is dropped, both `bool [m]`.

    Raises:
        ComponentError: If the strategy's `admit` returns no `Admitted`.
    """
    found: Any = admitted_by(strategy, now, asked_in)
    parts = found if isinstance(found, Admitted) else ()
    kinds = [(getattr(part, "dtype", None), np.shape(part)) for part in parts]
    if kinds != [(np.dtype(bool), asked_in.shape)] * 2:
        reason = f"must return Admitted, two arrays of bool [{len(asked_in)}]"
        raise refused(strategy, "admit", now, reason)
    return found.enters, found.dropped & ~found.enters
