"""Parts that are values: equal ones can stand for each other."""

from __future__ import annotations

from dataclasses import fields
from typing import Any


def is_value(part: Any) -> bool:
    """Returns whether a part is a frozen dataclass of its very class, down to its fields.

    Any other object may change behind its identity.
    """
    declared = vars(type(part)).get("__dataclass_params__")
    if declared is None:
        return isinstance(part, (bool, int, float, str, tuple, type(None)))
    own = [getattr(part, field.name) for field in fields(part)]
    return bool(declared.frozen) and all(map(is_value, own))
