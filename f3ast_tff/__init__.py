"""F3AST: federated learning when clients come and go.

The core (this module, `selection`, `availability`, `rates`, `objective`, `rate_region`) needs NumPy
alone, but for the exact region of small systems, which needs SciPy. Every name is imported when it
is asked for.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from f3ast_tff.federated_data import ClientExamples, FederatedData
    from f3ast_tff.objective import marginal_utility, variance_bound
    from f3ast_tff.rate_region import IndependentOracle, StatesOracle, greedy_policy, optimal_rates
    from f3ast_tff.rates import ParticipationRates
    from f3ast_tff.saved_run import SavedRun, load_run
    from f3ast_tff.selection import (
        F3AST,
        ClusterF3AST,
        Cohort,
        Feasible,
        FixedPolicy,
        GreedyMixture,
        PowerOfChoice,
        Proportional,
        Strategy,
        TabularPolicy,
        Uniform,
    )
    from f3ast_tff.simulation import Simulation, simulate

__version__ = "0.1.0"

__all__ = [
    "F3AST",
    "ClientExamples",
    "ClusterF3AST",
    "Cohort",
    "FederatedData",
    "Feasible",
    "FixedPolicy",
    "GreedyMixture",
    "IndependentOracle",
    "ParticipationRates",
    "PowerOfChoice",
    "Proportional",
    "SavedRun",
    "Simulation",
    "StatesOracle",
    "Strategy",
    "TabularPolicy",
    "Uniform",
    "greedy_policy",
    "load_run",
    "marginal_utility",
    "optimal_rates",
    "simulate",
    "variance_bound",
]


# The module of each name; imported when it is asked for, so that a command starts at once.
_MODULES = {
    "ClientExamples": "federated_data",
    "FederatedData": "federated_data",
    "IndependentOracle": "rate_region",
    "ParticipationRates": "rates",
    "SavedRun": "saved_run",
    "Simulation": "simulation",
    "StatesOracle": "rate_region",
    "greedy_policy": "rate_region",
    "load_run": "saved_run",
    "marginal_utility": "objective",
    "optimal_rates": "rate_region",
    "simulate": "simulation",
    "variance_bound": "objective",
}


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module = importlib.import_module(f"{__name__}.{_MODULES.get(name, 'selection')}")
    return getattr(module, name)


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
