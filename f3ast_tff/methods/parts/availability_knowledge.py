"""The server's knowledge of availability: the truth, or posterior means under beta priors.

Each client's availability is a two-state Markov chain (CA-Fed, App. F3). Its availability in the
long run is pi_k, `float64 [N]`, in [0, 1]. Its second eigenvalue is lambda_k, `float64 [N]`, in
[-1, 1], the correlation of successive rounds.
"""

from __future__ import annotations

import copy
from dataclasses import dataclass, fields
from typing import ClassVar, Union

import numpy as np

from f3ast_tff.methods.parts.remembered import Remembers


class KnownAvailability(Remembers):
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


@dataclass(frozen=True)
class AvailabilityPrior:
    """Parameters of three beta priors per client (CA-Fed, Sec. IV-B), each `float64 [N]`, above 0.

    Each parameter counts rounds, as if seen before the first. pi_k has the prior
    Beta(active, inactive), n_k and m_k of the paper. The chance to stay active, p_1 of App. F3, has
    the prior Beta(stayed_active, left_active). The chance to stay inactive, p_0, has the prior
    Beta(stayed_inactive, left_inactive).
    """

    active: np.ndarray
    inactive: np.ndarray
    stayed_active: np.ndarray
    left_active: np.ndarray
    stayed_inactive: np.ndarray
    left_inactive: np.ndarray

    @classmethod
    def uniform(cls, num_clients: int) -> AvailabilityPrior:
        """No knowledge: Beta(1, 1) throughout, so that pi_k = 1/2 and lambda_k = 0 at first."""
        return cls(*(np.ones(num_clients) for _ in fields(cls)))

    @classmethod
    def from_chain(cls, pi: np.ndarray, eigenvalue: np.ndarray, rounds: float) -> AvailabilityPrior:
        """The prior of the released code, whose authors set `rounds` to 100.

        The counts are the expected counts of `rounds` rounds, of as many transitions from the
        active state, and of as many from the inactive state. The prior is made from the true
        parameters, so estimates with it start at the truth.

        Args:
            pi: True pi_k, `float [N]`, each in (0, 1).
            eigenvalue: True lambda_k, `float [N]`, such that no transition is certain.
            rounds: Weight of the prior, above 0.
        """
        pi, eigenvalue = (np.asarray(values, np.float64) for values in (pi, eigenvalue))
        after_inactive = (1 - eigenvalue) * pi
        after_active = eigenvalue + after_inactive
        chances = (pi, 1 - pi, after_active, 1 - after_active, 1 - after_inactive, after_inactive)
        return cls(*(chance * rounds for chance in chances))

    def after(self, history: np.ndarray) -> AvailabilityPrior:
        """Returns the posterior after rounds observed before training (Sec. V-B d).

        Args:
            history: Available clients of consecutive rounds, `bool [T, N]`. The transition from
                its last round into training is not counted.

        Raises:
            ValueError: If the history has another number of clients.
        """
        for mask in history:
            mask_checked(mask, len(self.active))
        before, now = history[:-1], history[1:]
        seen = (history, ~history, before & now, before & ~now, ~before & ~now, ~before & now)
        return AvailabilityPrior(
            *(getattr(self, each.name) + np.sum(s, axis=0) for each, s in zip(fields(self), seen))
        )


class EstimatedAvailability(Remembers):
    """The Bayesian estimators of CA-Fed's Sec. IV-B, fed with the mask of each round.

    The chances to stay active and inactive, p_1 and p_0, are shares of transitions;
    lambda_k = p_0 + p_1 - 1, eq. (238). pi_k is the share of rounds in which client k was
    available. All counts include the prior's.

    Two points of the paper can be read in two ways:

    * Sec. V-B d computes pi_k "analytically" from the transition matrix: `"chain"`, eq. (237).
      Sec. IV-B counts rounds: `"counts"`.
    * Numbers of transitions are divided by the number of visits to the state they start in:
      `"visit"`. The released code divides them by the number of rounds and treats all clients as
      inactive before the first round: `"round"`. So it estimates joint chances, and its lambda_k
      tends to P(state kept) - 1, which is no eigenvalue.

    Examples:
        >>> from f3ast_tff.methods.parts import availability_knowledge as knowledge
        >>> known = knowledge.EstimatedAvailability(knowledge.AvailabilityPrior.uniform(1))
        >>> for t in (1, 2, 3):
        ...     known = known.after(t, [True])
        >>> known.pi.tolist(), known.eigenvalue.tolist()
        ([0.8], [0.25])
    """

    saved_as: ClassVar[str] = "availability"

    def __init__(
        self,
        prior: AvailabilityPrior,
        availability_from: str = "counts",
        transitions_per: str = "visit",
    ) -> None:
        """Starts with the prior, before any round.

        Args:
            prior: Belief before the first round.
            availability_from: `"counts"` or `"chain"`.
            transitions_per: `"visit"`, or `"round"` as in the released code.
        """
        self._prior = prior
        self._from_chain = availability_from == "chain"
        self._per_round = transitions_per == "round"
        # `active` counts rounds. The others count transitions by the state that they start in: all,
        # and those that keep the state.
        counts = ("active", "from_active", "stayed_active", "from_inactive", "stayed_inactive")
        n = len(prior.active)
        self._seen = {
            "last_round": np.array(0),
            "rounds": np.array(0),
            "last_mask": np.zeros(n, bool),
            **{name: np.zeros(n, np.int64) for name in counts},
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
        if round_number == seen["last_round"] + 1 and (seen["rounds"] or self._per_round):
            before = seen["last_mask"]
            counted["from_active"], counted["stayed_active"] = before, before & mask
            counted["from_inactive"], counted["stayed_inactive"] = ~before, ~before & ~mask
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
        if not self._from_chain:
            return self._share("active", "rounds", self._prior.active, self._prior.inactive)
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
        visits = ("rounds", "rounds") if self._per_round else ("from_inactive", "from_active")
        return (
            self._share("stayed_inactive", visits[0], prior.stayed_inactive, prior.left_inactive),
            self._share("stayed_active", visits[1], prior.stayed_active, prior.left_active),
        )

    def _share(self, name: str, of: str, prior: np.ndarray, against: np.ndarray) -> np.ndarray:
        """Mean of the posterior of a prior Beta(prior, against)."""
        return (self._seen[name] + prior) / (self._seen[of] + prior + against)

    def remembered(self) -> dict[str, np.ndarray]:
        """Returns the counts and the last round; the prior is given anew to a resumed run."""
        return self._seen


AvailabilityKnowledge = Union[KnownAvailability, EstimatedAvailability]
