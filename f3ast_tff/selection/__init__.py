"""Selection strategies: availability mask and constraint -> cohort (client ids and weights)."""

from f3ast_tff.selection.all_available import AllAvailable
from f3ast_tff.selection.ca_fed import CAFed
from f3ast_tff.selection.cluster_f3ast import ClusterF3AST
from f3ast_tff.selection.f3ast import F3AST
from f3ast_tff.selection.f3ast_of_ca_fed import F3ASTOfCAFed
from f3ast_tff.selection.feasible import Feasible
from f3ast_tff.selection.fedau import FedAU
from f3ast_tff.selection.fixed_policy import FixedPolicy
from f3ast_tff.selection.longest_absent import LongestAbsent
from f3ast_tff.selection.of_those_present import OfThosePresent
from f3ast_tff.selection.oort_loss import OortLoss
from f3ast_tff.selection.policies import GreedyMixture, Policy, TabularPolicy
from f3ast_tff.selection.power_of_choice import PowerOfChoice
from f3ast_tff.selection.proportional import Proportional
from f3ast_tff.selection.separated import Separated
from f3ast_tff.selection.strategy import (
    BaseStrategy,
    Cohort,
    Losses,
    Outcome,
    Round,
    Strategy,
    asked_once,
    cohort_of,
    no_losses,
)
from f3ast_tff.selection.switching import Switching
from f3ast_tff.selection.unbiased import AdaFed, MoreAvailable, Unbiased
from f3ast_tff.selection.uniform import Uniform

__all__ = [
    "AdaFed",
    "AllAvailable",
    "BaseStrategy",
    "CAFed",
    "F3AST",
    "F3ASTOfCAFed",
    "ClusterF3AST",
    "Cohort",
    "Feasible",
    "FedAU",
    "FixedPolicy",
    "GreedyMixture",
    "LongestAbsent",
    "Losses",
    "MoreAvailable",
    "OfThosePresent",
    "OortLoss",
    "Outcome",
    "Policy",
    "PowerOfChoice",
    "Proportional",
    "Round",
    "Separated",
    "Strategy",
    "Switching",
    "TabularPolicy",
    "Unbiased",
    "Uniform",
    "no_losses",
    "asked_once",
    "cohort_of",
]
