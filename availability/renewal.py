"""Renewal: up and down spells of given laws, as measured systems have them, with heavy tails."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from f3ast_tff.availability.process import AvailabilityConfig
from f3ast_tff.availability.spell_laws import SpellLaw, Weibull, read_law
from f3ast_tff.core.errors import ParameterError
from f3ast_tff.core.randomness import uniforms
from f3ast_tff.settings import parameter, register
from f3ast_tff.settings.configuration import Settings

# Weibull fits of up and down spells, hours: Javadi, Kondo, Iosup and Epema, "The Failure Trace
# Archive", J. Parallel Distrib. Comput. 73 (2013), by way of OpenDC (MIT license).
FITS: Mapping[str, tuple[Weibull, Weibull]] = {
    "skype06": (Weibull(0.64, 10.86), Weibull(0.63, 9.48)),
    "microsoft99": (Weibull(0.55, 35.30), Weibull(0.60, 9.34)),
    "overnet03": (Weibull(0.85, 2.04), Weibull(0.44, 2.98)),
    "planetlab05": (Weibull(0.33, 19.35), Weibull(0.36, 5.59)),
    "notredame07": (Weibull(0.45, 4.16), Weibull(0.51, 0.74)),
    "grid5000_06": (Weibull(0.48, 14.37), Weibull(0.35, 0.47)),
    "websites02": (Weibull(0.46, 3.68), Weibull(0.65, 0.61)),
    "dns04": (Weibull(0.51, 79.30), Weibull(0.63, 5.62)),
    "lanl05": (Weibull(0.48, 816.6), Weibull(0.58, 2.18)),
}
# Spells of a client drawn at once, an even number.
_AHEAD = 8
# Mean spells of a client in a round beyond which a round would take long to simulate.
_MOST_CYCLES = 1000


class Renewal:
    """Independent clients, each up and down in turn for spells of two laws.

    Round t is at time (t - 1) h, with h the length of a round. Client k is available in round t if
    it is up at that time; what it does between two rounds is not seen. At time 0 a client is up
    with probability

        pi = E[up] / (E[up] + E[down]),

    and the rest of its spell has the equilibrium law (`spell_laws`). So every round has chance pi,
    and the process is stationary.

    Spell i of client k is a function of (seed, k, i). The state of round t depends only on (seed,
    t), through all spells that began before it. So resuming costs, once, one draw per past spell.

    Examples:
        >>> from f3ast_tff.availability import Renewal
        >>> from f3ast_tff.availability.spell_laws import Weibull
        >>> up, down = Weibull(shape=1, scale=3.0), Weibull(shape=0.5, scale=0.5)
        >>> process = Renewal(4, up=up, down=down, seed=1)
        >>> process.stationary.tolist()  # 3 / (3 + 0.5 Gamma(3))
        [0.75, 0.75, 0.75, 0.75]
        >>> [process.mask(t).astype(int).tolist() for t in (1, 2, 3, 4)]
        [[0, 1, 0, 1], [1, 1, 0, 1], [1, 1, 1, 1], [1, 1, 1, 0]]
    """

    positively_correlated = False
    periodic = False

    def __init__(
        self, num_clients: int, up: SpellLaw, down: SpellLaw, seed: int, round_hours: float = 1.0
    ) -> None:
        """Makes the process.

        Args:
            num_clients: Number of clients N.
            up: Law of the spells in which a client is available, hours.
            down: Law of the spells in which it is not, hours.
            seed: Seed of the draws.
            round_hours: h, hours from one round to the next, above 0.
        """
        self.num_clients = num_clients
        self.up, self.down = up, down
        self.seed = seed
        self._h = round_hours
        self._now, self._first_up, self._block, self._ends = self._started()

    @property
    def stationary(self) -> np.ndarray:
        """Each client's pi, `float64 [N]`."""
        share = self.up.mean / (self.up.mean + self.down.mean)
        return np.full(self.num_clients, share)

    def mask(self, round_number: int) -> np.ndarray:
        now = (round_number - 1) * self._h
        if now < self._now:
            self._now, self._first_up, self._block, self._ends = self._started()
        self._now = now
        over = np.flatnonzero(self._ends[:, -1] <= now)
        while len(over):
            self._block[over] += 1
            lengths = self._lengths(over, self._first_up[over], self._block[over])
            self._ends[over] = self._ends[over, -1:] + np.cumsum(lengths, axis=1)
            over = over[self._ends[over, -1] <= now]
        over_by_now = np.count_nonzero(self._ends <= now, axis=1)
        return self._first_up ^ (over_by_now % 2 == 1)

    def _started(self) -> tuple[float, np.ndarray, np.ndarray, np.ndarray]:
        """Time 0, who is up at that time, the number of each client's block, and its spells' ends.

        A block is `_AHEAD` spells of a client, drawn at once.
        """
        ids = np.arange(self.num_clients)
        whether, length, share = (
            uniforms(self.seed, f"renewal {name}", ids) for name in ("state", "start", "share")
        )
        first_up, block = whether < self.stationary, np.zeros(self.num_clients, np.int64)
        lengths = self._lengths(ids, first_up, block)
        lengths[:, 0] = share * np.where(
            first_up, self.up.length_biased(length), self.down.length_biased(length)
        )
        return 0.0, first_up, block, np.cumsum(lengths, axis=1)

    def _lengths(self, ids: np.ndarray, first_up: np.ndarray, block: np.ndarray) -> np.ndarray:
        """Lengths of the spells in clients' blocks, `float64 [m, _AHEAD]`."""
        spells = block[:, None] * _AHEAD + np.arange(_AHEAD)
        u = uniforms(self.seed, "renewal spells", ids[:, None] + (spells << 32))
        is_up = first_up[:, None] ^ (spells % 2 == 1)
        lengths = np.empty(u.shape)
        lengths[is_up], lengths[~is_up] = self.up.lengths(u[is_up]), self.down.lengths(u[~is_up])
        return lengths


@register(
    "availability",
    "renewal",
    "Renewal",
    about="up and down for spells of heavy-tailed laws, as nine measured systems have them",
    order=28,
)
@dataclass(frozen=True)
class RenewalConfig(AvailabilityConfig):
    """`Renewal` with the laws of a measured system, or of one's own.

    Examples:
        >>> import numpy as np
        >>> from f3ast_tff.availability import RenewalConfig
        >>> process = RenewalConfig(renewal_preset="overnet03").build(np.ones(4) / 4, seed=0)
        >>> process.stationary.round(3).tolist()
        [0.222, 0.222, 0.222, 0.222]
    """

    renewal_preset: str = parameter(
        "skype06",
        "measured system whose Weibull fits are the laws of the spells (Failure Trace Archive)",
        choices=tuple(FITS),
    )
    renewal_up: str | None = parameter(
        None,
        "law of the spells in which a client is available, hours, in place of the preset's: "
        "weibull,SHAPE,SCALE, lognormal,SHAPE,SCALE, gamma,SHAPE,SCALE or exponential,MEAN",
    )
    renewal_down: str | None = parameter(
        None, "law of the spells in which it is not, likewise, in place of the preset's"
    )
    renewal_round_hours: float = parameter(
        1.0, "time from one round to the next", above=0, maximum=1e6, units="hours"
    )

    def build(self, p: np.ndarray, seed: int) -> Renewal:
        up, down = self._laws()
        return Renewal(len(p), up=up, down=down, seed=seed, round_hours=self.renewal_round_hours)

    def _laws(self) -> tuple[SpellLaw, SpellLaw]:
        """The laws of up and of down spells."""
        given = {"renewal_up": self.renewal_up, "renewal_down": self.renewal_down}
        laws: list[SpellLaw] = []
        for (name, text), fitted in zip(given.items(), FITS[self.renewal_preset]):
            try:
                laws.append(fitted if text is None else read_law(text))
            except ValueError as error:
                raise ParameterError(name, text, str(error)) from error
        return laws[0], laws[1]

    def check(self, settings: Settings) -> None:
        up, down = self._laws()
        most = _MOST_CYCLES * (up.mean + down.mean)
        if self.renewal_round_hours > most:
            allowed = f"must be at most {most:.4g} hours, {_MOST_CYCLES} times up and down"
            raise ParameterError("renewal_round_hours", self.renewal_round_hours, allowed)
