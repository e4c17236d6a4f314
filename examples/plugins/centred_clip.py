"""A robust aggregate: updates are clipped around the aggregate of the round before.

f3ast-tff run --plugin=centred_clip.py --aggregation=centred_clip --attack=sign_flip

Karimireddy et al. (ICML 2021, arXiv 2012.10333). Delta = v + mean of (v_k - v) min(1, tau /
|v_k - v|), v the last Delta; a wrong update moves it by at most tau / m. Clients can be put into
buckets of s, by chance and anew in each round, of whose means the rule is taken (Karimireddy et
al., ICLR 2022, arXiv 2006.09365). All clients count alike, as weights would give an attacker more.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from f3ast_tff.core.randomness import uniforms
from f3ast_tff.methods.parts.memory import Gathered, Values
from f3ast_tff.methods.parts.method import MethodRules
from f3ast_tff.settings import parameter, register


def bucket_means(gathered: Gathered, size: int, seed: int) -> np.ndarray:
    """Means of the updates of `size` clients each, by an order drawn by seed, round and client."""
    draws = uniforms(seed, "buckets", gathered.ids, gathered.round_number)
    shuffled = gathered.updates[np.argsort(draws)]
    return np.array([shuffled[i : i + size].mean(axis=0) for i in range(0, len(shuffled), size)])


@register("aggregation", "centred_clip", "Centred clip", about="clipped around the last aggregate")
@dataclass(frozen=True)
class CentredClip(MethodRules):
    """The mean of updates clipped around the last aggregate, in buckets."""

    centred_tau: float = parameter(0.5, "tau: largest distance from the last aggregate", above=0)
    bucket_size: int = parameter(1, "s: clients whose mean counts as one update", minimum=1)
    bucket_seed: int = parameter(0, "seed of the buckets", minimum=0)

    # v, the last Delta; 0 at first.
    server_vectors: ClassVar[Mapping[str, str]] = {"last": "zero"}

    @property
    def normalise(self) -> bool:
        """Like a mean, it takes weights of any sum."""
        return True

    def combine_round(self, gathered: Gathered) -> tuple[np.ndarray, Values]:
        """Returns Delta, which is also the centre of the next round."""
        updates = bucket_means(gathered, self.bucket_size, self.bucket_seed)
        centre: np.ndarray = gathered.server["last"]
        off = updates - centre
        norms = np.linalg.norm(off, axis=1)
        clipped = off * (self.centred_tau / np.maximum(norms, self.centred_tau))[:, None]
        delta = centre + clipped.mean(axis=0)
        return delta, {**gathered.server, "last": delta}
