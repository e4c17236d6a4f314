"""What an availability process is, and the family of independent ones."""

from __future__ import annotations

from typing import Protocol

import numpy as np

from f3ast_tff.randomness import generator


class AvailabilityProcess(Protocol):
    """Who is reachable in each round: A_t of Sec. III-A, a function of (seed, round) alone.

    Attributes:
        num_clients: Number of clients N.
        positively_correlated: Whether one client being available makes another likelier to be,
            over the rounds; decides the case of eq. (3).
    """

    num_clients: int
    positively_correlated: bool

    def mask(self, round_number: int) -> np.ndarray:
        """Returns who is available in round t (from 1), `bool [N]`."""
        ...


class IndependentAvailability:
    """Clients available independently, client k in round t with probability q_{k,t}.

    A subclass says the probabilities; the draws of a round depend on (seed, round) alone, so
    every algorithm sees the same available sets (reading R13).
    """

    positively_correlated = False

    def __init__(self, q: np.ndarray, seed: int) -> None:
        """Sets the base probabilities.

        Args:
            q: q_k, `float [N]`, each in [0, 1].
            seed: Seed of the draws.

        Raises:
            ValueError: If a probability is not in [0, 1].
        """
        q = np.array(q, np.float64)
        wrong = np.flatnonzero(~((q >= 0) & (q <= 1)))
        if len(wrong):
            raise ValueError(f"q[{wrong[0]}] = {q[wrong[0]]}: must be in [0, 1]")
        q.flags.writeable = False
        self.q = q
        self.seed = seed
        self.num_clients = len(q)

    def probabilities(self, round_number: int) -> np.ndarray:
        """Returns q_{k,t}, `float64 [N]`, in [0, 1]."""
        return self.q

    def mask(self, round_number: int) -> np.ndarray:
        """See `AvailabilityProcess.mask`."""
        draws = generator(self.seed, "availability", round_number).random(self.num_clients)
        return draws < self.probabilities(round_number)
