"""Leaves of a model, the arrays of its weights: their names, and their kinds.

A kind is declared once and read by all engines and adapters.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

# A parameter is trained and sent. A private leaf stays with each client. A buffer is sent, but is
# no parameter: no optimizer steps it, and the server takes the mean of those that arrived. A held
# leaf is the server's: clients start from it, and do not step it.
PARAMETER, PRIVATE, BUFFER, HELD = "parameter", "private", "buffer", "held"
# One of these is in each name that `leaf_patterns.is_buffer` knows.
_OF_BUFFERS = ("running", "moving", "ema", "tracked", "stats", "mean", "avg", "var", "std")


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
    names, number, kinds = names_of(model), len(weights), [PARAMETER] * len(weights)
    for place in getattr(model, "held_leaves", ()):
        kinds[place] = HELD
    declared = getattr(model, "buffer_leaves", None)
    if (
        private is not None
        or declared is not None
        or any(part in name.lower() for name in names for part in _OF_BUFFERS)
    ):
        # Most models have parameters alone.
        from f3ast_tff.models.leaf_patterns import buffers_among, chosen_leaves

        for place in buffers_among(names, number, declared):
            kinds[place] = BUFFER
        for place in [] if private is None else chosen_leaves(private, names, number):
            kinds[place] = PRIVATE
    return LeafKinds(tuple(kinds), tuple(weight.size for weight in weights))
