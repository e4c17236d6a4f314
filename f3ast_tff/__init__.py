"""F3AST: federated learning when clients come and go.

Selection, availability, participation rates and the rate region need only NumPy; the exact region
of small systems needs SciPy. Each name is imported on first use.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from f3ast_tff.core.lazy_names import lazy_names

if TYPE_CHECKING:
    from f3ast_tff.advice import advise as advise
    from f3ast_tff.comparison import compare as compare
    from f3ast_tff.core.federated_data import ClientExamples as ClientExamples
    from f3ast_tff.core.federated_data import FederatedData as FederatedData
    from f3ast_tff.core.policies import GreedyMixture as GreedyMixture
    from f3ast_tff.core.policies import TabularPolicy as TabularPolicy
    from f3ast_tff.core.rates import ParticipationRates as ParticipationRates
    from f3ast_tff.core.rates import marginal_utility as marginal_utility
    from f3ast_tff.core.rates import variance_bound as variance_bound
    from f3ast_tff.core.round_constraint import RoundConstraint as RoundConstraint
    from f3ast_tff.methods.cluster_f3ast import ClusterF3AST  # noqa: F401, an old name
    from f3ast_tff.methods.f3ast import F3AST as F3AST
    from f3ast_tff.methods.f3ast_fixed import FixedPolicy as FixedPolicy
    from f3ast_tff.methods.fedavg import FedAvg as FedAvg
    from f3ast_tff.methods.fedavg import Proportional  # noqa: F401, an old name
    from f3ast_tff.methods.fedavg import Uniform as Uniform
    from f3ast_tff.methods.parts.strategy import Cohort as Cohort
    from f3ast_tff.methods.parts.strategy import Outcome as Outcome
    from f3ast_tff.methods.parts.strategy import Round as Round
    from f3ast_tff.methods.parts.strategy import Strategy as Strategy
    from f3ast_tff.methods.power_of_choice import PowerOfChoice as PowerOfChoice
    from f3ast_tff.models.training_function import Trained as Trained
    from f3ast_tff.models.training_function import TrainingFunction as TrainingFunction
    from f3ast_tff.rate_region import IndependentOracle as IndependentOracle
    from f3ast_tff.rate_region import StatesOracle as StatesOracle
    from f3ast_tff.rate_region import greedy_policy as greedy_policy
    from f3ast_tff.rate_region import optimal_rates as optimal_rates
    from f3ast_tff.run.saved_run import SavedRun as SavedRun
    from f3ast_tff.run.saved_run import load_run as load_run
    from f3ast_tff.run.selecting import select_clients as select_clients
    from f3ast_tff.run.selecting import weigh_updates as weigh_updates
    from f3ast_tff.run.trained_model import TrainedModel as TrainedModel
    from f3ast_tff.simulation import Simulation as Simulation
    from f3ast_tff.simulation import simulate as simulate

__version__ = "0.2.0"

__getattr__, __dir__ = lazy_names(__name__)
