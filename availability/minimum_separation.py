"""Minimum separation: a client that was available is away for R rounds (arXiv 2410.01209)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from f3ast_tff.availability.draws import bernoulli
from f3ast_tff.availability.process import AvailabilityConfig, probabilities_checked
from f3ast_tff.core.errors import ParameterError
from f3ast_tff.core.randomness import generator
from f3ast_tff.settings import parameter, register
from f3ast_tff.settings.configuration import Settings


class MinimumSeparation:
    """After a round in which it is available, client k is away for R; else q_k decides.

    The condition is that of Sun et al., "Debiasing Federated Learning with Correlated Client
    Participation", ICLR 2025; clients are independent here. Gaps between available rounds are
    R + Geometric(q_k), of mean R + 1 / q_k, so that pi_k = 1 / (R + 1 / q_k) = q_k / (1 + R q_k)
    (renewal theorem). The larger R, the less the pi_k differ.
    Round 1 is drawn from the stationary law: j rounds left to wait with probability pi_k for
    j = 1 .. R, and none with 1 / (1 + R q_k). So every round has chance pi_k.

    A mask depends only on (seed, t). A client that has failed its draws in R rounds in a row is
    free afterwards, regardless of its past. So a mask is found by going back until every client has
    had R such rounds, or to round 1, and then forward. For large R q this is round 1, and resuming
    costs, once, two draws per client and past round. The last state is remembered, so the next
    round costs one draw per client.

    Examples:
        >>> import numpy as np
        >>> from f3ast_tff.availability import MinimumSeparation
        >>> process = MinimumSeparation(np.array([0.1, 1.0]), seed=0, separation=10)
        >>> process.stationary.round(3).tolist()
        [0.05, 0.091]
    """

    positively_correlated = False
    periodic = False

    def __init__(self, q: np.ndarray, seed: int, separation: int = 10) -> None:
        """Makes the process.

        Args:
            q: q_k, `float [N]`, in [0, 1].
            seed: Seed of the draws.
            separation: R, rounds away after an available round, at least 0.

        Raises:
            ValueError: If a probability is not in [0, 1].
        """
        self.q = probabilities_checked("q", q)
        self.num_clients = len(self.q)
        self.seed = seed
        self._separation = separation
        self._last: tuple[int, np.ndarray, np.ndarray] | None = None

    @property
    def stationary(self) -> np.ndarray:
        """q_k / (1 + R q_k), `float [N]`."""
        return self.q / (1 + self._separation * self.q)

    def mask(self, round_number: int) -> np.ndarray:
        last = self._last
        if last is None or last[0] not in (round_number - 1, round_number):
            first = self._restart(round_number)
            wait = self._first_wait() if first == 1 else np.zeros(self.num_clients, np.int64)
            last = first - 1, np.zeros(self.num_clients, bool), wait
        for t in range(last[0] + 1, round_number + 1):
            mask = self._draws(t) & (last[2] == 0)
            wait = np.where(mask, self._separation, np.maximum(last[2] - 1, 0))
            last = t, mask, wait
        self._last = last
        return last[1].copy()

    def _draws(self, round_number: int) -> np.ndarray:
        return bernoulli(self.q, generator(self.seed, "minimum separation", round_number))

    def _first_wait(self) -> np.ndarray:
        """Rounds left to wait before round 1, `int64 [N]`, from the stationary law."""
        u = generator(self.seed, "minimum separation", 0).random(self.num_clients)
        pi = self.stationary
        waits = np.ceil(np.divide(u, pi, out=np.full(len(u), np.inf), where=pi > 0))
        return np.where(waits <= self._separation, waits, 0).astype(np.int64)

    def _restart(self, round_number: int) -> int:
        """A round before which the waiting clients need not be known; 1 if none is later."""
        refused = np.zeros(self.num_clients, np.int64)
        free = np.full(self.num_clients, self._separation == 0)
        t = round_number
        while t > 1 and not free.all():
            t -= 1
            refused = np.where(self._draws(t), 0, refused + 1)
            free |= refused >= self._separation
        return t


@register(
    "availability",
    "minimum_separation",
    "Minimum separation",
    about="away for R rounds after an available one, else with a probability of its own",
    order=24,
)
@dataclass(frozen=True)
class MinimumSeparationConfig(AvailabilityConfig):
    """`MinimumSeparation` with q_k ~ U(least, most), drawn from the seed.

    Examples:
        >>> import numpy as np
        >>> from f3ast_tff.availability import MinimumSeparationConfig
        >>> config = MinimumSeparationConfig(separation_rounds=3, separation_least_q=0.5)
        >>> process = config.build(np.ones(1), seed=0)
        >>> [t for t in range(1, 31) if process.mask(t)[0]]  # Gaps of 4 rounds or more.
        [3, 7, 12, 16, 23, 28]
    """

    separation_rounds: int = parameter(
        10, "R, time away after an available round", minimum=0, units="rounds"
    )
    separation_least_q: float = parameter(0.1, "least q_k", minimum=0, maximum=1)
    separation_most_q: float = parameter(0.9, "largest q_k", minimum=0, maximum=1)

    def build(self, p: np.ndarray, seed: int) -> MinimumSeparation:
        least, most = self.separation_least_q, self.separation_most_q
        q = least + (most - least) * generator(seed, "minimum separation q").random(len(p))
        return MinimumSeparation(q, seed, self.separation_rounds)

    def check(self, settings: Settings) -> None:
        least, most = self.separation_least_q, self.separation_most_q
        if least > most:
            allowed = f"must be at most separation_most_q, {most:g}"
            raise ParameterError("separation_least_q", least, allowed)
