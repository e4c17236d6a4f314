"""What is believed of the clients' availability before training: beta priors, as counts."""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np

from f3ast_tff.estimation.known_availability import mask_checked


@dataclass(frozen=True)
class AvailabilityPrior:
    """Parameters of three beta priors a client (CA-Fed, Sec. IV-B), each `float64 [N]`, above 0.

    Each reads as a number of rounds seen before the first. pi_k has the prior
    Beta(active, inactive), n_k and m_k of the paper; the chance to stay active, p_1 of App. F3,
    Beta(stayed_active, left_active); the chance to stay inactive, p_0,
    Beta(stayed_inactive, left_inactive).
    """

    active: np.ndarray
    inactive: np.ndarray
    stayed_active: np.ndarray
    left_active: np.ndarray
    stayed_inactive: np.ndarray
    left_inactive: np.ndarray

    def __post_init__(self) -> None:
        for each in fields(self):
            values = getattr(self, each.name)
            if values.ndim != 1 or values.shape != self.active.shape:
                raise ValueError(f"{each.name} has shape {values.shape}: must be [N]")
            wrong = np.flatnonzero(~((values > 0) & np.isfinite(values)))
            if len(wrong):
                k = wrong[0]
                raise ValueError(f"{each.name}[{k}] = {values[k]}: must be above 0 and finite")

    @classmethod
    def uniform(cls, num_clients: int) -> AvailabilityPrior:
        """Nothing is known: Beta(1, 1) throughout, so that pi_k = 1/2 and lambda_k = 0 at first."""
        return cls(*(np.ones(num_clients) for _ in fields(cls)))

    @classmethod
    def from_chain(cls, pi: np.ndarray, eigenvalue: np.ndarray, rounds: float) -> AvailabilityPrior:
        """The prior of the released code, whose authors set `rounds` to 100.

        As if this many rounds, and as many that left the active and the inactive state, had been
        seen, with exactly the expected counts. It is made from the true parameters, so
        what is estimated with it starts from the answer.

        Args:
            pi: True pi_k, `float [N]`, each in (0, 1).
            eigenvalue: True lambda_k, `float [N]`, such that no transition is certain.
            rounds: How much weight the prior has, above 0.

        Raises:
            ValueError: If a count is not above 0.
        """
        pi, eigenvalue = (np.asarray(values, np.float64) for values in (pi, eigenvalue))
        after_inactive = (1 - eigenvalue) * pi
        after_active = eigenvalue + after_inactive
        chances = (pi, 1 - pi, after_active, 1 - after_active, 1 - after_inactive, after_inactive)
        return cls(*(chance * rounds for chance in chances))

    def after(self, history: np.ndarray) -> AvailabilityPrior:
        """Returns the posterior after rounds observed before training (Sec. V-B d).

        Args:
            history: Who was available in consecutive rounds, `bool [T, N]`; its last round is
                not taken for the one before the first of training.

        Raises:
            ValueError: If the history is of other clients.
        """
        if history.ndim != 2:
            raise ValueError(f"history has shape {history.shape}: must be [T, N]")
        for mask in history:
            mask_checked(mask, len(self.active))
        before, now = history[:-1], history[1:]
        seen = (history, ~history, before & now, before & ~now, ~before & ~now, ~before & now)
        return AvailabilityPrior(
            *(getattr(self, each.name) + np.sum(s, axis=0) for each, s in zip(fields(self), seen))
        )
