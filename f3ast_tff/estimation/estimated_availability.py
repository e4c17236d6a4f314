"""AvailabilityKnowledge estimated from who is available: posterior means under beta priors."""

from __future__ import annotations

import copy

import numpy as np

from f3ast_tff.errors import ParameterError
from f3ast_tff.estimation.availability_prior import AvailabilityPrior
from f3ast_tff.estimation.known_availability import mask_checked
from f3ast_tff.saved_state import check_saved

AVAILABILITY_FROM = ("counts", "chain")
TRANSITIONS_PER = ("visit", "round")


class EstimatedAvailability:
    """The Bayesian estimators of CA-Fed's Sec. IV-B, fed with the mask of each round.

    The chances to stay active and inactive, p_1 and p_0, are the shares of transitions, the prior's
    counts among them; lambda_k = p_0 + p_1 - 1, eq. (238). pi_k is the share of rounds in which
    client k was available, the prior's among them.

    Two things can be read in two ways:

    * Sec. V-B d computes pi_k "analytically" from the transition matrix: `"chain"`, eq. (237).
      Sec. IV-B counts rounds: `"counts"`.
    * The released code divides the numbers of transitions by the number of rounds, not by how often
      the state was left, and takes everybody for inactive before the first round: `"round"`. So it
      estimates joint chances, and its lambda_k tends to P(state kept) - 1, which is no eigenvalue.

    Example:
        >>> known = EstimatedAvailability(AvailabilityPrior.uniform(1))
        >>> for t in (1, 2, 3):
        ...     known = known.after(t, np.array([True]))
        >>> known.pi, known.eigenvalue
        (array([0.8]), array([0.25]))
    """

    def __init__(
        self,
        prior: AvailabilityPrior,
        availability_from: str = "counts",
        transitions_per: str = "visit",
    ) -> None:
        """Starts with the prior alone.

        Args:
            prior: What is believed before the first round.
            availability_from: One of `AVAILABILITY_FROM`.
            transitions_per: One of `TRANSITIONS_PER`; `"round"` is the released code's.

        Raises:
            ParameterError: If a reading is not one of these.
        """
        for name, value, allowed in (
            ("availability_from", availability_from, AVAILABILITY_FROM),
            ("transitions_per", transitions_per, TRANSITIONS_PER),
        ):
            if value not in allowed:
                raise ParameterError(name, value, f"must be one of {', '.join(allowed)}")
        self._prior = prior
        self._from_chain = availability_from == "chain"
        self._per_round = transitions_per == "round"
        self._last_round = 0
        self._rounds = 0
        n = len(prior.active)
        self._last_mask = np.zeros(n, bool)
        # Transitions by where they start, and those of them that stay there.
        self._active, self._from_active, self._stayed_active = np.zeros((3, n), np.int64)
        self._from_inactive, self._stayed_inactive = np.zeros((2, n), np.int64)

    def after(self, round_number: int, available: np.ndarray) -> EstimatedAvailability:
        """Returns the estimates with one more round counted, and the transition into it.

        Args:
            round_number: Round t, above those counted so far.
            available: Available clients, `bool [N]`.

        Raises:
            ValueError: If the round is not a later one, or the mask is not of these clients.
        """
        mask = mask_checked(available, len(self._active))
        if round_number <= self._last_round:
            raise ValueError(f"round {round_number}: round {self._last_round} was already observed")
        new = copy.copy(self)
        if round_number == self._last_round + 1 and (self._rounds or self._per_round):
            before = self._last_mask
            new._from_active = self._from_active + before
            new._stayed_active = self._stayed_active + (before & mask)
            new._from_inactive = self._from_inactive + ~before
            new._stayed_inactive = self._stayed_inactive + (~before & ~mask)
        new._active = self._active + mask
        new._rounds = self._rounds + 1
        new._last_round = round_number
        new._last_mask = mask.copy()
        return new

    @property
    def pi(self) -> np.ndarray:
        """Estimate of pi_k, `float64 [N]`, in (0, 1)."""
        prior = self._prior
        if not self._from_chain:
            return (self._active + prior.active) / (self._rounds + prior.active + prior.inactive)
        stay_inactive, stay_active = self._chances_to_stay()
        return (1 - stay_inactive) / (2 - stay_inactive - stay_active)

    @property
    def eigenvalue(self) -> np.ndarray:
        """Estimate of lambda_k, `float64 [N]`, in (-1, 1)."""
        stay_inactive, stay_active = self._chances_to_stay()
        return stay_inactive + stay_active - 1

    def _chances_to_stay(self) -> tuple[np.ndarray, np.ndarray]:
        """Returns p_0 and p_1 of App. F3."""
        prior = self._prior
        from_inactive = self._rounds if self._per_round else self._from_inactive
        from_active = self._rounds if self._per_round else self._from_active
        return (
            (self._stayed_inactive + prior.stayed_inactive)
            / (from_inactive + prior.stayed_inactive + prior.left_inactive),
            (self._stayed_active + prior.stayed_active)
            / (from_active + prior.stayed_active + prior.left_active),
        )

    def state(self) -> dict[str, np.ndarray]:
        """Returns the counts and the last round; the prior is given anew to a resumed run."""
        return {
            "last_round": np.array(self._last_round),
            "rounds": np.array(self._rounds),
            "last_mask": self._last_mask.copy(),
            "active": self._active.copy(),
            "from_active": self._from_active.copy(),
            "stayed_active": self._stayed_active.copy(),
            "from_inactive": self._from_inactive.copy(),
            "stayed_inactive": self._stayed_inactive.copy(),
        }

    def restore(self, state: dict[str, np.ndarray]) -> None:
        """Takes back what `state` returned.

        Raises:
            ValueError: If a part is missing, or is of another number of clients.
        """
        check_saved(state, self.state(), "availability")
        self._last_round, self._rounds = int(state["last_round"]), int(state["rounds"])
        self._last_mask = state["last_mask"].astype(bool)
        self._active = state["active"].astype(np.int64)
        self._from_active = state["from_active"].astype(np.int64)
        self._stayed_active = state["stayed_active"].astype(np.int64)
        self._from_inactive = state["from_inactive"].astype(np.int64)
        self._stayed_inactive = state["stayed_inactive"].astype(np.int64)
