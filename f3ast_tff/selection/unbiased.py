"""Unbiased, more available, AdaFed: the benchmarks that CA-Fed weighs by p / pi (Sec. V-A c)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from f3ast_tff.errors import ParameterError
from f3ast_tff.estimation import AvailabilityKnowledge, KnownAvailability
from f3ast_tff.local_training import check_client_shares
from f3ast_tff.randomness import generator
from f3ast_tff.selection.feasible import Feasible
from f3ast_tff.selection.strategy import BaseStrategy, Cohort, Losses


@dataclass(frozen=True)
class Unbiased(BaseStrategy):
    """Takes all available clients with q_k = p_k / pi_k (Guideline C).

    In the long run the sum of q_k v_k has sum_k p_k v_k as its expectation, however correlated in
    time clients are. The weights are meant for a SUM, never a normalised mean. Where K is below the
    number of those available, K of them are drawn uniformly and weigh accordingly more (see
    `uniform_part`).

    Attributes:
        p: Client shares p_k, the target importance (alpha_k in CA-Fed), `float64 [N]`; a client of
            share 0 takes no part.
        knowledge: What is known of pi_k; observes every round.
        seed: Seed of the draws where K is short.
    """

    p: np.ndarray
    knowledge: AvailabilityKnowledge
    seed: int = 0

    def __post_init__(self) -> None:
        check_shares(self.p, self.knowledge)

    def select(
        self, round_number: int, available: np.ndarray, feasible: Feasible, losses: Losses
    ) -> Cohort:
        """See `Strategy.select`; also observes the round.

        Raises:
            ValueError: If a client is available whose pi_k is said to be 0.
        """
        self.knowledge.observe(round_number, available)
        rng = generator(self.seed, "selection", round_number)
        ids, factor = uniform_part(np.flatnonzero(available & self._may_take_part()), feasible, rng)
        return Cohort(ids, inverse_availability(self.p, self.knowledge.pi, ids) * factor)

    def _may_take_part(self) -> np.ndarray:
        return self.p > 0

    def state(self) -> dict[str, np.ndarray]:
        """Returns what has been learnt of the availability."""
        return self.knowledge.state()

    def restore(self, state: dict[str, np.ndarray]) -> None:
        """Takes back what `state` returned."""
        self.knowledge.restore(state)


@dataclass(frozen=True)
class MoreAvailable(Unbiased):
    """Takes the available clients of pi_k at least `least_pi`, with q_k = p_k / pi_k.

    The paper's classes have pi_k = 1/2 + g and 1/2 - g, so 1/2 parts them. It does not say the
    weights; these are those of CA-Fed (Guideline C) when it excludes all others. With estimates
    a client may change sides. The weights are meant for a SUM.

    Attributes:
        least_pi: What counts as often, in (0, 1].
    """

    least_pi: float = 0.5

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0 < self.least_pi <= 1:
            allowed = "must be above 0 and at most 1"
            raise ParameterError("more_available_pi", self.least_pi, allowed)
        if isinstance(self.knowledge, KnownAvailability) and not np.any(self._often()):
            allowed = f"no client is available so often (the most: {self.knowledge.pi.max():.4g})"
            raise ParameterError("more_available_pi", self.least_pi, allowed)

    def _often(self) -> np.ndarray:
        return self.knowledge.pi >= self.least_pi

    def _may_take_part(self) -> np.ndarray:
        return super()._may_take_part() & self._often()


@dataclass(frozen=True)
class AdaFed(Unbiased):
    """Takes all available clients with q_k proportional to p_k / pi_k, of sum 1 in every round.

    CA-Fed, Sec. V-A c, whose experiments and code cover this case alone; AdaFed's own choice of how
    many clients to sample is not here. Where K is short, the weights of those drawn sum to 1. They
    are meant for a SUM; a normalised mean is the same.
    """

    def select(
        self, round_number: int, available: np.ndarray, feasible: Feasible, losses: Losses
    ) -> Cohort:
        """See `Strategy.select`; also observes the round."""
        return _of_sum_one(super().select(round_number, available, feasible, losses))

    def received(self, round_number: int, cohort: Cohort, received: np.ndarray) -> Cohort:
        """See `BaseStrategy.received`: the weights of those who arrive sum to 1."""
        return _of_sum_one(super().received(round_number, cohort, received))


def _of_sum_one(cohort: Cohort) -> Cohort:
    if len(cohort) == 0:
        return cohort
    return Cohort(cohort.ids, cohort.weights / np.sum(cohort.weights))


def uniform_part(
    candidates: np.ndarray, feasible: Feasible, rng: np.random.Generator
) -> tuple[np.ndarray, float]:
    """Returns the clients that take part, all of them if the constraint lets them.

    CA-Fed's App. H2: S_t is drawn uniformly from the clients there are. A sum over S_t, times the
    factor, has the sum over all of them as its expectation where the constraint is a number;
    where some clients are likelier to be admitted than others it has not.

    Args:
        candidates: Client ids, increasing, `int [m]`.
        feasible: The constraint; one that does not only count lets clients in in random order.
        rng: Source of randomness, untouched if K_t is a number that is large enough.

    Returns:
        Ids, increasing, `int64`, and the factor m / |S_t| (1 if there are none).
    """
    if not feasible.counts_only:
        ids = np.sort(feasible.admit(rng.permutation(candidates)))
    elif feasible.k < len(candidates):
        ids = np.sort(rng.choice(candidates, feasible.k, replace=False))
    else:
        ids = candidates
    return ids.astype(np.int64), len(candidates) / len(ids) if len(ids) else 1.0


def check_shares(p: np.ndarray, knowledge: AvailabilityKnowledge) -> None:
    """Checks that shares are a distribution over the clients whose availability is known.

    Raises:
        ValueError: If they are not.
    """
    if p.shape != knowledge.pi.shape:
        raise ValueError(f"p has shape {p.shape}, pi {knowledge.pi.shape}")
    check_client_shares(p)


def inverse_availability(p: np.ndarray, pi: np.ndarray, ids: np.ndarray) -> np.ndarray:
    """Returns p_k / pi_k of some clients, `float64 [m]` for ids `int [m]`.

    Raises:
        ValueError: If one of them has a pi_k of 0.
    """
    never = ids[pi[ids] <= 0]
    if len(never):
        raise ValueError(f"client {never[0]} is available, but its pi is {pi[never[0]]}")
    return p[ids] / pi[ids]
