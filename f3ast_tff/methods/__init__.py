"""Methods, one per file: parameters, selection, weights and memory.

This package exports the interface of strategies; import a method's parts from its module.
"""

from f3ast_tff.core.round_constraint import RoundConstraint
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
