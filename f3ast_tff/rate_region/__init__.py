"""The region of achievable participation rates (Sec. III-A) and the best rates in it.

Needs only NumPy, except `exact`, which needs SciPy when it is used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from f3ast_tff.core.lazy_names import lazy_names

if TYPE_CHECKING:
    from f3ast_tff.rate_region.exact import (
        Configurations,
        LinearProgramOracle,
        configurations,
        policy_achieving,
        reach,
    )
    from f3ast_tff.rate_region.optimum import (
        Minimum,
        greedy_policy,
        monte_carlo_error,
        optimal_rates,
        policy_for,
    )
    from f3ast_tff.rate_region.oracle import (
        AvailabilityStates,
        IndependentOracle,
        RegionOracle,
        StatesOracle,
        cluster_states,
        independent_states,
        sampled_states,
    )

__all__ = [
    "AvailabilityStates",
    "Configurations",
    "IndependentOracle",
    "LinearProgramOracle",
    "Minimum",
    "RegionOracle",
    "StatesOracle",
    "cluster_states",
    "configurations",
    "greedy_policy",
    "independent_states",
    "monte_carlo_error",
    "optimal_rates",
    "policy_achieving",
    "policy_for",
    "reach",
    "sampled_states",
]

__getattr__, __dir__ = lazy_names(__name__)
