"""One round's selection, with what the components return checked against their protocols."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np

from f3ast_tff.errors import ComponentError, ParameterError
from f3ast_tff.selection import Cohort, Losses, Strategy
from f3ast_tff.selection.feasible import Feasible


class Availability(Protocol):
    """Who is reachable in a round."""

    def mask(self, round_number: int) -> np.ndarray:
        """Returns `bool [N]`."""
        ...


class Constraint(Protocol):
    """Which sets of available clients may take part in a round."""

    def limit(self, round_number: int) -> Feasible:
        """Returns the communication constraint of the round."""
        ...


def check_strategy(strategy: Strategy) -> None:
    """Checks that a strategy has all that its protocol names.

    Raises:
        ComponentError: If it does not; says what is missing.
    """
    names = ("needs_losses", "needs_outcome", "select", "observe", "state", "restore")
    missing = [name for name in names if not hasattr(strategy, name)]
    if missing:
        raise ComponentError(f"algorithm {_name(strategy)}: has no {', '.join(missing)}")


def available_clients(
    availability: Availability, num_clients: int, round_number: int
) -> np.ndarray:
    """Returns who is reachable in a round, `bool [N]`.

    Raises:
        ComponentError: If the process returns anything else.
    """
    mask = availability.mask(round_number)
    shape, dtype = getattr(mask, "shape", None), getattr(mask, "dtype", None)
    if not isinstance(mask, np.ndarray) or shape != (num_clients,) or dtype != np.bool_:
        found = f"shape {shape} and dtype {dtype}" if dtype is not None else type(mask).__name__
        raise ComponentError(
            f"availability {_name(availability)}: mask({round_number}) returned {found}: "
            f"must be an array of shape ({num_clients},) and dtype bool"
        )
    return mask


def select_cohort(
    strategy: Strategy,
    constraint: Constraint,
    round_number: int,
    available: np.ndarray,
    losses: Losses,
) -> Cohort:
    """Returns the cohort of a round.

    Args:
        strategy: Picks it.
        constraint: Says how many may take part.
        round_number: Round t.
        available: Who is reachable, `bool [N]`.
        losses: See `Strategy.select`.

    Raises:
        ComponentError: If the constraint returns no `Feasible`, or the strategy no cohort of
            clients that exist, with finite weights.
    """
    feasible = constraint.limit(round_number)
    if not isinstance(feasible, Feasible):
        raise ComponentError(
            f"communication {_name(constraint)}: limit({round_number}) returned {feasible!r}: "
            "must be a Feasible"
        )
    try:
        cohort = strategy.select(round_number, available, feasible, losses)
    except ParameterError:
        raise
    except ValueError as error:  # Such as a cohort with more weights than clients.
        raise _refused(strategy, round_number, f"failed: {error}") from error
    if not isinstance(cohort, Cohort):
        raise _refused(
            strategy, round_number, f"returned {type(cohort).__name__}: must be a Cohort"
        )
    if len(cohort):
        if cohort.ids.dtype.kind not in "iu":
            reason = f"returned ids of dtype {cohort.ids.dtype}: must be integers"
            raise _refused(strategy, round_number, reason)
        first, last = cohort.ids.min(), cohort.ids.max()
        if first < 0 or last >= len(available):
            wrong, allowed = first if first < 0 else last, f"0 .. {len(available) - 1}"
            reason = f"returned client {wrong}: must be in {allowed}"
            raise _refused(strategy, round_number, reason)
        if cohort.weights.dtype.kind not in "fiu" or not np.isfinite(cohort.weights).all():
            raise _refused(strategy, round_number, "returned weights that are not finite numbers")
    return cohort


def participation_rates(strategy: Strategy, num_clients: int) -> np.ndarray | None:
    """Returns r(t) as the strategy tells it, `float64 [N]`; `None` where it tracks none.

    See `BaseStrategy.participation_rates`, which a strategy need not have.

    Raises:
        ComponentError: If they are not N numbers.
    """
    tell = getattr(strategy, "participation_rates", None)
    rates = None if tell is None else tell()
    if rates is None:
        return None
    if np.shape(rates) != (num_clients,):
        raise ComponentError(
            f"algorithm {_name(strategy)}: participation_rates returned shape {np.shape(rates)}: "
            f"must be ({num_clients},)"
        )
    return np.array(rates, np.float64)


def _refused(strategy: Strategy, round_number: int, reason: str) -> ComponentError:
    return ComponentError(f"algorithm {_name(strategy)}: select in round {round_number} {reason}")


def _name(part: Any) -> str:
    return type(part).__name__
