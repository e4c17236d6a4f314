"""The local steps of a small model as one kernel, for the CPU runtime of newer XLA.

Since JAX 0.4.32 this runtime starts each fusion of a program by itself. A local step of softmax
regression has some 20; starting them takes as long as their work. XLA makes one kernel of a whole
loop only if the loop is tiny and has no matrix product (its `SmallWhileLoopHoistingPass`). So the
loop is put in a call with the mark of that pass. Products inside must then need neither YNNPACK
nor a pool of threads. With the same arithmetic the results stay the same.

The mark is no public interface, hence `_VERSIONS`; other versions start every fusion by itself.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

import jax

# Versions of JAX in which the mark has been tried.
_VERSIONS = ((0, 10), (0, 11), (0, 12))
_MARK = {"xla_cpu_small_call": "true", "inlineable": "false"}
# Products up to these sizes are emitted too: terms of a sum, and the sides of the result. With more
# multiplications than the last a library is faster, whatever its start costs.
_LONGEST_SUM, _SHORT_SIDE, _LONG_SIDE, _MOST_MULTIPLICATIONS = 128, 32, 128, 2**16
# XLA emits these into one kernel, unlike those that it leaves to a library, such as convolutions.
_EMITTED = """
    abs add add_any and broadcast_in_dim clamp concatenate convert_element_type copy custom_jvp_call
    div eq exp expm1 gather ge gt integer_pow iota is_finite jit le log log1p logistic lt max min
    mul ne neg not or pad pjit pow reduce_max reduce_min reduce_sum reshape rsqrt select_n sign
    slice sqrt square squeeze stop_gradient sub tanh transpose
"""


def is_known(platform: str) -> bool:
    """Whether this JAX has a runtime that starts every fusion, and is known to take the mark."""
    return platform == "cpu" and jax.__version_info__[:2] in _VERSIONS


def fits(step: Callable[..., Any], *arguments: Any) -> bool:
    """Whether XLA can emit a step into one kernel, its products included.

    Args:
        step: A function of arrays.
        *arguments: Arrays, or their shapes and types.
    """
    emitted = {*_EMITTED.split(), "dot_general"}
    return all(
        equation.primitive.name in emitted
        and (equation.primitive.name != "dot_general" or _is_small_product(equation))
        for equation in _equations(jax.make_jaxpr(step)(*arguments).jaxpr)
    )


def _is_small_product(equation: Any) -> bool:
    (contracted, _), (batch, _) = equation.params["dimension_numbers"]
    left, result = equation.invars[0].aval, equation.outvars[0].aval
    if batch or left.ndim != 2 or result.ndim != 2 or len(contracted) != 1:
        return False
    short, long = sorted(result.shape)
    terms = left.shape[contracted[0]]
    small = terms <= _LONGEST_SUM and short <= _SHORT_SIDE and long <= _LONG_SIDE
    return bool(small and terms * result.size <= _MOST_MULTIPLICATIONS)


def compiler_options() -> dict[str, Any]:
    """Returns keyword arguments of `jax.jit` for a program with such a kernel."""
    options = {"xla_cpu_experimental_ynn_fusion_type": "", "xla_cpu_multi_thread_eigen": False}
    return {"compiler_options": options}


def called(loop: Callable[..., Any], *arguments: Any) -> Any:
    """Returns what a loop returns, as one kernel of the program that is traced."""

    def unmarked(*arguments: Any) -> Any:
        # Calls inside are inlined as usual.
        with _metadata(dict.fromkeys(_MARK)):
            return loop(*arguments)

    with _metadata(_MARK):
        return jax.jit(unmarked)(*arguments)


@contextlib.contextmanager
def _metadata(values: dict[str, Any]) -> Iterator[None]:
    from jax.experimental.xla_metadata import set_xla_metadata

    with set_xla_metadata(**values):
        yield


def _equations(jaxpr: Any) -> Iterator[Any]:
    """The equations of a program, with those of the programs that it calls."""
    for equation in jaxpr.eqns:
        yield equation
        for value in equation.params.values():
            inner = getattr(value, "jaxpr", value)
            if hasattr(inner, "eqns"):
                yield from _equations(inner)
