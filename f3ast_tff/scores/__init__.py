"""Further scores: numbers from the clients' own scores, beside means over samples and users."""

from __future__ import annotations

from typing import TYPE_CHECKING

from f3ast_tff.core.lazy_names import lazy_names

if TYPE_CHECKING:
    from f3ast_tff.scores.score_of import ScoreOfConfig as ScoreOfConfig
    from f3ast_tff.scores.seldom import Seldom as Seldom
    from f3ast_tff.scores.spread import Spread as Spread
    from f3ast_tff.scores.worst import Worst as Worst

__getattr__, __dir__ = lazy_names(__name__)
