"""Dirichlet participation: Bernoulli, Markov and cyclic with pi_k from labels (FedAU).

Wang and Ji, "A Lightweight Method for Tackling Unknown Participation Statistics in Federated
Averaging", ICLR 2024, arXiv 2306.03401; details as in its public code.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from f3ast_tff.availability.labelled import LabelledConfig
from f3ast_tff.availability.markov import Markov, TransitionConfig
from f3ast_tff.availability.process import IndependentAvailability
from f3ast_tff.availability.turns import Turns, cyclic
from f3ast_tff.core.randomness import generator
from f3ast_tff.settings import parameter, register


@dataclass(frozen=True)
class ParticipationConfig(LabelledConfig):
    """Base of the three processes: pi_k = min(max(C mean sum_c nu_kc kappa_c, least), 1).

    kappa ~ Dirichlet(alpha, .., alpha). The mean of kappa_c is 1 / C, so before the bounds pi_k has
    the mean `mean`. The public code has no upper bound; with 10 classes C mean is 1
    there. Equal seeds give the three processes equal pi.
    """

    participation_alpha: float = parameter(
        0.1, "concentration of the Dirichlet law of kappa", minimum=1e-4
    )
    participation_mean: float = parameter(
        0.1, "mean of pi_k before its bounds", minimum=0, maximum=1
    )
    participation_least: float = parameter(0.02, "least pi_k", minimum=0, maximum=1)

    def pi(self, labels: np.ndarray, seed: int) -> np.ndarray:
        """Returns pi_k, `float64 [N]`, of label distributions nu, `float64 [N, C]`."""
        num_classes = labels.shape[1]
        alpha = np.full(num_classes, self.participation_alpha)
        kappa = generator(seed, "dirichlet participation").dirichlet(alpha)
        mean = num_classes * self.participation_mean * (labels @ kappa)
        return np.clip(mean, self.participation_least, 1)


@register(
    "availability",
    "dirichlet_bernoulli",
    "Dirichlet Bernoulli",
    about="independent, pi_k of mean 0.1 from the client's labels (FedAU)",
    order=19,
)
@dataclass(frozen=True)
class DirichletBernoulliConfig(ParticipationConfig):
    """Clients available independently with pi_k.

    Examples:
        >>> import numpy as np
        >>> from f3ast_tff.availability import DirichletBernoulliConfig
        >>> config = DirichletBernoulliConfig(participation_mean=0.1)
        >>> process = config.build(np.ones(4) / 4, seed=1, labels=np.eye(4))
        >>> process.stationary.round(2).tolist()
        [0.32, 0.02, 0.08, 0.02]
    """

    def build_labelled(self, labels: np.ndarray, seed: int) -> IndependentAvailability:
        return IndependentAvailability(self.pi(labels, seed), seed)


@register(
    "availability",
    "dirichlet_markov",
    "Dirichlet Markov",
    about="independent on-off chains, pi_k of mean 0.1 from the client's labels (FedAU)",
    order=20,
)
@dataclass(frozen=True)
class DirichletMarkovConfig(ParticipationConfig, TransitionConfig):
    """On-off chains of stationary probability pi_k.

    Examples:
        >>> import numpy as np
        >>> from f3ast_tff.availability import DirichletMarkovConfig
        >>> config = DirichletMarkovConfig(transition_largest=0.05)
        >>> chains = config.build(np.ones(4) / 4, seed=1, labels=np.eye(4))
        >>> chains.pi.round(2).tolist(), chains.eigenvalue.round(2).tolist()
        ([0.32, 0.02, 0.08, 0.02], [0.84, -0.02, 0.37, -0.02])
    """

    def build_labelled(self, labels: np.ndarray, seed: int) -> Markov:
        return self.chains(self.pi(labels, seed), seed)


@register(
    "availability",
    "dirichlet_cyclic",
    "Dirichlet cyclic",
    about="once a cycle for about pi_k of it, pi_k of mean 0.1 from the client's labels (FedAU)",
    order=21,
)
@dataclass(frozen=True)
class DirichletCyclicConfig(ParticipationConfig):
    """Each client has one turn per cycle, for the share pi_k of the cycle.

    Examples:
        >>> import numpy as np
        >>> from f3ast_tff.availability import DirichletCyclicConfig
        >>> config = DirichletCyclicConfig(cyclic_rounds=100)
        >>> process = config.build(np.ones(4) / 4, seed=1, labels=np.eye(4))
        >>> process.turn.tolist(), process.start.tolist()
        ([32, 2, 8, 2], [45, 36, 21, 90])
    """

    positively_correlated: ClassVar[bool] = Turns.positively_correlated

    cyclic_rounds: int = parameter(100, "length of the cycle", minimum=1, units="rounds")

    def build_labelled(self, labels: np.ndarray, seed: int) -> Turns:
        return cyclic(self.pi(labels, seed), seed, self.cyclic_rounds)
