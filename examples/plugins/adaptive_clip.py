"""Clients clip their updates to a norm that follows a quantile of the norms, round by round.

f3ast-tff run --plugin=adaptive_clip.py --algorithm=fedavg --aggregation=adaptive_clip

Andrew et al. (NeurIPS 2021, arXiv 1905.03871). The server sends C, clients send v_k min(1, C /
|v_k|), and C becomes C exp(-eta (b - gamma)), b the share of the round's clients with |v_k| below
C. Without the paper's noise on b and on the sum it is no privacy.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from f3ast_tff.methods.parts.memory import Client, ClientLosses, Gathered, RoundContext, Values
from f3ast_tff.methods.parts.method import MethodRules
from f3ast_tff.settings import parameter, register


@register("aggregation", "adaptive_clip", "Adaptive clip", about="mean of clipped updates")
@dataclass(frozen=True)
class AdaptiveClip(MethodRules):
    """The weighted mean of updates clipped to C, which the server keeps."""

    first_clip: float = parameter(0.1, "C of round 1", above=0)
    clip_quantile: float = parameter(
        0.5, "gamma: share of the updates that should be shorter than C", minimum=0, maximum=1
    )
    clip_rate: float = parameter(0.2, "eta: how fast C follows", minimum=0)

    @property
    def normalise(self) -> bool:
        """Like a mean, it takes weights of any sum."""
        return True

    @property
    def server_numbers(self) -> Mapping[str, float]:
        """C, as `clip`."""
        return {"clip": self.first_clip}

    def message(
        self, client: Client, update: Any, losses: ClientLosses, now: RoundContext
    ) -> tuple[Any, Any]:
        """Returns the clipped update; the client's weight stays."""
        clip = now.server["clip"]
        norm = now.xp.sqrt(now.xp.sum(update**2))
        return update * (clip / now.xp.maximum(norm, clip)), 1.0

    def combine_round(self, gathered: Gathered) -> tuple[np.ndarray, Values]:
        """Returns the mean, and C of the next round."""
        clip = float(gathered.server["clip"])
        # A clipped update has norm C up to rounding.
        shorter = np.linalg.norm(gathered.updates, axis=1) < clip * (1 - 1e-5)
        clip *= float(np.exp(-self.clip_rate * (shorter.mean() - self.clip_quantile)))
        mean = gathered.weights @ gathered.updates / gathered.weights.sum()
        return mean, {**gathered.server, "clip": clip}
