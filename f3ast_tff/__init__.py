"""F3AST: federated learning when clients come and go.

The core (this module, `selection`, `availability`, `rates`, `objective`, `rate_region`) needs NumPy
alone, but for the exact region of small systems, which needs SciPy; `simulate` and the engines are
imported when asked for.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from f3ast_tff.federated_data import ClientExamples, FederatedData
from f3ast_tff.objective import marginal_utility, variance_bound
from f3ast_tff.rate_region import IndependentOracle, StatesOracle, greedy_policy, optimal_rates
from f3ast_tff.rates import ParticipationRates
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

if TYPE_CHECKING:
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
    "Simulation",
    "StatesOracle",
    "Strategy",
    "TabularPolicy",
    "Uniform",
    "greedy_policy",
    "marginal_utility",
    "optimal_rates",
    "simulate",
    "variance_bound",
]


def __getattr__(name: str) -> Any:
    # Here, so that the core does without what `simulate` needs.
    if name in ("Simulation", "simulate"):
        return getattr(importlib.import_module("f3ast_tff.simulation"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
