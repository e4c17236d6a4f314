"""Communication constraints: which of the available clients the server can talk to at once."""

from .byte_budget import ByteBudget
from .constraint import CommunicationConstraint, ConstraintConfig, constraint_from_text
from .counts import FixedK, MarkovK, PoissonK, Schedule, Steps, UniformK
from .group_minimum import GroupMinimum
from .signal import Signal

__all__ = [
    "ByteBudget",
    "CommunicationConstraint",
    "ConstraintConfig",
    "FixedK",
    "GroupMinimum",
    "MarkovK",
    "PoissonK",
    "Schedule",
    "Signal",
    "Steps",
    "UniformK",
    "constraint_from_text",
]
