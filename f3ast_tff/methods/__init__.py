"""Methods, one per file: parameters, selection, weights and memory.

This package exports the interface of strategies; import a method's parts from its module.
"""

from f3ast_tff.core.round_constraint import RoundConstraint as RoundConstraint
from f3ast_tff.methods.parts.strategy import BaseStrategy as BaseStrategy
from f3ast_tff.methods.parts.strategy import Cohort as Cohort
from f3ast_tff.methods.parts.strategy import Losses as Losses
from f3ast_tff.methods.parts.strategy import Outcome as Outcome
from f3ast_tff.methods.parts.strategy import Round as Round
from f3ast_tff.methods.parts.strategy import Strategy as Strategy
from f3ast_tff.methods.parts.strategy import cohort_of as cohort_of
