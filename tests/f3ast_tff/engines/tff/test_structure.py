"""Leaves in the order of a TFF type."""

from __future__ import annotations

from collections import OrderedDict

import numpy as np
import pytest
import tensorflow_federated as tff

from f3ast_tff.engines.tff.functions import Layout

pytestmark = pytest.mark.tff

LAYOUT = Layout(
    tff.to_type(OrderedDict(b=np.float32, a=(np.int32, OrderedDict(z=np.int32, y=np.int32))))
)


def test_order_is_the_types_and_packing_undoes_it() -> None:
    value = OrderedDict(b=1.5, a=(2, OrderedDict(z=3, y=4)))
    assert len(LAYOUT) == 4
    assert LAYOUT.flatten(value) == [1.5, 2, 3, 4]
    assert LAYOUT.pack([1.5, 2, 3, 4]) == value
    assert list(LAYOUT.pack([1.5, 2, 3, 4])) == ["b", "a"]


@pytest.mark.parametrize("value", [{"b": 1.0}, {"b": 1.0, "a": (2,)}, [1, 2, 3, 4]])
def test_other_nesting_is_refused(value: object) -> None:
    with pytest.raises((ValueError, TypeError)):
        LAYOUT.flatten(value)
