"""A TFF computation's TensorFlow graph, made fit to be called as a function again and again."""

from __future__ import annotations

import uuid
from collections.abc import Iterable
from typing import Any

import tensorflow as tf

# To TensorFlow a variable of this name belongs to the call that makes it, and goes with it
# (`ResourceHandle::ANONYMOUS_NAME`): what one call leaves behind no other can see.
_ANONYMOUS = b"cd2c89b7-88b7-44c8-ad83-06c2a9158347"


def callable_graph(graph_def: Any, initialize_op: str, device: str) -> Any:
    """Returns a copy of a graph that initialises itself, collides with no other, and is placed.

    - What reads something that the initialisation makes (a Keras variable, say) waits for it.
    - Functions and shared resources get names that no other graph in the process has.
    - Operations go to `device`, those inside functions too: a device scope would not reach
      functions that datasets call.

    Args:
        graph_def: `tf.compat.v1.GraphDef`; not changed.
        initialize_op: Name of the operation to run first; empty for none.
        device: TensorFlow's name of the device; operations with a device of their own keep it.
    """
    graph = tf.compat.v1.GraphDef()
    graph.CopyFrom(graph_def)
    if initialize_op:
        _initialise_first(graph.node, initialize_op)
    prefix = f"f{uuid.uuid4().hex}_"
    functions = {function.signature.name for function in graph.library.function}
    for function in graph.library.function:
        function.signature.name = prefix + function.signature.name
    for gradient in graph.library.gradient:
        gradient.function_name = prefix + gradient.function_name
        gradient.gradient_func = prefix + gradient.gradient_func
    for node in _all_nodes(graph):
        _rename(node, functions, prefix)
        node.device = node.device or device
    return graph


def _all_nodes(graph: Any) -> Iterable[Any]:
    yield from graph.node
    for function in graph.library.function:
        yield from function.node_def


def _rename(node: Any, functions: set[str], prefix: str) -> None:
    if node.op in functions:
        node.op = prefix + node.op
    for attribute in node.attr.values():
        single = [attribute.func] if attribute.HasField("func") else []
        for function in (*single, *attribute.list.func):
            if function.name in functions:
                function.name = prefix + function.name
    if node.op == "VarHandleOp":
        node.attr["shared_name"].s = _ANONYMOUS
    elif "shared_name" in node.attr and node.attr["shared_name"].s:
        node.attr["shared_name"].s = prefix.encode() + node.attr["shared_name"].s


def _initialise_first(nodes: Any, initialize_op: str) -> None:
    """Adds control edges from the initialisation to whatever reads what it makes."""
    inputs = {node.name: [_producer(name) for name in node.input] for node in nodes}
    initialising: set[str] = set()
    pending = [initialize_op]
    while pending:
        name = pending.pop()
        if name not in initialising:
            initialising.add(name)
            pending += inputs[name]
    for node in nodes:
        if node.name not in initialising and initialising.intersection(inputs[node.name]):
            node.input.append(f"^{initialize_op}")


def _producer(tensor_name: str) -> str:
    """The operation that makes a tensor, from the name of an input: `op`, `op:1` or `^op`."""
    return tensor_name.lstrip("^").split(":")[0]
