"""JAX's devices by name, and their arithmetic."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import Any

import jax

from f3ast_tff.core.errors import ParameterError
from f3ast_tff.engines.xla_flags import has_deterministic_ops


def find_device(name: str) -> jax.Device:
    """Returns the first device of a kind; `"auto"` leaves the choice to JAX.

    Raises:
        ParameterError: If JAX sees no such device.
    """
    try:
        return jax.devices(None if name == "auto" else name)[0]
    except RuntimeError as error:
        raise ParameterError("device", name, f"JAX sees no such device ({error})") from error


def is_deterministic(device: jax.Device, environment: Mapping[str, str]) -> bool:
    """Whether two runs of a program agree bit for bit: always on a CPU, else by `XLA_FLAGS`."""
    return device.platform == "cpu" or has_deterministic_ops(environment.get("XLA_FLAGS", ""))


def at_precision(precision: str, function: Callable[..., Any]) -> Callable[..., Any]:
    """Returns a function that JAX traces with a precision of matrix products.

    Args:
        precision: `"highest"` or `"tensorfloat32"`; a product with an explicit precision keeps it.
        function: Function to be traced by JAX.
    """
    # Versions of JAX differ in whether the context manager knows the name `highest`.
    name = "float32" if precision == "highest" else precision

    @functools.wraps(function)
    def traced(*arguments: Any, **named: Any) -> Any:
        with jax.default_matmul_precision(name):
            return function(*arguments, **named)

    return traced
