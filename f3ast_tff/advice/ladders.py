"""Ladders, the values of tuned parameters, and the next value of one that ends too early."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from f3ast_tff.core.errors import ParameterError

# A shorter ladder has no inside.
_FEWEST = 3


def ladders_in(tune: str) -> dict[str, list[Any]]:
    """Returns the values by parameter of a text such as `client_lr=0.01,0.1;server_lr=1,3`.

    Raises:
        ParameterError: If the text has another form, or names a parameter twice.
    """
    found: dict[str, list[Any]] = {}
    for part in filter(None, (each.strip() for each in tune.split(";"))):
        name, equals, values = (each.strip() for each in part.partition("="))
        if not (name and equals and values) or name in found:
            allowed = "must be such as client_lr=0.01,0.1;server_lr=1,3"
            raise ParameterError("tune", tune, allowed)
        found[name] = [_value(each.strip()) for each in values.split(",")]
    return found


def _value(text: str) -> Any:
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


def ends_of(ladder: Sequence[Any]) -> tuple[Any, ...]:
    """Returns the lowest and the highest value; nothing for texts, or fewer than three values."""
    numbers = all(isinstance(value, (int, float)) for value in ladder)
    return (min(ladder), max(ladder)) if numbers and len(ladder) >= _FEWEST else ()


def next_value(ladder: Sequence[Any], end: float) -> float | None:
    """Returns the value that goes on beyond an end, by the ratio of every other value.

    Args:
        ladder: At least three numbers.
        end: The lowest or the highest of them.

    Returns:
        The value; `None` if not all are above 0.

    Examples:
        >>> from f3ast_tff.advice.ladders import next_value
        >>> next_value([0.001, 0.003, 0.01, 0.03], 0.03), next_value([1, 3, 10, 30], 1)
        (0.1, 0.3)
    """
    last, inner, before = sorted(ladder, key=lambda value: abs(value - end))[:3]
    if min(ladder) <= 0:
        return None
    found = float(f"{inner * last / before:.3g}")
    return int(found) if isinstance(last, int) and found.is_integer() else found
