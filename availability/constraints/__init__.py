"""Communication constraints: the sets of available clients that the server can talk to at once."""

from __future__ import annotations

from typing import TYPE_CHECKING

from f3ast_tff.core.lazy_names import lazy_names

if TYPE_CHECKING:
    from .byte_budget import ByteBudget as ByteBudget
    from .constraint import CommunicationConstraint as CommunicationConstraint
    from .constraint import ConstraintConfig as ConstraintConfig
    from .counts import CycleK as CycleK
    from .counts import FixedK as FixedK
    from .counts import HoldK as HoldK
    from .counts import MarkovK as MarkovK
    from .counts import PoissonK as PoissonK
    from .counts import StepsK as StepsK
    from .counts import UniformK as UniformK
    from .group_minimum import GroupMinimum as GroupMinimum
    from .signal import SignalK as SignalK

__getattr__, __dir__ = lazy_names(__name__)
