"""Client and server optimizers for both engines."""

from __future__ import annotations

from typing import TYPE_CHECKING

from f3ast_tff.core.lazy_names import lazy_names

if TYPE_CHECKING:
    from f3ast_tff.core.schedules import Geometric, Inverse, InverseSqrt, Schedule
    from f3ast_tff.optimizers.adaptive import Adagrad, Adam, Yogi
    from f3ast_tff.optimizers.optimizer import Optimizer
    from f3ast_tff.optimizers.sgd import Sgd

__all__ = [
    "Adagrad",
    "Adam",
    "Geometric",
    "Inverse",
    "InverseSqrt",
    "Optimizer",
    "Schedule",
    "Sgd",
    "Yogi",
]

__getattr__, __dir__ = lazy_names(__name__)
