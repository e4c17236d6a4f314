"""Local training of each client as one kernel of XLA, for softmax regression on a CPU, newer XLA.

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
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from types import MappingProxyType
from typing import Any, ClassVar

import jax
import jaxlib

from f3ast_tff.core.preprocessing import AsStored
from f3ast_tff.engines.jax.local_sgd import LocalSgd, Trained
from f3ast_tff.models import SoftmaxRegression
from f3ast_tff.optimizers import Sgd

# Versions of JAX (with its XLA) that ran randomly drawn programs: 120 and 419 programs, 60 and 319
# of them with a memory or late updates. JAX 0.10 passes an empty array of draws that no step reads,
# with which XLA aborts.
_TRIED = {"0.12.0", "0.12.0.1"}
_MARK = {"xla_cpu_small_call": "true", "inlineable": "false"}
# Products call no library, which a kernel cannot.
_OPTIONS = {"xla_cpu_experimental_ynn_fusion_type": "", "xla_cpu_multi_thread_eigen": False}
# Largest sizes of products that XLA emits without a library. With more multiplications than the
# last number a library is faster, despite the cost of starting it.
_LONG_SIDE, _SHORT_SIDE, _MOST_MULTIPLICATIONS = 128, 32, 2**16


@dataclass(frozen=True)
class OneKernelSgd(LocalSgd):
    """`LocalSgd` whose steps of a client that trains alone are one kernel."""

    jit_options: ClassVar[Mapping[str, Any]] = MappingProxyType({"compiler_options": _OPTIONS})
    kernels: ClassVar[str] = "one per client"

    def _alone(self, client: Callable[[], Trained]) -> Trained:
        from jax.experimental.xla_metadata import set_xla_metadata

        def unmarked() -> Trained:
            # Calls inside are inlined as usual.
            with set_xla_metadata(**dict.fromkeys(_MARK)):
                return client()

        with set_xla_metadata(**_MARK):
            trained: Trained = jax.jit(unmarked)()
            return trained


def tried() -> bool:
    """Whether this version of JAX, on this processor, ran programs with the mark."""
    return {jax.__version__, jaxlib.__version__} <= _TRIED and platform.machine() == "x86_64"


def fastest(sgd: LocalSgd, batch_size: int, on_cpu: bool) -> LocalSgd:
    """Returns the same local training, as one kernel per client where that is tried and suits.

    Args:
        sgd: Local training.
        batch_size: Examples per step.
        on_cpu: Whether clients train on a CPU one by one, in loops without bounds.
    """
    if not on_cpu or not tried() or not _suits(sgd, batch_size):
        return sgd
    return OneKernelSgd(**{field.name: getattr(sgd, field.name) for field in fields(sgd)})


def _suits(sgd: LocalSgd, batch_size: int) -> bool:
    if sgd.start_loss or sgd.buffers:
        return False
    model, parts = sgd.model, (sgd.model, sgd.preprocessing, sgd.optimizer.optimizer)
    # Exactly these classes, no subclasses: other arithmetic has not been tried.
    if tuple(map(type, parts)) != (SoftmaxRegression, AsStored, Sgd):
        return False
    assert isinstance(model, SoftmaxRegression)
    features, classes = model.num_features, model.num_classes
    return (
        max(features, batch_size) <= _LONG_SIDE
        and classes <= _SHORT_SIDE
        and features * classes * batch_size <= _MOST_MULTIPLICATIONS
    )
