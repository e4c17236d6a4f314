"""Markov: each client is an independent on-off chain (CA-Fed, App. F3)."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from f3ast_tff.availability.draws import lean, pieces
from f3ast_tff.availability.process import probabilities_checked
from f3ast_tff.core.randomness import generator


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
        """See `AvailabilityProcess.mask`."""
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
