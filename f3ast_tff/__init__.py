"""F3AST: federated learning when clients come and go.

Selection, availability, participation rates and the rate region need only NumPy; the exact region
of small systems needs SciPy. Each name is imported on first use.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from f3ast_tff.advice import advise
    from f3ast_tff.core.federated_data import ClientExamples, FederatedData
    from f3ast_tff.methods.cluster_f3ast import ClusterF3AST
    from f3ast_tff.methods.f3ast import F3AST
    from f3ast_tff.methods.f3ast_fixed import FixedPolicy
    from f3ast_tff.methods.fedavg import Proportional, Uniform
    from f3ast_tff.methods.parts.constraint import RoundConstraint
    from f3ast_tff.methods.parts.policies import GreedyMixture, TabularPolicy
    from f3ast_tff.methods.parts.rates import ParticipationRates, marginal_utility, variance_bound
    from f3ast_tff.methods.parts.strategy import Cohort, Outcome, Round, Strategy
    from f3ast_tff.methods.power_of_choice import PowerOfChoice
    from f3ast_tff.rate_region import IndependentOracle, StatesOracle, greedy_policy, optimal_rates
    from f3ast_tff.run.saved_run import SavedRun, load_run
    from f3ast_tff.run.selecting import select_clients, weigh_updates
    from f3ast_tff.run.simulation import Simulation, compare, simulate

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


# The module of each name; imported on first use, so that a command starts at once.
_MODULES = {
    "ClientExamples": "core.federated_data",
    "ClusterF3AST": "methods.cluster_f3ast",
    "Cohort": "methods.parts.strategy",
    "F3AST": "methods.f3ast",
    "RoundConstraint": "methods.parts.constraint",
    "FederatedData": "core.federated_data",
    "FixedPolicy": "methods.f3ast_fixed",
    "GreedyMixture": "methods.parts.policies",
    "IndependentOracle": "rate_region",
    "Outcome": "methods.parts.strategy",
    "ParticipationRates": "methods.parts.rates",
    "PowerOfChoice": "methods.power_of_choice",
    "Proportional": "methods.fedavg",
    "Round": "methods.parts.strategy",
    "SavedRun": "run.saved_run",
    "Simulation": "run.simulation",
    "StatesOracle": "rate_region",
    "Strategy": "methods.parts.strategy",
    "TabularPolicy": "methods.parts.policies",
    "Uniform": "methods.fedavg",
    "advise": "advice",
    "compare": "run.simulation",
    "greedy_policy": "rate_region",
    "load_run": "run.saved_run",
    "marginal_utility": "methods.parts.rates",
    "optimal_rates": "rate_region",
    "select_clients": "run.selecting",
    "simulate": "run.simulation",
    "variance_bound": "methods.parts.rates",
    "weigh_updates": "run.selecting",
}


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module = importlib.import_module(f"{__name__}.{_MODULES[name]}")
    return getattr(module, name)


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
