"""Client and server optimizers, one a file, for both engines."""

from f3ast_tff.optimizers.adagrad import Adagrad
from f3ast_tff.optimizers.adam import Adam
from f3ast_tff.optimizers.optimizer import Optimizer
from f3ast_tff.optimizers.schedules import Geometric, Inverse, InverseSqrt, Schedule
from f3ast_tff.optimizers.sgd import Sgd
from f3ast_tff.optimizers.yogi import Yogi

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
