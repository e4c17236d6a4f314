"""Public names that have moved: still found under their old module, with a warning."""

from __future__ import annotations

import warnings
from types import ModuleType
from typing import Any


def moved(name: str, old: str, new: ModuleType) -> Any:
    """Returns a name of the new module, with a `DeprecationWarning` that names it.

    Args:
        name: The name, asked of the old module by its `__getattr__`.
        old: The old module's name.
        new: The new module.

    Raises:
        AttributeError: If the new module has no such name.
    """
    if name.startswith("__") or not hasattr(new, name):
        raise AttributeError(f"module {old!r} has no attribute {name!r}")
    said = f"{old}.{name} is {new.__name__}.{name} now; the old name goes with the next minor"
    warnings.warn(f"{said} release", DeprecationWarning, stacklevel=3)
    return getattr(new, name)
