"""Online tracking of long-term participation rates (Algorithm 1, eq. 5)."""

from __future__ import annotations

import numpy as np

_LEAST = 1e-150


class ParticipationRates:
    """Exponentially smoothed participation rates r_k(t), one a client.

    `r(t + 1) = (1 - beta) r(t) + beta 1_S`, eq. (5). In exact arithmetic rates never reach 0; a
    client absent for some 350 / beta rounds is kept at 1e-150, so that p^2 / r^2 stays finite.

    Example:
        >>> rates = ParticipationRates(np.array([0.5, 0.5]), beta=0.1)
        >>> rates.update(np.array([1]))
        >>> rates.values
        array([0.45, 0.55])
    """

    def __init__(self, initial: np.ndarray, beta: float) -> None:
        """Starts tracking.

        Args:
            initial: r(0), `float [N]`, each in (0, 1].
            beta: Step size, in (0, 1); the paper's O(1 / T).
        """
        if not 0 < beta < 1:
            raise ValueError(f"beta {beta}: must be in (0, 1)")
        values = np.array(initial, np.float64)
        if not (np.all(values > 0) and np.all(values <= 1)):
            raise ValueError("initial rates must be in (0, 1]")
        self.beta = beta
        self._values = values

    @property
    def values(self) -> np.ndarray:
        """r(t), `float64 [N]`, in (0, 1]; read-only view."""
        view = self._values.view()
        view.flags.writeable = False
        return view

    def update(self, selected: np.ndarray) -> None:
        """Moves the rates by one round.

        Args:
            selected: Distinct ids of the selected clients, `int [m]`; empty for an empty round,
                which decays every rate.
        """
        self._values *= 1 - self.beta
        np.maximum(self._values, _LEAST, out=self._values)
        self._values[selected] += self.beta

    def restore(self, values: np.ndarray) -> None:
        """Takes back rates saved from `values`."""
        if values.shape != self._values.shape:
            raise ValueError(f"saved rates have shape {values.shape}, not {self._values.shape}")
        self._values[:] = values
