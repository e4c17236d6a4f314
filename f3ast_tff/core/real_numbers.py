"""Arrays of real numbers, also of types that NumPy knows only with `ml_dtypes`, as bfloat16."""

from __future__ import annotations

from typing import Any

import numpy as np

from f3ast_tff.core.errors import ParameterError


def is_real(dtype: np.dtype[Any]) -> bool:
    """Returns whether a type is of real numbers: truth values, integers or floating-point numbers.

    Examples:
        >>> import numpy as np
        >>> from f3ast_tff.core.real_numbers import is_real
        >>> [is_real(np.dtype(each)) for each in ("int8", "float16", "complex64", "V2", "object")]
        [True, True, False, False, False]
    """
    # bfloat16 has the kind of raw bytes, which do not cast to numbers.
    return dtype.kind in "biuf" or dtype.kind == "V" and bool(np.can_cast(dtype, np.float32))


def as_floats(values: np.ndarray) -> np.ndarray:
    """Returns real numbers in a type in which a difference neither wraps nor overflows early.

    Args:
        values: Real numbers; `float32` and wider floating-point numbers are returned as they are,
            shorter ones as `float32`, others as `float64`.
    """
    if values.dtype.kind in "biu":
        return values.astype(np.float64)
    return values.astype(np.float32) if values.dtype.itemsize < 4 else values


def start_in_float32(model: str, what: str, weight: Any) -> np.ndarray:
    """Returns an array of the weights that a model starts from, `float32`.

    Raises:
        ParameterError: If its numbers are no floating-point numbers, or not finite in `float32`.
    """
    given = np.asarray(weight)
    allowed = f"{what} must be of finite floating-point numbers"
    if not is_real(given.dtype) or given.dtype.kind in "biu":
        raise ParameterError("model", model, f"{allowed}, not {given.dtype}")
    with np.errstate(over="ignore"):
        found = given.astype(np.float32)
    if not np.isfinite(found).all():
        first = given[~np.isfinite(found)][0]
        raise ParameterError("model", model, f"{allowed} in float32; it has {first}")
    return found
