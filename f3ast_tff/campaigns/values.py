"""The values of a grid: of the setting's type, a list for an axis, `"0-9"` for a range."""

from __future__ import annotations

import re
from dataclasses import fields
from typing import Any

from f3ast_tff.configuration.settings import Settings

_RANGE = re.compile(r"(\d+)-(\d+)")
_KINDS = {spec.name: spec.metadata["kind"] for spec in fields(Settings)}
# Where a run goes is the campaign's to say.
_NOT_OF_A_RUN = ("output_dir", "run_name")


class ValueRefused(ValueError):
    """Says what is allowed."""


def integer_range(text: str) -> list[int]:
    """Returns the integers that a text such as `"0-9"` or `"3"` stands for, both ends included.

    Raises:
        ValueRefused: If it is no such text.
    """
    found = _RANGE.fullmatch(text)
    if found is None and text.isdecimal():
        return [int(text)]
    if found is None or int(found[1]) > int(found[2]):
        raise ValueRefused("must be a range such as 0-9")
    return list(range(int(found[1]), int(found[2]) + 1))


def one(name: str, value: Any) -> Any:
    """Returns a value of a setting, as the setting's type.

    Raises:
        ValueRefused: If there is no such setting, or the value is of another type.
    """
    if name in _NOT_OF_A_RUN:
        raise ValueRefused("is the campaign's to say; see --output_dir")
    if name not in _KINDS:
        raise ValueRefused("there is no such setting; see --help")
    kind = _KINDS[name]
    if kind is float and type(value) is int:
        return float(value)
    if type(value) is not kind:
        words = {str: "a text", int: "an integer", float: "a number"}
        raise ValueRefused(f"must be {words[kind]}")
    return value


def several(name: str, value: Any) -> list[Any]:
    """Returns the values along an axis.

    Raises:
        ValueRefused: If there is none, one twice, or one that `one` refuses.
    """
    if isinstance(value, str) and _KINDS.get(name) is int:
        value = integer_range(value)
    if not isinstance(value, list):
        return [one(name, value)]
    values = [one(name, item) for item in value]
    if not values:
        raise ValueRefused("must name at least one value")
    if len(set(values)) < len(values):
        raise ValueRefused("names a value twice")
    return values
