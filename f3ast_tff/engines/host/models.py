"""The models that the host engine trains, each with its local work."""

from __future__ import annotations

from f3ast_tff.core.errors import ParameterError
from f3ast_tff.engines.engine import EngineParts
from f3ast_tff.engines.host.functions import FunctionWork
from f3ast_tff.engines.host.local_work import LocalWork
from f3ast_tff.engines.host.lockstep import Lockstep
from f3ast_tff.models import SoftmaxRegression, TrainingFunction
from f3ast_tff.models.trained_leaves import TrainedLeaves


def local_work_of(parts: EngineParts) -> LocalWork:
    """Returns the local training of a composition.

    Raises:
        ParameterError: If the model or its preprocessing has no form in NumPy.
    """
    model, preprocessing, memory = parts.model, parts.preprocessing, parts.aggregation.memory
    if not hasattr(preprocessing, "in_numpy"):
        allowed = f"must be another: {type(preprocessing).__name__} defines no in_numpy"
        raise ParameterError("engine", "host", allowed)
    if isinstance(model, TrainedLeaves):
        from f3ast_tff.engines.host.trained_part import part_work

        return part_work(parts, model, local_work_of)
    last_step = memory is not None and memory.last_step
    if isinstance(model, SoftmaxRegression) and parts.scoring and parts.scoring.loss:
        name = type(model).__name__
        allowed = (
            f"must be fused: host trains {name} by cross-entropy, and it has a loss of its own"
        )
        raise ParameterError("engine", "host", allowed)
    if isinstance(model, SoftmaxRegression):
        return Lockstep(parts, model, last_step)
    if isinstance(model, TrainingFunction):
        return FunctionWork(parts, model, model.initial_weights(parts.seed))
    allowed = (
        f"must be fused: the model {type(model).__name__} is in JAX; host trains "
        "softmax_regression and training functions"
    )
    raise ParameterError("engine", "host", allowed)
