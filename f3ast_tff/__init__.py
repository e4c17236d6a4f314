"""F3AST: federated learning when clients come and go.

Selection, availability, participation rates and the rate region need only NumPy; the exact region
of small systems needs SciPy. Each name is imported on first use.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from f3ast_tff.core.lazy_names import lazy_names

if TYPE_CHECKING:
    from f3ast_tff.advice import advise
    from f3ast_tff.core.federated_data import ClientExamples, FederatedData
    from f3ast_tff.core.policies import GreedyMixture, TabularPolicy
    from f3ast_tff.core.rates import ParticipationRates, marginal_utility, variance_bound
    from f3ast_tff.core.round_constraint import RoundConstraint
    from f3ast_tff.methods.cluster_f3ast import ClusterF3AST
    from f3ast_tff.methods.f3ast import F3AST
    from f3ast_tff.methods.f3ast_fixed import FixedPolicy
    from f3ast_tff.methods.fedavg import Proportional, Uniform
    from f3ast_tff.methods.parts.strategy import Cohort, Outcome, Round, Strategy
    from f3ast_tff.methods.power_of_choice import PowerOfChoice
    from f3ast_tff.models.training_function import Trained, TrainingFunction
    from f3ast_tff.rate_region import IndependentOracle, StatesOracle, greedy_policy, optimal_rates
    from f3ast_tff.run.saved_run import SavedRun, load_run
    from f3ast_tff.run.selecting import select_clients, weigh_updates
    from f3ast_tff.run.trained_model import TrainedModel
    from f3ast_tff.simulation import Simulation, compare, simulate

__version__ = "0.2.0"

__all__ = [
    "F3AST",
    "ClientExamples",
    "ClusterF3AST",
    "Cohort",
    "FederatedData",
    "RoundConstraint",
    "FixedPolicy",
    "GreedyMixture",
    "IndependentOracle",
    "Outcome",
    "ParticipationRates",
    "PowerOfChoice",
    "Proportional",
    "Round",
    "SavedRun",
    "Simulation",
    "StatesOracle",
    "Strategy",
    "TabularPolicy",
    "Trained",
    "TrainedModel",
    "TrainingFunction",
    "Uniform",
    "advise",
    "compare",
    "greedy_policy",
    "load_run",
    "marginal_utility",
    "optimal_rates",
    "select_clients",
    "simulate",
    "variance_bound",
    "weigh_updates",
]

__getattr__, __dir__ = lazy_names(__name__)
