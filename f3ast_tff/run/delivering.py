"""Delivery of a round's updates, between selection and aggregation: in time, lost, or late."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from f3ast_tff.core.errors import ComponentError
from f3ast_tff.delivery import Arrivals, Delivery
from f3ast_tff.engines.engine import RoundOutcome
from f3ast_tff.methods.parts.strategy import Outcome, Round, Strategy
from f3ast_tff.records.delivered import RoundDelivery
from f3ast_tff.run.selecting import read_only, weigh_selected


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
    scored: Sequence[np.ndarray],
    num_available: int,
) -> RoundDelivery:
    """Determines which updates arrive, and lets the strategy weigh these.

    `scored` holds ids of the clients that were asked for their losses; they received the model too.

    Raises:
        ComponentError: If the delivery returns no `Arrivals` of these clients, or the strategy
            returns another cohort than the delivered clients.
    """
    arrivals = arrivals_of(delivery, now.number, ids, late=False)
    delivered = arrivals.delivered & (not arrivals.failed)
    return RoundDelivery(
        num_available=num_available,
        asked=ids,
        delivered=delivered,
        cohort=weigh_selected(strategy, now, ids, delivered),
        seconds=float(arrivals.round_seconds),
        bytes_down=payload.bytes_down * distinct_clients([ids, *scored]),
        bytes_up=payload.bytes_up * distinct_clients([ids[arrivals.delivered]]),
        failed=arrivals.failed,
    )


def distinct_clients(ids: Sequence[np.ndarray]) -> int:
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
    odd = np.isfinite(arrivals.seconds) if np.isnan(seconds) else np.isnan(arrivals.seconds)
    if odd.any():
        wrong = f"has a round of {seconds!r} s and an update after {arrivals.seconds[odd][0]} s"
        raise ComponentError(f"{where} {wrong}: without a clock both are NaN")
    return arrivals


def troubles(delivered_round: RoundDelivery, outcome: RoundOutcome) -> dict[str, str]:
    """Returns the problems of a round, by kind: no update arrived, or a value is not finite."""
    dropped, delivered = outcome.num_dropped, len(delivered_round.cohort)
    found: dict[str, str] = {}
    if delivered == 0 and delivered_round.late is not None:
        # No problem: the server waits for updates.
        return found
    if delivered == 0:
        done = "model left alone" if outcome.rejected else "step along the remembered updates"
        asked = len(delivered_round.asked)
        n = delivered_round.num_available
        kind, why = "nobody", f"none of {n} clients selected" if n else "no client available"
        if asked:
            kind, why = "lost", f"no update of {asked} clients was delivered"
        if delivered_round.failed:
            kind, why = "failed", f"failed, too few updates of {asked} clients arrived"
        found[kind] = f"{why}, {done}"
    elif dropped:
        found["dropped"] = f"dropped {dropped} non-finite updates of {delivered}"
    if outcome.rejected and dropped < delivered:
        weighs = delivered_round.cohort.weights.sum() != 0
        why = "the aggregate is not finite" if weighs else "the weights sum to 0"
        found["rejected"] = f"{why}, model left alone"
    return found


def outcome_for_strategy(delivered_round: RoundDelivery, outcome: RoundOutcome) -> Outcome:
    """Returns the outcome per client: whether its update counts, and its loss, NaN if lost."""
    ids, delivered = delivered_round.asked, delivered_round.delivered.copy()
    if delivered_round.late is not None:
        ids, delivered = delivered_round.late.ids, delivered_round.late.entered.copy()
    losses = np.full(len(ids), np.nan)
    if len(delivered_round.cohort):
        assert outcome.delivered is not None and outcome.client_losses is not None
        # Forgotten clients come after the cohort.
        losses[delivered] = outcome.client_losses[: len(delivered_round.cohort)]
        delivered[delivered] = outcome.delivered[: len(delivered_round.cohort)]
    return Outcome(*map(read_only, (ids, delivered, losses)))
