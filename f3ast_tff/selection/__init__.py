"""Selection strategies: availability mask and K_t -> cohort (client ids and weights)."""

from f3ast_tff.selection.cohort import Cohort
from f3ast_tff.selection.f3ast import F3AST
from f3ast_tff.selection.power_of_choice import PowerOfChoice
from f3ast_tff.selection.proportional import Proportional
from f3ast_tff.selection.strategy import Losses, Strategy

__all__ = ["F3AST", "Cohort", "Losses", "PowerOfChoice", "Proportional", "Strategy"]
