"""What the server knows of when clients are available, and the oracle that knows it exactly."""

from __future__ import annotations

from typing import Protocol

import numpy as np


class AvailabilityKnowledge(Protocol):
    """Each client's availability as a two-state Markov chain, as far as known (CA-Fed, App. F3)."""

    def after(self, round_number: int, available: np.ndarray) -> AvailabilityKnowledge:
        """Returns what is known after round t (from 1), given its mask, `bool [N]`."""
        ...

    @property
    def pi(self) -> np.ndarray:
        """Availability pi_k in the long run, `float64 [N]`, in [0, 1]."""
        ...

    @property
    def eigenvalue(self) -> np.ndarray:
        """Second eigenvalue lambda_k of the transition matrix, `float64 [N]`, in [-1, 1].

        It is also the correlation of successive rounds.
        """
        ...

    def state(self) -> dict[str, np.ndarray]:
        """Returns all that a checkpoint must hold."""
        ...

    def restore(self, state: dict[str, np.ndarray]) -> None:
        """Takes back what `state` returned."""
        ...


class KnownAvailability:
    """The oracle of CA-Fed's Sec. V-A: the true parameters, which nothing observed changes."""

    def __init__(self, pi: np.ndarray, eigenvalue: np.ndarray | None = None) -> None:
        """Takes the parameters.

        Args:
            pi: pi_k, `float [N]`, each in [0, 1].
            eigenvalue: lambda_k, `float [N]`, each in [-1, 1]; `None` where no strategy asks.

        Raises:
            ValueError: If a value is not allowed.
        """
        self._pi = _checked("pi", pi, 0.0)
        self._eigenvalue = None if eigenvalue is None else _checked("eigenvalue", eigenvalue, -1.0)
        if self._eigenvalue is not None and self._eigenvalue.shape != self._pi.shape:
            shapes = f"{self._eigenvalue.shape}, pi {self._pi.shape}"
            raise ValueError(f"eigenvalue has shape {shapes}")

    def after(self, round_number: int, available: np.ndarray) -> KnownAvailability:
        """Returns itself: an oracle has nothing to learn; checks that the mask has N clients."""
        mask_checked(available, len(self._pi))
        return self

    @property
    def pi(self) -> np.ndarray:
        """pi_k, `float64 [N]`, read-only."""
        return self._pi

    @property
    def eigenvalue(self) -> np.ndarray:
        """lambda_k, `float64 [N]`, read-only.

        Raises:
            ValueError: If it was not given.
        """
        if self._eigenvalue is None:
            raise ValueError("the eigenvalues of the clients' availability are not known")
        return self._eigenvalue

    def state(self) -> dict[str, np.ndarray]:
        """Returns nothing to save."""
        return {}

    def restore(self, state: dict[str, np.ndarray]) -> None:
        """Checks that there is nothing to take back."""
        if state:
            raise ValueError(f"unexpected saved state: {sorted(state)}")


def mask_checked(available: np.ndarray, num_clients: int) -> np.ndarray:
    """Returns a mask, checked to be `bool [N]`.

    Raises:
        ValueError: If it is not.
    """
    mask = np.asarray(available)
    if mask.shape != (num_clients,) or mask.dtype != np.bool_:
        raise ValueError(f"available is {mask.dtype} {mask.shape}: must be bool [{num_clients}]")
    return mask


def _checked(name: str, values: np.ndarray, least: float) -> np.ndarray:
    checked = np.array(values, np.float64)
    if checked.ndim != 1:
        raise ValueError(f"{name} has shape {checked.shape}: must be [N]")
    wrong = np.flatnonzero(~((checked >= least) & (checked <= 1)))
    if len(wrong):
        k = wrong[0]
        raise ValueError(f"{name}[{k}] = {checked[k]}: must be in [{least:g}, 1]")
    checked.flags.writeable = False
    return checked
