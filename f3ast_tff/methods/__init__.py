"""Methods, one per file: parameters, selection, weights, and what is remembered.

The interface of strategies is here; a method's own parts are imported from its module.
"""

from f3ast_tff.methods.parts.feasible import Feasible
from f3ast_tff.methods.parts.strategy import (
    BaseStrategy,
    Cohort,
    Losses,
    Outcome,
    Round,
    Strategy,
    cohort_of,
)

__all__ = [
    "BaseStrategy",
    "Cohort",
    "Feasible",
    "Losses",
    "Outcome",
    "Round",
    "Strategy",
    "cohort_of",
]
