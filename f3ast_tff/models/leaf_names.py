"""Names of a model's leaves, the arrays of its weights, and the leaves that a text names."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import numpy as np

from f3ast_tff.core.errors import ParameterError

# Leaves of which each name stands in an error.
_MOST = 12


def names_of(model: Any) -> list[str]:
    """Returns the name of each leaf, parts separated by dots; empty for a model without names.

    Args:
        model: A `Model`, which may have a method `leaf_names`.

    Examples:
        >>> from f3ast_tff.models import SoftmaxRegression
        >>> from f3ast_tff.models.leaf_names import names_of
        >>> names_of(SoftmaxRegression(num_features=3, num_classes=2))
        ['head.kernel', 'head.bias']
    """
    named = getattr(model, "leaf_names", None)
    return [] if named is None else list(named())


def chosen_leaves(text: str, names: Sequence[str], num_leaves: int) -> list[int]:
    """Returns the places of the leaves that a comma list names, rising.

    An entry names the leaves whose name it is or begins, or of which it is a part, with or without
    the part's last number: `head`, `conv1.bias`, `bias`, and `norm` for `norm1` and `norm2`. An
    entry that names none may be a leaf's place, from 0.

    Args:
        text: The entries, separated by commas.
        names: Name of each leaf; empty if the model has none.
        num_leaves: Number of leaves.

    Raises:
        ParameterError: If an entry names no leaf; names the allowed entries.

    Examples:
        >>> from f3ast_tff.models.leaf_names import chosen_leaves
        >>> names = ["conv1.kernel", "conv1.bias", "head.kernel", "head.bias"]
        >>> chosen_leaves("head", names, 4), chosen_leaves("bias,0", names, 4)
        ([2, 3], [0, 1, 3])
    """
    found: set[int] = set()
    for entry in (each.strip() for each in text.split(",")):
        places = [place for place, name in enumerate(names) if _fits(entry, name)]
        if not places and entry.isdecimal() and int(entry) < num_leaves:
            places = [int(entry)]
        if not entry or not places:
            raise ParameterError("private", text, _allowed(names, num_leaves))
        found.update(places)
    return sorted(found)


def _fits(entry: str, name: str) -> bool:
    parts = name.split(".")
    starts = {".".join(parts[:end]) for end in range(1, len(parts) + 1)}
    return entry in {*starts, *parts, *map(_without_number, parts)}


def _without_number(part: str) -> str:
    return re.sub(r"_?\d+$", "", part) or part


def _allowed(names: Sequence[str], num_leaves: int) -> str:
    numbers = f"numbers of leaves from 0 to {num_leaves - 1}"
    if not names:
        return f"must be {numbers}: the model has no names for them"
    parts = dict.fromkeys(_without_number(part) for name in names for part in name.split("."))
    whole = f"names such as {names[-1]}" if len(names) > _MOST else ", ".join(names)
    return f"must be among {', '.join(parts)}, {whole}, or {numbers}"


def ranges_of(leaves: Sequence[int], weights: Sequence[np.ndarray]) -> tuple[tuple[int, int], ...]:
    """Returns the coordinates of leaves in the model as one vector, as ranges (first, end).

    Args:
        leaves: Places of the leaves, rising.
        weights: The model's arrays.

    Examples:
        >>> import numpy as np
        >>> from f3ast_tff.models.leaf_names import ranges_of
        >>> ranges_of([0, 2, 3], [np.zeros((2, 2)), np.zeros(3), np.zeros(5), np.zeros(1)])
        ((0, 4), (7, 13))
    """
    ends = np.cumsum([weight.size for weight in weights]).tolist()
    found: list[tuple[int, int]] = []
    for leaf in leaves:
        first, end = ends[leaf] - weights[leaf].size, ends[leaf]
        if found and found[-1][1] == first:
            found[-1] = (found[-1][0], end)
        elif end > first:
            found.append((first, end))
    return tuple(found)
