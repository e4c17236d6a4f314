"""Attackers that send something else than their update."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from f3ast_tff.attacks.attack import AttackConfig
from f3ast_tff.core.randomness import generator, mixed_words
from f3ast_tff.methods.parts.memory import Client, RoundContext
from f3ast_tff.settings import parameter, register


@dataclass(frozen=True)
class SentConfig(AttackConfig):
    """Base of attacks on what is sent."""

    changes_sent: ClassVar[bool] = True

    attack_scale: float = parameter(
        1.0, "norm of what an attacker sends, over that of its update", above=0, maximum=1e6
    )


@register(
    "attack",
    "sign_flip",
    "Sign flip",
    about="attackers send their update with the other sign, times attack_scale",
    order=1,
)
@dataclass(frozen=True)
class SignFlip(SentConfig):
    """Attackers send - scale v_k in place of v_k.

    Examples:
        >>> import numpy as np
        >>> from f3ast_tff.attacks import SignFlip
        >>> SignFlip(attack_scale=2.0).sent(np.array([1.0, -3.0]), None, None, seed=0).tolist()
        [-2.0, 6.0]
    """

    def sent(self, update: Any, client: Client, now: RoundContext, seed: int) -> Any:
        return -self.attack_scale * update


@register(
    "attack",
    "noise",
    "Noise",
    about="attackers send a random vector as long as their update, times attack_scale",
    order=2,
)
@dataclass(frozen=True)
class Noise(SentConfig):
    """Attackers send scale |v_k| z / |z| in place of v_k, z of independent normal numbers.

    z is drawn by seed, round and client, and is the same in NumPy and JAX up to rounding.

    Examples:
        >>> from f3ast_tff import simulate
        >>> result = simulate(attack="noise", attack_share=0.1, rounds=2, num_clients=20)
        >>> int(result.selection["attacks"].sum())
        2
    """

    def sent(self, update: Any, client: Client, now: RoundContext, seed: int) -> Any:
        xp = now.xp
        z = _normals(len(update), seed, client.id, now)
        lengths = [xp.sqrt(xp.sum(xp.square(vector))) for vector in (update, z)]
        return (self.attack_scale * lengths[0] / lengths[1]) * z


def _normals(number: int, seed: int, client: Any, now: RoundContext) -> Any:
    """Normal numbers of a client in a round, `float32 [number]` (Box and Muller)."""
    xp = now.xp
    start = int(generator(seed, "attack").integers(2**32, dtype=np.uint32))
    # Arrays, as NumPy warns where a single number wraps around.
    word = xp.full(1, start, xp.uint32)
    for index in (now.round_number, client):
        word = mixed_words(word ^ xp.asarray(index, xp.uint32))
    words = mixed_words(mixed_words(xp.arange(2 * number, dtype=xp.uint32)) ^ word)
    # Midpoints of 2^23 equal parts of (0, 1).
    first, second = xp.split(((words >> 9).astype(xp.float32) + 0.5) * xp.float32(2.0**-23), 2)
    return xp.sqrt(-2 * xp.log(first)) * xp.cos(xp.float32(2 * np.pi) * second)
