"""Comma lists of values, `--algorithm=f3ast,fedavg`: every combination is a run."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from f3ast_tff.components import Parameter
from f3ast_tff.components.kinds import KINDS


def split_lists(
    words: Sequence[str], parameters: Mapping[str, Parameter]
) -> tuple[list[str], dict[str, list[str]]]:
    """Takes comma lists out of a command line.

    Args:
        words: The arguments; a value may follow its flag as a word of its own.
        parameters: Every setting by the name of its flag. Components, numbers and settings with
            fixed choices take lists; a text with a colon, such as `cycle:5,10`, is one value.

    Returns:
        The other words, and the values of each list by name: of a setting that is given again
        after its list as one value there is no list, and a list holds in place of values before it.
    """
    rest: list[str] = []
    lists: dict[str, list[str]] = {}
    left = list(words)
    while left:
        word = left.pop(0)
        name, equals, value = word.lstrip("-").partition("=")
        if name not in parameters or not word.startswith("-"):
            rest.append(word)
            continue
        words = [word]
        if not equals and left and parameters[name].kind is not bool:
            value = left.pop(0)
            words.append(value)
        if _takes(parameters[name], value):
            lists[name] = value.split(",")
        else:
            lists.pop(name, None)
            rest += words
    return rest, lists


def _takes(parameter: Parameter, value: str) -> bool:
    if "," not in value or ":" in value:
        return False
    of_kind = parameter.name in KINDS and parameter.name != "communication"
    return of_kind or bool(parameter.choices) or parameter.kind in (int, float)


def combinations(lists: Mapping[str, Sequence[Any]]) -> Iterator[dict[str, Any]]:
    """Returns every combination of the values, by name; one empty one without lists.

    Example:
        >>> list(combinations({"seed": [1, 2]}))
        [{'seed': 1}, {'seed': 2}]
    """
    for values in itertools.product(*lists.values()):
        yield dict(zip(lists, values))
