"""Clients clip their updates to a norm; with noise on the server, client-level privacy.

f3ast-tff run --plugin=clipped_updates.py --aggregation=clipped_updates

McMahan et al. (ICLR 2018). Delta is the sum of w_k v_k over the cohort, |v_k| at most C and w_k at
most B, plus N(0, (z B C)^2). One client moves the sum by at most B C: weights p_k / r_k, which grow
as 1 / r_k, raise this sensitivity, so that larger ones are cut to B.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from f3ast_tff.core.randomness import generator
from f3ast_tff.methods.parts.aggregation import Aggregation
from f3ast_tff.methods.parts.memory import Client, ClientLosses, Memory, RoundContext, Values
from f3ast_tff.settings import parameter, register


@dataclass(frozen=True)
class ClipAndNoise(Memory):
    """v_k min(1, C / |v_k|) with weight min(w_k, B); the server adds noise.

    Attributes:
        clip: C.
        largest_weight: B.
        multiplier: z.
        seed: Seed of the noise, drawn anew each round; secret where privacy matters.
    """

    clip: float
    largest_weight: float
    multiplier: float
    seed: int

    def message(
        self, client: Client, update: Any, losses: ClientLosses, now: RoundContext
    ) -> tuple[Any, Any]:
        """The clipped update, and the factor of its weight."""
        norm = now.xp.sqrt(now.xp.sum(update**2))
        most = self.largest_weight
        factor = most / now.xp.maximum(client.weight, most)
        return update * (self.clip / now.xp.maximum(norm, self.clip)), factor

    def aggregated(self, delta: Any, server: Values, now: RoundContext) -> Any:
        """Adds the noise; engines with JAX draw other numbers than those with NumPy."""
        if not self.multiplier:
            return delta
        deviation = self.multiplier * self.largest_weight * self.clip
        return delta + deviation * self._normals(len(delta), now)

    def _normals(self, number: int, now: RoundContext) -> Any:
        if now.xp is np:
            rng = generator(self.seed, "noise of the server", int(now.round_number))
            return rng.standard_normal(number, np.float32)
        import jax

        key = jax.random.fold_in(jax.random.PRNGKey(self.seed), now.round_number)
        return jax.random.normal(key, (number,))


@register("aggregation", "clipped_updates", "Clipped updates", about="sum of clipped updates")
@dataclass(frozen=True)
class ClippedUpdates(Aggregation):
    """The sum of clipped updates, whose weights have a bound, plus noise."""

    clip_update: float = parameter(1.0, "C: largest norm of an update", above=0)
    largest_weight: float = parameter(1.0, "B: largest weight of an update", above=0)
    noise_multiplier: float = parameter(0.0, "z: deviation of the noise over B C", minimum=0)
    noise_seed: int = parameter(0, "seed of the noise", minimum=0)

    @property
    def memory(self) -> ClipAndNoise:
        """The message, and the server's noise."""
        return ClipAndNoise(
            self.clip_update, self.largest_weight, self.noise_multiplier, self.noise_seed
        )
