"""The server's knowledge of availability: the truth, or estimates from the rounds seen.

Each client's availability is a two-state Markov chain (CA-Fed, App. F3). Its availability in the
long run is pi_k, `float64 [N]`, in [0, 1]. Its second eigenvalue is lambda_k, `float64 [N]`, in
[-1, 1], the correlation of successive rounds.
"""

from __future__ import annotations

import copy
from typing import ClassVar

import numpy as np

from f3ast_tff.core.saved_state import SavedState


class KnownAvailability(SavedState):
    """The oracle of CA-Fed's Sec. V-A: the true parameters, unchanged by observations."""

    def __init__(self, pi: np.ndarray, eigenvalue: np.ndarray | None = None) -> None:
        """Takes the parameters.

        Args:
            pi: pi_k, `float [N]`, each in [0, 1].
            eigenvalue: lambda_k, `float [N]`, each in [-1, 1]; `None` if no strategy needs it.

        Raises:
            ValueError: If a value is not allowed.
        """
        self.pi = _checked("pi", pi, 0.0)
        self._eigenvalue = None if eigenvalue is None else _checked("eigenvalue", eigenvalue, -1.0)
        if self._eigenvalue is not None and self._eigenvalue.shape != self.pi.shape:
            raise ValueError(f"eigenvalue has shape {self._eigenvalue.shape}, pi {self.pi.shape}")

    def after(self, round_number: int, available: np.ndarray) -> KnownAvailability:
        """Checks that the mask has N clients; returns itself, as an oracle learns nothing."""
        mask_checked(available, len(self.pi))
        return self

    @property
    def eigenvalue(self) -> np.ndarray:
        """lambda_k; `ValueError` if it was not given."""
        if self._eigenvalue is None:
            raise ValueError("the eigenvalues of the clients' availability are not known")
        return self._eigenvalue


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
    """Returns a read-only copy."""
    checked = np.array(values, np.float64)
    if checked.ndim != 1:
        raise ValueError(f"{name} has shape {checked.shape}: must be [N]")
    wrong = np.flatnonzero(~((checked >= least) & (checked <= 1)))
    if len(wrong):
        k = wrong[0]
        raise ValueError(f"{name}[{k}] = {checked[k]}: must be in [{least:g}, 1]")
    checked.flags.writeable = False
    return checked


class EstimatedAvailability(SavedState):
    """The Bayesian estimators of CA-Fed's Sec. IV-B, fed with the mask of each round.

    pi_k is the share of rounds in which client k was available. The chances to stay active and
    inactive, p_1 and p_0 of App. F3, are shares of the visits to these states; lambda_k =
    p_0 + p_1 - 1, eq. (238). Each share is the posterior mean under the prior Beta(1, 1).

    Examples:
        >>> from f3ast_tff.methods.parts import availability_knowledge as knowledge
        >>> known = knowledge.EstimatedAvailability(1)
        >>> for t in (1, 2, 3):
        ...     known = known.after(t, [True])
        >>> known.pi.tolist(), known.eigenvalue.tolist()
        ([0.8], [0.25])
    """

    saved_as: ClassVar[str] = "availability"

    def __init__(self, num_clients: int, history: np.ndarray | None = None) -> None:
        """Starts before the first round.

        Args:
            num_clients: N.
            history: Available clients of consecutive rounds observed before training,
                `bool [T, N]` (Sec. V-B d). The transition from the last of them into training is
                not counted.

        Raises:
            ValueError: If the history has another number of clients.
        """
        history = np.zeros((0, num_clients), bool) if history is None else history
        for mask in history:
            mask_checked(mask, num_clients)
        counted = {"active": history, **_transitions(history[:-1], history[1:])}
        counts = {name: happened.sum(axis=0) for name, happened in counted.items()}
        self._history = {"rounds": np.array(len(history)), **counts}
        self._seen = {
            "last_round": np.array(0),
            "rounds": np.array(0),
            "last_mask": np.zeros(num_clients, bool),
            **{name: np.zeros(num_clients, np.int64) for name in counts},
        }

    def after(self, round_number: int, available: np.ndarray) -> EstimatedAvailability:
        """Returns the estimates with one more round counted, and the transition into it.

        Args:
            round_number: Round t, later than all rounds counted so far.
            available: Available clients, `bool [N]`.

        Raises:
            ValueError: If the round is not later, or the mask has another number of clients.
        """
        seen = self._seen
        mask = mask_checked(available, len(seen["active"]))
        if round_number <= seen["last_round"]:
            raise ValueError(
                f"round {round_number}: round {seen['last_round']} was already observed"
            )
        counted = {"active": mask}
        if round_number == seen["last_round"] + 1 and seen["rounds"]:
            counted |= _transitions(seen["last_mask"], mask)
        new = copy.copy(self)
        new._seen = {
            **seen,
            **{name: seen[name] + happened for name, happened in counted.items()},
            "last_round": np.array(round_number),
            "rounds": np.array(seen["rounds"] + 1),
            "last_mask": mask.copy(),
        }
        return new

    @property
    def pi(self) -> np.ndarray:
        """Estimate of pi_k, `float64 [N]`, in (0, 1)."""
        return self._share("active", of="rounds")

    @property
    def eigenvalue(self) -> np.ndarray:
        """Estimate of lambda_k, `float64 [N]`, in (-1, 1)."""
        stay_inactive, stay_active = self._chances_to_stay()
        return stay_inactive + stay_active - 1

    @property
    def pi_of_chain(self) -> np.ndarray:
        """The other estimate of pi_k, by eq. (237): "analytically", as Sec. V-B d says."""
        stay_inactive, stay_active = self._chances_to_stay()
        return (1 - stay_inactive) / (2 - stay_inactive - stay_active)

    def _chances_to_stay(self) -> tuple[np.ndarray, np.ndarray]:
        """Returns p_0 and p_1."""
        stay_inactive = self._share("stayed_inactive", of="from_inactive")
        return stay_inactive, self._share("stayed_active", of="from_active")

    def _share(self, name: str, of: str) -> np.ndarray:
        """Posterior mean of a share under the prior Beta(1, 1)."""
        happened, cases = (self._seen[n] + self._history[n] for n in (name, of))
        return (happened + 1) / (cases + 2)

    def saved_arrays(self) -> dict[str, np.ndarray]:
        """Returns the counts without the history, and the last round."""
        return self._seen


def _transitions(before: np.ndarray, now: np.ndarray) -> dict[str, np.ndarray]:
    """Transitions by the state that they start in: all, and those that keep the state."""
    return {
        "from_active": before,
        "stayed_active": before & now,
        "from_inactive": ~before,
        "stayed_inactive": ~before & ~now,
    }


AvailabilityKnowledge = KnownAvailability | EstimatedAvailability
