"""Methods, one per file: parameters, selection, weights and memory.

The interface of strategies is here; a method's own parts are imported from its module.
"""

from f3ast_tff.methods.parts.constraint import RoundConstraint
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
    "RoundConstraint",
    "Losses",
    "Outcome",
    "Round",
    "Strategy",
    "cohort_of",
]
