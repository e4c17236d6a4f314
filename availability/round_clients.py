"""The clients of a round, checked: available ones, and present ones where clients come and go."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

import numpy as np

from f3ast_tff.core.errors import ComponentError


class Availability(Protocol):
    """The available clients of a round."""

    def mask(self, round_number: int) -> np.ndarray:
        """Returns `bool [N]`."""
        ...


@runtime_checkable
class Population(Protocol):
    """An availability process whose clients join and leave; `mask` holds present clients only."""

    def present(self, round_number: int) -> np.ndarray:
        """Returns the clients that exist in round t, from 1, `bool [N]`; pure in (seed, t)."""
        ...


def available_clients(
    availability: Availability, num_clients: int, round_number: int
) -> np.ndarray:
    """Returns the available clients of a round, `bool [N]`, which nobody may change.

    Raises:
        ComponentError: If the process returns anything else.
    """
    mask = availability.mask(round_number)
    shape, dtype = getattr(mask, "shape", None), getattr(mask, "dtype", None)
    if not isinstance(mask, np.ndarray) or shape != (num_clients,) or dtype != np.bool_:
        found = f"shape {shape} and dtype {dtype}" if dtype is not None else type(mask).__name__
        raise ComponentError(
            f"availability {type(availability).__name__}: mask({round_number}) returned {found}: "
            f"must be an array of shape ({num_clients},) and dtype bool"
        )
    # A view, because the process may keep its array and change it.
    mask = mask.view()
    mask.flags.writeable = False
    return mask


def present_clients(population: Population, num_clients: int, round_number: int) -> np.ndarray:
    """Returns the clients that exist in a round, `bool [N]`; none before round 1.

    Raises:
        ComponentError: If the process returns another shape or dtype.
    """
    if round_number < 1:
        return np.zeros(num_clients, bool)
    present = population.present(round_number)
    shape, dtype = getattr(present, "shape", None), getattr(present, "dtype", None)
    if shape != (num_clients,) or dtype != np.bool_:
        raise ComponentError(
            f"availability {type(population).__name__}: present({round_number}) returned shape "
            f"{shape} and dtype {dtype}: must be ({num_clients},) and bool"
        )
    return present
