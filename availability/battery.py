"""Batteries: energy arrives at random, and a round of training costs energy (arXiv 2504.12181)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from f3ast_tff.availability.draws import bernoulli
from f3ast_tff.availability.process import AvailabilityConfig, probabilities_checked
from f3ast_tff.core.errors import ParameterError
from f3ast_tff.core.randomness import generator
from f3ast_tff.settings import parameter, register
from f3ast_tff.settings.configuration import Settings


class Battery:
    """A unit of energy reaches client k in a round with probability h_k; c units make a round.

    The energy model is that of energy-harvesting clients (Jeong and Pappas, "Battery-aware Cyclic
    Scheduling in Energy-harvesting Federated Learning", 2025): arrivals are Bernoulli, training
    and transmission cost units. With E the energy held before round t and a ~ Bernoulli(h_k),

        client k is available if E + a >= c;   then E becomes E + a - c, otherwise E + a.

    A client spends energy in every round in which it is available, selected or not: it prepares and
    waits to be asked. In the paper a client spends energy when the server's schedule lets it train,
    so availability depends on the method. Here all methods see the same available sets.

    Gaps between available rounds are sums of c geometric times, of mean c / h_k and variance
    c (1 - h_k) / h_k^2: the larger c, the more regular. pi_k = h_k / c. The energy before round 1
    is uniform on 0 .. c - 1, the stationary law, so every round has chance pi_k.

    A mask depends only on (seed, t), through all arrivals up to round t. So resuming costs, once,
    one draw per client and past round. The last state is remembered, so the next round costs one
    draw per client.

    Examples:
        >>> import numpy as np
        >>> from f3ast_tff.availability import Battery
        >>> process = Battery(h=np.array([0.5, 1.0]), seed=0, cost=5)
        >>> process.stationary.tolist(), [t for t in range(1, 21) if process.mask(t)[1]]
        ([0.1, 0.2], [1, 6, 11, 16])
    """

    positively_correlated = False
    periodic = False

    def __init__(self, h: np.ndarray, seed: int, cost: int = 5) -> None:
        """Makes the process.

        Args:
            h: h_k, `float [N]`, in [0, 1].
            seed: Seed of the draws.
            cost: c, units that an available round costs, at least 1.

        Raises:
            ValueError: If a probability is not in [0, 1].
        """
        self.h = probabilities_checked("h", h)
        self.num_clients = len(self.h)
        self.seed = seed
        self._cost = cost
        self._round, self._mask, self._energy = self._before_first()

    @property
    def stationary(self) -> np.ndarray:
        """h_k / c, `float [N]`."""
        return self.h / self._cost

    def mask(self, round_number: int) -> np.ndarray:
        if round_number < self._round:
            self._round, self._mask, self._energy = self._before_first()
        while self._round < round_number:
            self._round += 1
            arrivals = bernoulli(self.h, generator(self.seed, "battery", self._round))
            self._energy += arrivals
            self._mask = self._energy == self._cost
            self._energy[self._mask] = 0
        return self._mask.copy()

    def _before_first(self) -> tuple[int, np.ndarray, np.ndarray]:
        """Round 0, no client available, and the energy of each client."""
        energy = generator(self.seed, "battery energy").integers(self._cost, size=self.num_clients)
        return 0, np.zeros(self.num_clients, bool), energy.astype(np.int32)


@register(
    "availability",
    "battery",
    "Battery",
    about="available once enough energy has arrived, which the round then costs",
    order=27,
)
@dataclass(frozen=True)
class BatteryConfig(AvailabilityConfig):
    """`Battery` with h_k ~ U(least, most), drawn from the seed.

    Examples:
        >>> import numpy as np
        >>> from f3ast_tff.availability import BatteryConfig
        >>> config = BatteryConfig(battery_cost=3, battery_most_h=0.6)
        >>> process = config.build(np.ones(1), seed=0)
        >>> [t for t in range(1, 41) if process.mask(t)[0]]  # Gaps of 3 rounds or more.
        [1, 12, 16, 21, 34]
    """

    battery_cost: int = parameter(5, "c, units of energy that an available round costs", minimum=1)
    battery_least_h: float = parameter(
        0.1, "least h_k, probability that energy arrives in a round", minimum=0, maximum=1
    )
    battery_most_h: float = parameter(0.9, "largest h_k", minimum=0, maximum=1)

    def build(self, p: np.ndarray, seed: int) -> Battery:
        least, most = self.battery_least_h, self.battery_most_h
        h = least + (most - least) * generator(seed, "battery h").random(len(p))
        return Battery(h, seed, self.battery_cost)

    def check(self, settings: Settings) -> None:
        if self.battery_least_h > self.battery_most_h:
            allowed = f"must be at most battery_most_h, {self.battery_most_h:g}"
            raise ParameterError("battery_least_h", self.battery_least_h, allowed)
