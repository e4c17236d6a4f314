"""Stationary, staircase, sine, interleaved sine: the four dynamics of FedAWE (arXiv 2409.17446).

Xiang et al., "Efficient Federated Learning against Heterogeneous and Non-stationary Client
Unavailability", NeurIPS 2024. Client k is available in round t with probability p_k f_t, where
p_k follows its labels. Periods and the law of phi are taken from the public code.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from f3ast_tff.availability.labelled import LabelledConfig
from f3ast_tff.availability.process import IndependentAvailability, NonStationary
from f3ast_tff.core.randomness import generator
from f3ast_tff.settings import parameter, register


@register(
    "availability",
    "stationary",
    "Stationary",
    about="independent, p_k from the client's labels (FedAWE)",
    order=13,
)
@dataclass(frozen=True)
class StationaryConfig(LabelledConfig):
    """Independent availability with p_k = sum_c nu_kc phi_c.

    phi_c ~ U(0, 1) for the first half of the classes, rounded up, and U(0, `phi_second_half`) for
    the second half. Equal seeds give equal phi, so the four dynamics share their p_k.

    Examples:
        >>> import numpy as np
        >>> from f3ast_tff.availability import StationaryConfig
        >>> labels = np.array([[1, 0], [0.5, 0.5], [0, 1]])
        >>> process = StationaryConfig().build(np.ones(3) / 3, seed=0, labels=labels)
        >>> process.stationary.round(3).tolist()  # Client 1 is between 0 and 2.
        [0.459, 0.43, 0.401]
    """

    phi_second_half: float = parameter(
        0.5,
        "phi_c ~ U(0, this) for the second half of the classes, U(0, 1) for the first",
        minimum=0,
        maximum=1,
    )

    def base(self, labels: np.ndarray, seed: int) -> np.ndarray:
        """Returns p_k, `float64 [N]`, of label distributions nu, `float64 [N, C]`."""
        num_classes = labels.shape[1]
        first = np.arange(num_classes) < (num_classes + 1) // 2
        largest = np.where(first, 1.0, self.phi_second_half)
        return np.clip(labels @ (generator(seed, "label phi").random(num_classes) * largest), 0, 1)

    def build_labelled(self, labels: np.ndarray, seed: int) -> IndependentAvailability:
        return IndependentAvailability(self.base(labels, seed), seed)


@register(
    "availability",
    "staircase",
    "Staircase",
    about="p_k from the client's labels, in half of each period 0.4 p_k (FedAWE)",
    order=14,
)
@dataclass(frozen=True)
class StaircaseConfig(StationaryConfig):
    """f_t is 1 in the first half of the period, rounded up, and `staircase_low` in the second.

    Examples:
        >>> import numpy as np
        >>> from f3ast_tff.availability import StaircaseConfig
        >>> process = StaircaseConfig().build(np.ones(2) / 2, seed=0, labels=np.eye(2))
        >>> [process.probabilities(t).round(3).tolist() for t in (10, 11)]
        [[0.459, 0.401], [0.183, 0.16]]
    """

    positively_correlated: ClassVar[bool] = NonStationary.positively_correlated

    staircase_period: int = parameter(
        20, "both halves of a period", minimum=1, maximum=10**6, units="rounds"
    )
    staircase_low: float = parameter(0.4, "factor of p_k in the second half", minimum=0, maximum=1)

    def build_labelled(self, labels: np.ndarray, seed: int) -> NonStationary:
        first = np.arange(self.staircase_period) < (self.staircase_period + 1) // 2
        return NonStationary(
            self.base(labels, seed), seed, np.where(first, 1.0, self.staircase_low)
        )


@register(
    "availability",
    "sine",
    "Sine",
    about="p_k from the client's labels, times 0.3 sin(2 pi t / 20) + 0.7 (FedAWE)",
    order=15,
)
@dataclass(frozen=True)
class SineConfig(StationaryConfig):
    """f_t = a sin(2 pi (t - 1) / period) + 1 - a: the first round is at sin 0.

    Examples:
        >>> import numpy as np
        >>> from f3ast_tff.availability import SineConfig
        >>> process = SineConfig().build(np.ones(2) / 2, seed=0, labels=np.eye(2))
        >>> [process.probabilities(t).round(3).tolist() for t in (1, 6, 16)]
        [[0.321, 0.281], [0.459, 0.401], [0.183, 0.16]]
    """

    positively_correlated: ClassVar[bool] = NonStationary.positively_correlated

    sine_period: int = parameter(20, "period of the sine", minimum=1, maximum=10**6, units="rounds")
    sine_amplitude: float = parameter(
        0.3, "a of the factor a sin(2 pi t / period) + 1 - a", minimum=0, maximum=0.5
    )

    def build_labelled(self, labels: np.ndarray, seed: int, cut: float = 0.0) -> NonStationary:
        """Probabilities below `cut` become 0."""
        angle = 2 * np.pi * np.arange(self.sine_period) / self.sine_period
        factors = self.sine_amplitude * np.sin(angle) + 1 - self.sine_amplitude
        return NonStationary(self.base(labels, seed), seed, factors, cut)


@register(
    "availability",
    "interleaved_sine",
    "Interleaved sine",
    about="the sine, and 0 where the probability is below 0.1 (FedAWE)",
    order=16,
)
@dataclass(frozen=True)
class InterleavedSineConfig(SineConfig):
    """The sine with a cut.

    Examples:
        >>> import numpy as np
        >>> from f3ast_tff.availability import InterleavedSineConfig
        >>> config = InterleavedSineConfig(sine_cut=0.3)
        >>> process = config.build(np.ones(2) / 2, seed=0, labels=np.eye(2))
        >>> [process.probabilities(t).round(3).tolist() for t in (1, 6, 16)]
        [[0.321, 0.0], [0.459, 0.401], [0.0, 0.0]]
    """

    sine_cut: float = parameter(0.1, "probabilities below it become 0", above=0, maximum=1)

    def build_labelled(self, labels: np.ndarray, seed: int, cut: float = 0.0) -> NonStationary:
        return super().build_labelled(labels, seed, self.sine_cut)
