"""Populations that change: who exists in a round, and the shares p_k among them."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

import numpy as np

from f3ast_tff.errors import ComponentError


@runtime_checkable
class Population(Protocol):
    """What an availability process has if clients join and leave.

    Nobody is available who is not present; `mask` sees to it.
    """

    def present(self, round_number: int) -> np.ndarray:
        """Returns who exists in round t (from 1), `bool [N]`, by (seed, round) alone."""
        ...


def present_clients(population: Population, num_clients: int, round_number: int) -> np.ndarray:
    """Returns who exists in a round, `bool [N]`.

    Raises:
        ComponentError: If the process returns anything else.
    """
    present = population.present(round_number)
    shape, dtype = getattr(present, "shape", None), getattr(present, "dtype", None)
    if shape != (num_clients,) or dtype != np.bool_:
        raise ComponentError(
            f"availability {type(population).__name__}: present({round_number}) returned shape "
            f"{shape} and dtype {dtype}: must be ({num_clients},) and bool"
        )
    return present


def renewed_shares(p: np.ndarray, present: np.ndarray) -> np.ndarray | None:
    """Returns p_k(t) = p_k / sum of p_j over those present, 0 for those who are not.

    Args:
        p: Shares among all clients, `float64 [N]`.
        present: Who exists, `bool [N]`.

    Returns:
        `float64 [N]`, of sum 1; `None` where nobody is present who has a share.
    """
    shares = np.where(present, p, 0.0)
    total = shares.sum()
    return shares / total if total > 0 else None
