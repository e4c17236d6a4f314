"""On-off chains (CA-Fed, App. F3), its four classes and clusters, and FedAU's form."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from f3ast_tff.availability.draws import lean, pieces
from f3ast_tff.availability.process import AvailabilityConfig, numbers, probabilities_checked
from f3ast_tff.availability.turns import Grouped, blocks
from f3ast_tff.core.errors import ParameterError
from f3ast_tff.core.randomness import generator
from f3ast_tff.settings import Reading, parameter, register
from f3ast_tff.settings.configuration import Settings

ORDERS = ("shuffled", "blocks")
CLASSES = ("four", "three")


def least_eigenvalue(pi: np.ndarray) -> np.ndarray:
    """Returns the least lambda_k that a two-state chain with stationary pi_k can have, `[N]`.

    Both entries of eq. (236) that can turn negative, lambda + (1 - lambda) pi and
    1 - (1 - lambda) pi, must be at least 0: lambda >= -min(pi, 1 - pi) / max(pi, 1 - pi).
    """
    return -np.minimum(pi, 1 - pi) / np.maximum(pi, 1 - pi)


class Markov:
    """Independent two-state chains with stationary probability pi_k and eigenvalue lambda_k.

    Eq. (236): from inactive to active with probability a = (1 - lambda) pi, from active to active
    with b = lambda + (1 - lambda) pi. Round 1 is drawn from pi, so every round has that law.
    lambda_k is also the correlation of successive rounds.

    One uniform draw u per client and round moves the chain: it is active next if u < a (was
    inactive) or u < b (was active). A u below both, or above both, makes the past irrelevant. So
    the state at any round t is found backwards, through the draws of rounds t, t - 1, ... until
    each client has such a draw (coupling from the past; after some log N / (1 - |lambda|) rounds),
    or until round 1. The state depends only on (seed, t), not on earlier calls. The last mask is
    remembered only so that the next round costs one draw per client.

    Examples:
        >>> import numpy as np
        >>> from f3ast_tff.availability import Markov
        >>> chains = Markov(np.full(2, 0.5), eigenvalue=np.array([0.9, -1.0]), seed=0)
        >>> [chains.mask(t).astype(int).tolist() for t in (1, 2, 3, 4)]  # 1 alternates.
        [[1, 1], [0, 0], [0, 1], [0, 0]]
    """

    positively_correlated = False
    periodic = False

    def __init__(self, pi: np.ndarray, eigenvalue: np.ndarray, seed: int) -> None:
        """Makes the chains.

        Args:
            pi: pi_k, `float [N]`, each in [0, 1].
            eigenvalue: lambda_k, `float [N]`, each in [`least_eigenvalue(pi)`, 1].
            seed: Seed of the draws.

        Raises:
            ValueError: If a value is not allowed.
        """
        self.pi = probabilities_checked("pi", pi)
        values = lean(np.asarray(eigenvalue))
        if values.shape != self.pi.shape:
            raise ValueError(f"eigenvalue has shape {values.shape}, pi {self.pi.shape}")
        least = least_eigenvalue(self.pi)
        # Tolerance, because rounding may put a bound computed elsewhere just outside.
        wrong = np.flatnonzero(~((values >= least - 1e-6) & (values <= 1)))
        if len(wrong):
            k = wrong[0]
            allowed = f"must be in [{least[k]:.4g}, 1] for pi[{k}] = {self.pi[k]}"
            raise ValueError(f"eigenvalue[{k}] = {values[k]}: {allowed}")
        self.seed = seed
        self.num_clients = len(values)
        self._after_inactive = (1 - values) * self.pi
        self._after_active = values + self._after_inactive
        self._last: tuple[int, np.ndarray] | None = None

    @property
    def stationary(self) -> np.ndarray:
        """pi_k, `float [N]`."""
        return self.pi

    @property
    def eigenvalue(self) -> np.ndarray:
        """lambda_k, `float [N]`."""
        return self._after_active - self._after_inactive

    def mask(self, round_number: int) -> np.ndarray:
        last = self._last
        if last is not None and last[0] == round_number:
            state = last[1]
        elif last is not None and last[0] == round_number - 1:
            state = self._step(round_number, last[1])
        else:
            state = self._from_the_past(round_number)
        self._last = (round_number, state)
        return state.copy()

    def _draws(self, round_number: int) -> Iterator[tuple[slice, np.ndarray]]:
        """The draws u of a round, piece by piece, in the precision of the probabilities."""
        rng = generator(self.seed, "markov", round_number)
        for piece in pieces(self.num_clients):
            yield piece, rng.random(piece.stop - piece.start, self.pi.dtype)

    def _step(self, round_number: int, state: np.ndarray) -> np.ndarray:
        after = np.empty_like(state)
        for piece, u in self._draws(round_number):
            chance = np.where(state[piece], self._after_active[piece], self._after_inactive[piece])
            np.less(u, chance, out=after[piece])
        return after

    def _from_the_past(self, round_number: int) -> np.ndarray:
        state, flipped = np.zeros((2, self.num_clients), bool)
        open_ids = np.arange(self.num_clients)
        for t in range(round_number, 0, -1):
            u = self._draws_of(t, open_ids)
            if t == 1:
                state[open_ids] = (u < self.pi[open_ids]) ^ flipped[open_ids]
                break
            if_inactive = u < self._after_inactive[open_ids]
            if_active = u < self._after_active[open_ids]
            forgets = if_inactive == if_active
            settled = open_ids[forgets]
            state[settled] = if_active[forgets] ^ flipped[settled]
            # Of the unsettled clients, those of negative eigenvalue switch; the rest stay.
            flipped[open_ids[if_inactive & ~if_active]] ^= True
            open_ids = open_ids[~forgets]
            if not len(open_ids):
                break
        return state

    def _draws_of(self, round_number: int, ids: np.ndarray) -> np.ndarray:
        """The draws u of some clients, with increasing ids."""
        found = np.empty(len(ids), self.pi.dtype)
        for piece, u in self._draws(round_number):
            start, stop = np.searchsorted(ids, (piece.start, piece.stop))
            found[start:stop] = u[ids[start:stop] - piece.start]
        return found


@register(
    "availability",
    "four_classes",
    "Four classes",
    about="independent on-off chains, available more or less, of long or short memory (CA-Fed)",
    order=7,
)
@dataclass(frozen=True)
class FourClassesConfig(AvailabilityConfig):
    """Half of the clients more available, pi = 1/2 + g, half less, pi = 1/2 - g (Sec. V-A).

    In the text, one half of each group is correlated in time, lambda = nu. The second half is
    weakly correlated, lambda ~ N(0, eps^2), moved to the nearest value that a chain of its pi can
    have. In the released code no more available client is correlated, which leaves the three
    classes of Fig. 1d (reading R23). The text does not assign clients to classes; the released code
    draws the assignment, as does the order `"shuffled"`.

    Examples:
        >>> import numpy as np
        >>> from f3ast_tff.availability import FourClassesConfig
        >>> config = FourClassesConfig(
        ...     markov_g=0.25, markov_nu=0.9, markov_epsilon=0, markov_order="blocks"
        ... )
        >>> chains = config.build(np.ones(4) / 4, seed=0)
        >>> chains.pi.tolist(), chains.eigenvalue.round(2).tolist()
        ([0.75, 0.75, 0.25, 0.25], [0.9, 0.0, 0.9, 0.0])
    """

    markov_g: float = parameter(
        0.4, "pi is 1/2 + g for half of the clients, else 1/2 - g", minimum=0, maximum=0.5
    )
    markov_nu: float = parameter(
        0.9, "eigenvalue of the clients correlated in time", minimum=0, below=1
    )
    markov_epsilon: float = parameter(0.01, "spread of the other eigenvalues", minimum=0)
    markov_order: str = parameter(
        "shuffled", "classes given to clients at random, or in order of the ids", choices=ORDERS
    )
    markov_classes: str = parameter(
        Reading("R23", paper="four", released="four", ca_fed="three"),
        "four classes; or three, where no client is more available and correlated",
        choices=CLASSES,
    )

    def build(self, p: np.ndarray, seed: int) -> Markov:
        _, pi, eigenvalue = self.draw(len(p), seed)
        return Markov(pi, eigenvalue, seed)

    def draw(self, num_clients: int, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Draws the chains.

        Returns:
            The class of each client, `int64 [N]`: 0 more available and correlated, 1 more available
            and weakly correlated, 2 less available and correlated, 3 less available and weakly
            correlated. Classes are quarters of N; if N is not a multiple of 4, the first are larger
            by one. With three classes, class 1 also has the clients of class 0. Then pi_k and
            lambda_k, `float64 [N]`.
        """
        rng = generator(seed, "four_classes")
        client_class = np.sort(np.arange(num_clients) % 4)
        if self.markov_order == "shuffled":
            client_class = rng.permutation(client_class)
        if self.markov_classes == "three":
            client_class = np.where(client_class == 0, 1, client_class)
        pi = np.where(client_class < 2, 0.5 + self.markov_g, 0.5 - self.markov_g)
        weak = rng.normal(0, self.markov_epsilon, num_clients)
        weak = np.clip(weak, least_eigenvalue(pi), 1)
        return client_class, pi, np.where(client_class % 2 == 0, self.markov_nu, weak)


@register(
    "availability",
    "markov_clusters",
    "Markov clusters",
    about="whole clusters on and off together, each an on-off chain (CA-Fed)",
    order=8,
)
@dataclass(frozen=True)
class MarkovClustersConfig(AvailabilityConfig):
    """Each cluster, a block of ids, follows one chain of `Markov` (Sec. V-B, paragraph e).

    Default clusters 0..4 are more available and without memory. Default clusters c = 5..9 are less
    available and have lambda = c / 10.

    Examples:
        >>> import numpy as np
        >>> from f3ast_tff.availability import MarkovClustersConfig
        >>> config = MarkovClustersConfig(cluster_pi="0.9,0.5", cluster_eigenvalues="0,0")
        >>> process = config.build(np.ones(4) / 4, seed=1)
        >>> [np.flatnonzero(process.mask(t)).tolist() for t in (1, 2, 3, 4)]
        [[0, 1], [0, 1, 2, 3], [0, 1], [0, 1]]
    """

    positively_correlated: ClassVar[bool] = Grouped.positively_correlated

    cluster_pi: str = parameter(
        "0.9,0.9,0.9,0.9,0.9,0.1,0.1,0.1,0.1,0.1", "pi of each cluster, separated by commas"
    )
    cluster_eigenvalues: str = parameter(
        "0,0,0,0,0,0.5,0.6,0.7,0.8,0.9", "lambda of each cluster, separated by commas"
    )

    def build(self, p: np.ndarray, seed: int) -> Grouped:
        pi = numbers("cluster_pi", self.cluster_pi)
        eigenvalue = numbers("cluster_eigenvalues", self.cluster_eigenvalues)
        try:
            if len(pi) != len(eigenvalue):
                raise ValueError(f"must be as many values as cluster_pi has, {len(pi)}")
            chains = Markov(np.array(pi), np.array(eigenvalue), seed)
        except ValueError as error:
            name, value = "cluster_eigenvalues", self.cluster_eigenvalues
            raise ParameterError(name, value, str(error)) from error
        return Grouped(chains, blocks(len(p), len(pi)))

    def check(self, settings: Settings) -> None:
        self.build(np.ones(1), seed=0)


@dataclass(frozen=True)
class TransitionConfig(AvailabilityConfig):
    """Base of chains given by their largest transition probability (FedAU, arXiv 2306.03401)."""

    transition_largest: float = parameter(
        0.05, "largest probability to turn from inactive to active", above=0, maximum=1
    )

    def chains(self, pi: np.ndarray, seed: int) -> Markov:
        """Returns the chains of stationary probabilities pi_k, `float [N]`.

        A chain turns active with probability a = `transition_largest` and inactive with
        b = a (1 / pi - 1), so that a / (a + b) = pi. If b would exceed 1, both are divided by b:
        then b = 1, a = pi / (1 - pi). As a + b = a / pi, lambda = 1 - a - b is
        max(1 - a / pi, -pi / (1 - pi)).
        """
        with np.errstate(divide="ignore"):
            eigenvalue = np.maximum(1 - self.transition_largest / pi, -pi / (1 - pi))
        return Markov(pi, eigenvalue, seed)


@register(
    "availability",
    "markov_transition",
    "Markov",
    about="independent on-off chains with one pi, by their largest transition probability (FedAU)",
    order=18,
)
@dataclass(frozen=True)
class MarkovTransitionConfig(TransitionConfig):
    """Chains of one pi.

    Examples:
        >>> import numpy as np
        >>> from f3ast_tff.availability import MarkovTransitionConfig
        >>> config = MarkovTransitionConfig(transition_pi=0.1, transition_largest=0.05)
        >>> chains = config.build(np.ones(2) / 2, seed=0)
        >>> chains.eigenvalue.round(2).tolist()  # 1 - 0.05 / 0.1
        [0.5, 0.5]
    """

    transition_pi: float = parameter(
        0.1, "pi, long-run availability of every client", minimum=0, maximum=1
    )

    def build(self, p: np.ndarray, seed: int) -> Markov:
        return self.chains(np.full(len(p), self.transition_pi), seed)
