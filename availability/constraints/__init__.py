"""Communication constraints: the sets of available clients that the server can talk to at once."""

from __future__ import annotations

from typing import TYPE_CHECKING

from f3ast_tff.core.lazy_names import lazy_names

if TYPE_CHECKING:
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

__getattr__, __dir__ = lazy_names(__name__)
