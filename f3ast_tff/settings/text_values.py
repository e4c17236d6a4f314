"""Values in texts: numbers, ranges of integers, and conditions SETTING=VALUE.

A number has digits from 0 to 9, perhaps with a sign, a point and an exponent: `010` is 10. `0x10`,
`1_0` and digits of other scripts, which Python also takes, are refused, in flags, logs and files.
"""

from __future__ import annotations

import re

from f3ast_tff.core.errors import ParameterError

# Numbers of at most 18 digits each, counted before they are listed.
_RANGE = re.compile(r"([0-9]{1,18})(?:-([0-9]{1,18}))?")
MAX_VALUES = 10_000
_INTEGER = re.compile(r"[+-]?[0-9]+")
_NUMBER = re.compile(
    r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)(e[+-]?[0-9]+)?|[+-]?inf(inity)?|nan", re.IGNORECASE
)


class ValueRefused(ValueError):
    """A refused value; the message names the allowed values."""


def integer_in(text: str) -> int:
    """Returns the integer in a text; blanks around it do not count.

    Raises:
        ValueError: If the text is no integer in decimal digits.

    Examples:
        >>> from f3ast_tff.settings.text_values import integer_in
        >>> integer_in(" 010")
        10
    """
    if not _INTEGER.fullmatch(text := text.strip(" \t\r\n")):
        raise ValueError("must be an integer in decimal digits")
    return int(text)


def number_in(text: str) -> float:
    """Returns the number in a text, which may be `inf` or `nan`; blanks around it do not count.

    Raises:
        ValueError: If the text is no number in decimal digits.

    Examples:
        >>> from f3ast_tff.settings.text_values import number_in
        >>> number_in("-1.5e3")
        -1500.0
    """
    if not _NUMBER.fullmatch(text := text.strip(" \t\r\n")):
        raise ValueError("must be a number in decimal digits")
    return float(text)


def integer_range(text: str) -> list[int]:
    """Returns the integers that a text such as `"0-9"` or `"3"` stands for, both ends included.

    Raises:
        ValueRefused: If the text is malformed or stands for too many integers.
    """
    found = _RANGE.fullmatch(text)
    if found is None:
        raise ValueRefused("must be a range such as 0-9")
    values = range(int(found[1]), int(found[2] or found[1]) + 1)
    if not values:
        raise ValueRefused("must be a range such as 0-9")
    if len(values) > MAX_VALUES:
        raise ValueRefused(f"must be at most {MAX_VALUES} values, not {len(values)}")
    return list(values)


def conditions(text: str) -> dict[str, list[str]]:
    """Returns the allowed values of each setting in a flag `--where`.

    Args:
        text: Conditions such as `"task=cifar100,algorithm=fedavg,algorithm=poc"`. Of several
            conditions on one setting, one must hold. Text after a comma that does not begin with a
            setting's name and `=` continues the value before it, as in
            `"constraint=steps:1=10,100=50"`.

    Raises:
        ParameterError: If a part is no condition.
    """
    allowed: dict[str, list[str]] = {}
    values: list[str] = []
    for each in text.split(","):
        part = each.strip()
        name, equals, value = part.partition("=")
        if equals and name.isidentifier():
            values = allowed.setdefault(name, [])
            values.append(value)
        elif name and values:
            values[-1] += f",{part}"
        else:
            raise ParameterError("where", each, "must be SETTING=VALUE")
    return allowed
