"""Client and server optimizers for both engines."""

from __future__ import annotations

from typing import TYPE_CHECKING

from f3ast_tff.core.lazy_names import lazy_names

if TYPE_CHECKING:
    from f3ast_tff.core.schedules import Geometric as Geometric
    from f3ast_tff.core.schedules import Inverse as Inverse
    from f3ast_tff.core.schedules import InverseSqrt as InverseSqrt
    from f3ast_tff.core.schedules import Schedule as Schedule
    from f3ast_tff.optimizers.adaptive import Adagrad as Adagrad
    from f3ast_tff.optimizers.adaptive import Adam as Adam
    from f3ast_tff.optimizers.adaptive import Yogi as Yogi
    from f3ast_tff.optimizers.optimizer import Optimizer as Optimizer
    from f3ast_tff.optimizers.sgd import Sgd as Sgd

__getattr__, __dir__ = lazy_names(__name__)
