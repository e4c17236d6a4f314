"""A model's own loss and scores as part of an XLA program."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import jax.numpy as jnp
from jax import lax

from f3ast_tff.engines.jax.local_sgd import label_sums
from f3ast_tff.models.scores import Scoring, Sums


@dataclass(frozen=True, eq=False)
class OwnSums:
    """In place of `CrossEntropy`, for a model that brings a loss or scores.

    Attributes:
        scoring: The loss and the scores.
    """

    scoring: Scoring

    @property
    def names(self) -> tuple[str, ...]:
        """See `CrossEntropy`."""
        return self.scoring.names

    def __call__(self, outputs: Any, labels: Any) -> Sums:
        """Returns the sums; scores are not differentiated."""
        return self.scoring.sums(
            outputs,
            labels,
            xp=jnp,
            dtype=jnp.float32,
            cross_entropy=label_sums,
            detached=lax.stop_gradient,
        )
