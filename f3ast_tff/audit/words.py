"""Words in a strategy's file and attributes: names of arrays or losses that it may look for."""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

_WORD, _LONGEST = re.compile(r"\.?[A-Za-z]\w*([.-]\w+)*\.?"), 30


def words_of(strategy: Any) -> list[str]:
    """Returns the words, those of the attributes first."""
    found = [*_texts(vars(strategy))]
    files = {
        each.__code__.co_filename
        for kind in type(strategy).__mro__
        if not kind.__module__.startswith(("flwr.", "builtins", "abc"))
        for each in vars(kind).values()
        if inspect.isfunction(each)
    }
    for file in sorted(files):
        try:
            tree = ast.parse(Path(file).read_text(encoding="utf-8"))
        except (OSError, SyntaxError, ValueError):
            continue
        nodes = (each.value for each in ast.walk(tree) if isinstance(each, ast.Constant))
        found += [each for each in nodes if isinstance(each, str)]
    return [*dict.fromkeys(w for w in found if len(w) <= _LONGEST and _WORD.fullmatch(w))]


def _texts(held: Any) -> Iterator[str]:
    if isinstance(held, str):
        yield held
    elif isinstance(held, dict):
        for each in held.values():
            yield from _texts(each)
    elif isinstance(held, (list, tuple, set, frozenset)):
        for each in held:
            yield from _texts(each)
