"""Graphs prepared for repeated calls, leaves in the order of a TFF type, names of devices."""

from __future__ import annotations

from collections import OrderedDict
from typing import Any

import numpy as np
import pytest

from f3ast_tff.core.errors import ParameterError

pytestmark = pytest.mark.tff

CPU = "/device:CPU:0"


@pytest.fixture(scope="module")
def functions() -> Any:
    """The module under test, which imports TensorFlow."""
    from f3ast_tff.engines.tff import functions

    return functions


def graph_with_function() -> Any:
    import tensorflow as tf

    graph = tf.Graph()
    with graph.as_default():

        @tf.function
        def square(x: Any) -> Any:
            return x * x

        tf.raw_ops.VarHandleOp(dtype=tf.float32, shape=[], shared_name="kernel", name="v")
        tf.raw_ops.HashTableV2(
            key_dtype=tf.int64, value_dtype=tf.int64, shared_name="table", name="t"
        )
        with tf.device("/device:CPU:3"):
            tf.identity(2.0, name="placed")
        square(tf.compat.v1.placeholder(tf.float32, [], name="x"))
    return graph.as_graph_def()


def test_names_are_its_own_and_nodes_are_placed(functions: Any) -> None:
    """Two copies of a graph share no name, and the original stays unchanged."""
    original = graph_with_function()
    before = original.SerializeToString(deterministic=True)
    first, second = (functions.callable_graph(original, "", "/device:CPU:1") for _ in range(2))
    assert original.SerializeToString(deterministic=True) == before
    names = [{f.signature.name for f in graph.library.function} for graph in (first, second)]
    assert len(names[0]) == 1 and not names[0] & names[1]
    nodes = [{node.name: node for node in graph.node} for graph in (first, second)]
    tables = {graph["t"].attr["shared_name"].s for graph in nodes}
    assert len(tables) == 2 and all(name.endswith(b"table") for name in tables)
    assert nodes[0]["v"].attr["shared_name"].s not in (b"", b"kernel")
    calls = [node for node in first.node if node.op == "StatefulPartitionedCall"]
    calls += [node for node in first.node if node.op == "PartitionedCall"]
    assert {call.attr["f"].func.name for call in calls} == names[0]
    assert nodes[0]["placed"].device == "/device:CPU:3"
    inner = [node.device for function in first.library.function for node in function.node_def]
    assert {nodes[0]["x"].device, *inner} == {"/device:CPU:1"}


def counting(start: float) -> Any:
    """Returns a computation that adds its parameter to a variable with always the same name."""
    import tensorflow as tf
    import tensorflow_federated as tff

    @tff.tensorflow.computation(np.float32)
    def add(x: Any) -> Any:
        counter = tf.Variable(start, name="counter")
        with tf.control_dependencies([counter.assign_add(x)]):
            return counter.read_value()

    return add


def test_every_call_starts_from_initial_variables(functions: Any) -> None:
    """No call sees another call's variables, of this computation or of one with the same names."""
    one, other = (functions.TffFunction(counting(start), CPU) for start in (1.0, 100.0))
    for x in (1.0, 2.0, 3.0):
        assert [float(one([x])[0]), float(other([x])[0])] == [1 + x, 100 + x]


def test_only_tensorflow(functions: Any) -> None:
    import tensorflow_federated as tff

    @tff.federated_computation(np.float32)
    def same(x: Any) -> Any:
        return x

    with pytest.raises(ValueError, match="not a TensorFlow computation"):
        functions.TffFunction(same, CPU)


@pytest.fixture(scope="module")
def layout(functions: Any) -> Any:
    import tensorflow_federated as tff

    inner = OrderedDict(z=np.int32, y=np.int32)
    return functions.Layout(tff.to_type(OrderedDict(b=np.float32, a=(np.int32, inner))))


def test_order_is_the_types_and_packing_undoes_it(layout: Any) -> None:
    value = OrderedDict(b=1.5, a=(2, OrderedDict(z=3, y=4)))
    assert len(layout) == 4
    assert layout.flatten(value) == [1.5, 2, 3, 4]
    assert layout.pack([1.5, 2, 3, 4]) == value
    assert list(layout.pack([1.5, 2, 3, 4])) == ["b", "a"]


@pytest.mark.parametrize("value", [{"b": 1.0}, {"b": 1.0, "a": (2,)}, [1, 2, 3, 4]])
def test_other_nesting_is_refused(value: object, layout: Any) -> None:
    with pytest.raises((ValueError, TypeError)):
        layout.flatten(value)


@pytest.mark.parametrize("name", ["cpu", "/CPU:0", "/device:CPU:0", "cpu:0"])
def test_names_of_the_first_cpu(name: str, functions: Any) -> None:
    assert functions.find_device(name) == "/device:CPU:0"


@pytest.mark.parametrize("name", ["/GPU:77", "/CPU:9", "tpu", "", "//"])
def test_absent_device_is_refused_with_what_is_there(name: str, functions: Any) -> None:
    with pytest.raises(ParameterError, match="device = .*must be.*/device:CPU:0"):
        functions.find_device(name)
