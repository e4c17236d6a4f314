"""Between TFF's nested values and flat lists in the order of their type."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import tensorflow as tf
import tensorflow_federated as tff


class Layout:
    """Where each leaf of a nested value stands in a flat list.

    TFF orders leaves as the type names them; TensorFlow's `nest` sorts the keys of dictionaries.

    Example:
        >>> from collections import OrderedDict
        >>> import numpy as np
        >>> layout = Layout(tff.to_type(OrderedDict(b=np.float32, a=(np.int32, np.int32))))
        >>> layout.flatten({"a": (1, 2), "b": 3.0})
        [3.0, 1, 2]
    """

    def __init__(self, of_type: tff.Type) -> None:
        """Takes a type made of structures and tensors alone."""
        positions = itertools.count()
        self._template = tff.types.structure_from_tensor_type_tree(
            lambda _: next(positions), of_type
        )
        self._positions = tf.nest.flatten(self._template)

    def __len__(self) -> int:
        """Number of leaves."""
        return len(self._positions)

    def flatten(self, value: Any) -> list[Any]:
        """Returns the leaves of `value`.

        Raises:
            ValueError: If `value` is not nested as the type is.
        """
        tf.nest.assert_same_structure(self._template, value, check_types=False)
        leaves = dict(zip(self._positions, tf.nest.flatten(value)))
        return [leaves[position] for position in range(len(leaves))]

    def pack(self, leaves: Sequence[Any]) -> Any:
        """Returns the value with these leaves, in the type's own Python containers."""
        in_nest_order = [leaves[position] for position in self._positions]
        return tf.nest.pack_sequence_as(self._template, in_nest_order)
