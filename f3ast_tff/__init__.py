"""F3AST: federated learning when clients come and go.

The core (this module, `selection`, `rates`, `objective`) needs NumPy alone; engines are imported
when asked for.
"""

from f3ast_tff.federated_data import ClientExamples, FederatedData
from f3ast_tff.objective import marginal_utility, variance_bound
from f3ast_tff.rates import ParticipationRates
from f3ast_tff.selection import F3AST, Cohort, PowerOfChoice, Proportional, Strategy

__version__ = "0.1.0"

__all__ = [
    "F3AST",
    "ClientExamples",
    "Cohort",
    "FederatedData",
    "ParticipationRates",
    "PowerOfChoice",
    "Proportional",
    "Strategy",
    "marginal_utility",
    "variance_bound",
]
