"""Leaves of a model, the arrays of its weights: their names, and their kinds.

A kind is declared once and read by all engines and adapters.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from f3ast_tff.core.errors import ParameterError

# A parameter is trained and sent. A private leaf stays with each client. A buffer is sent, but is
# no parameter: no optimizer steps it, and the server takes the mean of those that arrived.
PARAMETER, PRIVATE, BUFFER = "parameter", "private", "buffer"
# Names that frameworks give to buffers: PyTorch's norms, Keras' norms, Flax' collection.
KNOWN_BUFFERS = (
    "running_mean",
    "running_var",
    "num_batches_tracked",
    "moving_mean",
    "moving_variance",
    "batch_stats",
)
# Leaves of which each name stands in an error.
_MOST = 12


def names_of(model: Any) -> list[str]:
    """Returns the name of each leaf, parts separated by dots; empty for a model without names.

    Args:
        model: A `Model`, which may have a method `leaf_names`.

    Examples:
        >>> from f3ast_tff.models import SoftmaxRegression
        >>> from f3ast_tff.models.leaves import names_of
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
        >>> from f3ast_tff.models.leaves import chosen_leaves
        >>> names = ["conv1.kernel", "conv1.bias", "head.kernel", "head.bias"]
        >>> chosen_leaves("head", names, 4), chosen_leaves("bias,0", names, 4)
        ([2, 3], [0, 1, 3])
    """
    found: set[int] = set()
    for entry in (each.strip() for each in text.split(",")):
        places = leaves_named((entry,), names)
        if not places and entry.isascii() and entry.isdecimal() and int(entry) < num_leaves:
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


@dataclass(frozen=True)
class LeafKinds:
    """Kinds of a model's leaves.

    Attributes:
        kinds: Kind of each leaf.
        sizes: Number of coordinates of each leaf.

    Examples:
        >>> from f3ast_tff.models.leaves import BUFFER, PARAMETER, LeafKinds
        >>> kinds = LeafKinds((PARAMETER, BUFFER, PARAMETER), (6, 3, 2))
        >>> kinds.leaves(BUFFER), kinds.ranges(PARAMETER)
        ((1,), ((0, 6), (9, 11)))
    """

    kinds: tuple[str, ...]
    sizes: tuple[int, ...]

    def leaves(self, kind: str) -> tuple[int, ...]:
        """Returns the places of the leaves of a kind, rising."""
        return tuple(place for place, own in enumerate(self.kinds) if own == kind)

    def ranges(self, kind: str) -> tuple[tuple[int, int], ...]:
        """Returns their coordinates in the model as one vector, as rising ranges (first, end)."""
        found: list[tuple[int, int]] = []
        ends = np.cumsum(self.sizes).tolist()
        for leaf in self.leaves(kind):
            first, end = ends[leaf] - self.sizes[leaf], ends[leaf]
            if found and found[-1][1] == first:
                found[-1] = (found[-1][0], end)
            elif end > first:
                found.append((first, end))
        return tuple(found)


def kinds_of(model: Any, weights: Sequence[np.ndarray], private: str | None = None) -> LeafKinds:
    """Returns the kinds of a model's leaves; a private buffer is private.

    Args:
        model: A `Model`, which may have `leaf_names` and `buffer_leaves`.
        weights: Its weights, for their sizes.
        private: The setting `private`.

    Raises:
        ParameterError: If an entry of `private` or `buffer_leaves` names no leaf.
    """
    names, number = names_of(model), len(weights)
    kinds = [PARAMETER] * number
    for place in buffers_among(names, number, getattr(model, "buffer_leaves", None)):
        kinds[place] = BUFFER
    for place in [] if private is None else chosen_leaves(private, names, number):
        kinds[place] = PRIVATE
    return LeafKinds(tuple(kinds), tuple(weight.size for weight in weights))


def buffers_among(
    names: Sequence[str],
    number: int,
    declared: Sequence[str | int] | None = None,
    setting: str = "buffer_leaves",
) -> list[int]:
    """Returns the places of the buffers, rising.

    Args:
        names: Names of the leaves; empty if they have none.
        number: Number of leaves.
        declared: Places of the buffers, from 0, and names, each an entry of the setting `private`;
            by default `KNOWN_BUFFERS`.
        setting: Name of `declared` in errors.

    Raises:
        ParameterError: If an entry of `declared` is no leaf.

    Examples:
        >>> from f3ast_tff.models.leaves import buffers_among
        >>> names = ["conv.weight", "bn1.weight", "bn1.running_var"]
        >>> buffers_among(names, 3), buffers_among(names, 3, ["bn"]), buffers_among(names, 3, [])
        ([2], [1, 2], [])
    """
    if declared is None:
        return leaves_named(KNOWN_BUFFERS, names)
    if not isinstance(declared, (list, tuple)):
        raise ParameterError(setting, declared, "must be a list or a tuple of names or numbers")
    found: set[int] = set()
    for entry in declared:
        if isinstance(entry, str):
            found.update(chosen_leaves(entry, names, number, setting))
        elif isinstance(entry, int) and not isinstance(entry, bool) and 0 <= entry < number:
            found.add(entry)
        else:
            allowed = f"each must be a name or a number of a leaf, from 0 to {number - 1}"
            raise ParameterError(setting, entry, allowed)
    return sorted(found)
