"""Kind of each leaf of a model: declared once, read by all engines and adapters."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from f3ast_tff.core.errors import ParameterError
from f3ast_tff.models.leaf_names import chosen_leaves, leaves_named, names_of

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


@dataclass(frozen=True)
class LeafKinds:
    """Kinds of a model's leaves.

    Attributes:
        kinds: Kind of each leaf.
        sizes: Number of coordinates of each leaf.

    Examples:
        >>> from f3ast_tff.models.leaf_kinds import BUFFER, PARAMETER, LeafKinds
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
        >>> from f3ast_tff.models.leaf_kinds import buffers_among
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
