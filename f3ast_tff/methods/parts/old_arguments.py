"""Constructors of release 0.2.0, which took shares or sizes: they still work, with a warning."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar

import numpy as np

_Method = TypeVar("_Method", bound=type)


def takes_old_arguments(plays: Callable[..., Any]) -> Callable[[_Method], _Method]:
    """Decorates a method in one class whose constructor once took arrays.

    Args:
        plays: Function from the old arguments to a copy that plays. It is called if an argument is
            an array, which no parameter is.
    """

    def decorate(method: _Method) -> _Method:
        made: Callable[..., None] = method.__init__  # type: ignore[misc]

        @wraps(made)
        def init(self: Any, *values: Any, **given: Any) -> None:
            if not any(isinstance(each, np.ndarray) for each in (*values, *given.values())):
                return made(self, *values, **given)
            name = method.__name__
            said = f"{name} of arrays is {name}.start(p, k, ...) now, with the method's parameters"
            goes = "the old arguments go with the next minor release"
            warnings.warn(f"{said}; {goes}", DeprecationWarning, stacklevel=2)
            vars(self).update(vars(plays(*values, **given)))

        method.__init__ = init  # type: ignore[misc]
        return method

    return decorate
