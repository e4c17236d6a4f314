"""The clients whose score is worst."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from f3ast_tff.scores.score_of import ScoreOfConfig
from f3ast_tff.settings import parameter, register


@register(
    "score_of",
    "worst",
    "Worst clients",
    about="mean over the tenth of the clients whose score is worst",
    order=1,
)
@dataclass(frozen=True)
class Worst(ScoreOfConfig):
    """Mean over the clients whose score is worst, as in q-FedAvg's tables (Li et al., ICLR 2020).

    Each score has its own worst clients. The number of clients is rounded, at least one. NaN if a
    client's score is NaN.

    Examples:
        >>> import numpy as np
        >>> from f3ast_tff.scores import Worst
        >>> means = np.array([0.5, 0.1, 0.9, 0.3])
        >>> Worst(worst_share=0.5).score(means, np.arange(4), higher_is_better=True)
        0.2
    """

    worst_share: float = parameter(
        0.1, "share of the clients with a test example that count as the worst", above=0, maximum=1
    )

    def score(self, means: np.ndarray, ids: np.ndarray, higher_is_better: bool) -> float:
        if np.isnan(means).any():
            return float("nan")
        ordered = np.sort(means if higher_is_better else -means)
        count = max(1, round(self.worst_share * len(means)))
        worst = float(np.mean(ordered[:count]))
        return worst if higher_is_better else -worst
