"""Local training as one kernel of XLA, for softmax regression on a CPU, newer XLA.

Since JAX 0.4.32 XLA's CPU runtime starts each fusion of a program separately. A local step of
softmax regression has some 20 fusions, and starting them takes as long as their work. A pass of
XLA (`SmallWhileLoopHoistingPass`) turns a loop whose step touches less than 1 kB into one kernel,
by a call with a mark. Here larger loops get that mark.

XLA aborts the process if the marked function has a non-constant parameter that it no longer reads
after simplification. So `suits` admits only programs that read every parameter in every step. The
mark is no public interface; with other versions of JAX every fusion is started separately.
"""

from __future__ import annotations

import platform
from collections.abc import Callable
from typing import Any

import jax
import jaxlib

from f3ast_tff.core.preprocessing import AsStored, Preprocessing
from f3ast_tff.models import Model, SoftmaxRegression
from f3ast_tff.optimizers import Optimizer, Sgd

# Versions of JAX (with its XLA) that ran randomly drawn programs: 120 and 419 programs, 60 and 319
# of them with a memory or late updates. JAX 0.10 passes an empty array of draws that no step reads,
# with which XLA aborts.
_TRIED = {"0.12.0", "0.12.0.1"}
_MARK = {"xla_cpu_small_call": "true", "inlineable": "false"}
# Largest sizes of products that XLA emits without a library. With more multiplications than the
# last number a library is faster, despite the cost of starting it.
_LONG_SIDE, _SHORT_SIDE, _MOST_MULTIPLICATIONS = 128, 32, 2**16


def suits(
    model: Model, preprocessing: Preprocessing, optimizer: Optimizer, batch_size: int
) -> bool:
    """Whether clients train in one kernel; only local training decides.

    Args:
        model: The network.
        preprocessing: Function from features to model input.
        optimizer: Optimizer of the local steps.
        batch_size: Examples per step.
    """
    versions = {jax.__version__, jaxlib.__version__}
    if not versions <= _TRIED or platform.machine() != "x86_64":
        return False
    # Exactly these classes, no subclasses: other arithmetic has not been tried.
    if (type(model), type(preprocessing), type(optimizer)) != (SoftmaxRegression, AsStored, Sgd):
        return False
    assert isinstance(model, SoftmaxRegression)
    features, classes = model.num_features, model.num_classes
    return (
        max(features, batch_size) <= _LONG_SIDE
        and classes <= _SHORT_SIDE
        and features * classes * batch_size <= _MOST_MULTIPLICATIONS
    )


def jit_options() -> dict[str, Any]:
    """Returns arguments of `jax.jit` for a program with this kernel: products call no library."""
    options = {"xla_cpu_experimental_ynn_fusion_type": "", "xla_cpu_multi_thread_eigen": False}
    return {"compiler_options": options}


def called(function: Callable[[], Any]) -> Any:
    """Calls a function as one kernel of the traced program; returns its result."""
    from jax.experimental.xla_metadata import set_xla_metadata

    def unmarked() -> Any:
        # Calls inside are inlined as usual.
        with set_xla_metadata(**dict.fromkeys(_MARK)):
            return function()

    with set_xla_metadata(**_MARK):
        return jax.jit(unmarked)()
