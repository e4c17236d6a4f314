"""Names of a model's leaves, the arrays of its weights, and the leaves that a text names."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from typing import Any

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


def chosen_leaves(
    text: str, names: Sequence[str], num_leaves: int, setting: str = "private"
) -> list[int]:
    """Returns the places of the leaves that a comma list names, rising.

    An entry names the leaves whose name it is or begins, or of which it is a part, with or without
    the part's last number: `head`, `conv1.bias`, `bias`, and `norm` for `norm1` and `norm2`. An
    entry that names none may be a leaf's place, from 0.

    Args:
        text: The entries, separated by commas.
        names: Name of each leaf; empty if the model has none.
        num_leaves: Number of leaves.
        setting: Name of the setting, for the error.

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
        places = leaves_named((entry,), names)
        if not places and entry.isdecimal() and int(entry) < num_leaves:
            places = [int(entry)]
        if not entry or not places:
            raise ParameterError(setting, text, _allowed(names, num_leaves))
        found.update(places)
    return sorted(found)


def leaves_named(entries: Collection[str], names: Sequence[str]) -> list[int]:
    """Returns the places of the leaves that any of the entries names; see `chosen_leaves`."""
    return [place for place, name in enumerate(names) if any(_fits(e, name) for e in entries)]


def _fits(entry: str, name: str) -> bool:
    # Keras separates the parts of a name by slashes.
    entry, parts = entry.replace("/", "."), name.replace("/", ".").split(".")
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
