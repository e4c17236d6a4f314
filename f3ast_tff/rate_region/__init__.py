"""The region of achievable participation rates (Sec. III-A) and the best rates in it.

Needs only NumPy, except `exact`, which needs SciPy when it is used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from f3ast_tff.core.lazy_names import lazy_names

if TYPE_CHECKING:
    from f3ast_tff.rate_region.exact import Configurations as Configurations
    from f3ast_tff.rate_region.exact import LinearProgramOracle as LinearProgramOracle
    from f3ast_tff.rate_region.exact import configurations as configurations
    from f3ast_tff.rate_region.exact import policy_achieving as policy_achieving
    from f3ast_tff.rate_region.exact import reach as reach
    from f3ast_tff.rate_region.optimum import Minimum as Minimum
    from f3ast_tff.rate_region.optimum import greedy_policy as greedy_policy
    from f3ast_tff.rate_region.optimum import monte_carlo_error as monte_carlo_error
    from f3ast_tff.rate_region.optimum import optimal_rates as optimal_rates
    from f3ast_tff.rate_region.optimum import policy_for as policy_for
    from f3ast_tff.rate_region.oracle import AvailabilityStates as AvailabilityStates
    from f3ast_tff.rate_region.oracle import IndependentOracle as IndependentOracle
    from f3ast_tff.rate_region.oracle import RegionOracle as RegionOracle
    from f3ast_tff.rate_region.oracle import StatesOracle as StatesOracle
    from f3ast_tff.rate_region.oracle import cluster_states as cluster_states
    from f3ast_tff.rate_region.oracle import independent_states as independent_states
    from f3ast_tff.rate_region.oracle import sampled_states as sampled_states

__getattr__, __dir__ = lazy_names(__name__)
