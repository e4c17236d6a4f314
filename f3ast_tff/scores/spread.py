"""The spread of the clients' scores: their standard deviation."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from f3ast_tff.scores.score_of import ScoreOfConfig
from f3ast_tff.settings import register


@register(
    "score_of",
    "spread",
    "Spread over clients",
    about="standard deviation of the clients' scores; lower is better",
    order=3,
)
@dataclass(frozen=True)
class Spread(ScoreOfConfig):
    """Standard deviation of the clients' scores, each client counting once; lower is better.

    Examples:
        >>> import numpy as np
        >>> from f3ast_tff.scores import Spread
        >>> Spread().score(np.array([0.25, 0.75]), np.arange(2), higher_is_better=True)
        0.25
    """

    higher_is_better: ClassVar[bool | None] = False

    def score(self, means: np.ndarray, ids: np.ndarray, higher_is_better: bool) -> float:
        return float(np.std(means))
