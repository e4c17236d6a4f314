"""Values: parts that equal parts can replace."""

from __future__ import annotations

from dataclasses import fields
from typing import Any


def is_value(part: Any) -> bool:
    """Returns whether a part is a plain constant, or a frozen dataclass of values.

    The class itself must be declared frozen, not only its base. Any other object may change while
    its identity stays.
    """
    declared = vars(type(part)).get("__dataclass_params__")
    if declared is None:
        return isinstance(part, (bool, int, float, str, tuple, type(None)))
    own = [getattr(part, field.name) for field in fields(part)]
    return bool(declared.frozen) and all(map(is_value, own))
