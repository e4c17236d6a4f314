"""Client and server optimizers for both engines."""

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
