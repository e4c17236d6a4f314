"""Numbers in texts: flags, lists, logs and files are read by one rule.

A number has decimal digits from 0 to 9, perhaps with a sign, a point and an exponent: `010` is 10.
`0x10`, `1_0` and digits of other scripts, which Python also takes, are refused.
"""

from __future__ import annotations

import re

_INTEGER = re.compile(r"[+-]?[0-9]+")
_NUMBER = re.compile(
    r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)(e[+-]?[0-9]+)?|[+-]?inf(inity)?|nan", re.IGNORECASE
)


def integer_in(text: str) -> int:
    """Returns the integer in a text; blanks around it do not count.

    Raises:
        ValueError: If the text is no integer in decimal digits.

    Examples:
        >>> from f3ast_tff.core.decimal_texts import integer_in
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
        >>> from f3ast_tff.core.decimal_texts import number_in
        >>> number_in("-1.5e3")
        -1500.0
    """
    if not _NUMBER.fullmatch(text := text.strip(" \t\r\n")):
        raise ValueError("must be a number in decimal digits")
    return float(text)
