"""Communication constraints: the sets of available clients that the server can talk to at once."""

from .byte_budget import ByteBudget
from .constraint import CommunicationConstraint, ConstraintConfig
from .counts import CycleK, FixedK, HoldK, MarkovK, PoissonK, StepsK, UniformK
from .group_minimum import GroupMinimum
from .signal import SignalK

__all__ = [
    "ByteBudget",
    "CommunicationConstraint",
    "ConstraintConfig",
    "CycleK",
    "FixedK",
    "GroupMinimum",
    "HoldK",
    "MarkovK",
    "PoissonK",
    "SignalK",
    "StepsK",
    "UniformK",
]
