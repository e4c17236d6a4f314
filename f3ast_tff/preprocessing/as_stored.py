"""Features that a model reads as they are stored."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from f3ast_tff.preprocessing.deterministic import NothingDrawn


@dataclass(frozen=True)
class AsStored(NothingDrawn):
    """No change, nothing random."""

    def in_jax(self, features: Any, draws: Any | None) -> Any:
        """See `Inputs.in_jax`."""
        return features

    def in_tf(self, features: Any, draws: Any | None) -> Any:
        """See `Inputs.in_tf`."""
        return features
