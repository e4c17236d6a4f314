"""A TFF computation of TensorFlow only, as a function of tensors in this process."""

from __future__ import annotations

import itertools
import logging
import uuid
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import tensorflow as tf
import tensorflow_federated as tff

from f3ast_tff.core.errors import ParameterError

_LOG = logging.getLogger(__name__)


class Layout:
    """The place of each leaf of a nested value in a flat list.

    TFF orders leaves as the type names them; TensorFlow's `nest` sorts the keys of dictionaries.

    Examples:
        >>> from collections import OrderedDict
        >>> import numpy as np
        >>> import tensorflow_federated as tff
        >>> from f3ast_tff.engines.tff.functions import Layout
        >>> layout = Layout(tff.to_type(OrderedDict(b=np.float32, a=(np.int32, np.int32))))
        >>> layout.flatten({"a": (1, 2), "b": 3.0})
        [3.0, 1, 2]
    """

    def __init__(self, of_type: tff.Type) -> None:
        """Takes a type made of structures and tensors only."""
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
            ValueError: If `value` is not nested like the type.
        """
        tf.nest.assert_same_structure(self._template, value, check_types=False)
        leaves = dict(zip(self._positions, tf.nest.flatten(value)))
        return [leaves[position] for position in range(len(leaves))]

    def pack(self, leaves: Sequence[Any]) -> Any:
        """Returns the value with these leaves, in the Python containers of the type."""
        in_nest_order = [leaves[position] for position in self._positions]
        return tf.nest.pack_sequence_as(self._template, in_nest_order)


def find_device(name: str) -> str:
    """Returns TensorFlow's name of a device; GPUs then take memory as they need it.

    Args:
        name: `"auto"` (a GPU if there is one), `"cpu"`, `"gpu"`, or a name of TensorFlow's
            (`"/GPU:1"`, or the name of a logical device).

    Returns:
        For example `"/device:GPU:0"`.

    Raises:
        ParameterError: If there is no such device.
    """
    for gpu in tf.config.list_physical_devices("GPU"):
        try:
            tf.config.experimental.set_memory_growth(gpu, True)
        except RuntimeError as error:
            _LOG.warning("GPU memory cannot grow as needed: %s", error)
    present = [device.name for device in tf.config.list_logical_devices()]
    gpus = [device for device in present if "GPU" in device]
    if name == "auto":
        return gpus[0] if gpus else "/device:CPU:0"
    wanted = {"cpu": "/device:CPU:0", "gpu": "/device:GPU:0"}.get(name)
    if wanted is None:
        try:
            spec = tf.DeviceSpec.from_string(name)
        except ValueError:
            spec = tf.DeviceSpec()
        wanted = f"/device:{spec.device_type}:{spec.device_index or 0}"
    if wanted not in present:
        allowed = f"must be auto, cpu, gpu or a device that TensorFlow sees: {', '.join(present)}"
        raise ParameterError("device", name, allowed)
    return wanted


# TensorFlow frees a variable of this name with the call that makes it
# (`ResourceHandle::ANONYMOUS_NAME`), so no other call can see it.
_ANONYMOUS = b"cd2c89b7-88b7-44c8-ad83-06c2a9158347"


def callable_graph(graph_def: Any, initialize_op: str, device: str) -> Any:
    """Returns a copy of a graph that initialises itself, collides with no other, and is placed.

    - Operations that read results of the initialisation (a Keras variable, for example) wait for
      it.
    - Functions and shared resources get names that no other graph in the process has.
    - Operations go to `device`, also operations inside functions; a device scope would not reach
      functions that datasets call.

    Args:
        graph_def: `tf.compat.v1.GraphDef`; not changed.
        initialize_op: Name of the operation to run first; empty for none.
        device: TensorFlow's name of the device; operations with an explicit device keep it.
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
    """Adds control edges from the initialisation to all operations that read its results."""
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
    """The operation that makes an input, from the input's name: `op`, `op:1` or `^op`."""
    return tensor_name.lstrip("^").split(":")[0]


class TffFunction:
    """Imports a computation's graph once; calls reuse it and leave no state behind."""

    def __init__(self, computation: tff.framework.ConcreteComputation, device: str) -> None:
        """Imports the graph.

        Args:
            computation: A TensorFlow computation: `tff.tensorflow.computation`, or part of a
                map-reduce form.
            device: Device to run on, for example `"/device:CPU:0"`.

        Raises:
            ValueError: If the computation is not one of TensorFlow.
        """
        proto = tff.framework.serialize_computation(computation)
        if proto.WhichOneof("computation") != "tensorflow":
            raise ValueError(f"not a TensorFlow computation: {computation.type_signature}")
        body = proto.tensorflow
        graph_def = tf.compat.v1.GraphDef()
        body.graph_def.Unpack(graph_def)
        graph_def = callable_graph(graph_def, body.initialize_op, device)
        nodes = {node.name: node for node in graph_def.node}
        parameters = list(_tensor_names(body.parameter)) if body.HasField("parameter") else []
        results = list(_tensor_names(body.result))

        def imported(*tensors: Any) -> list[Any]:
            return tf.graph_util.import_graph_def(
                graph_def, dict(zip(parameters, tensors)), results, name=""
            )

        # Not `prune`, because calls of a pruned function format their arguments, which is slow.
        self._function = tf.compat.v1.wrap_function(
            imported, [_spec(nodes[name.split(":")[0]]) for name in parameters]
        )

    def __call__(self, arguments: Sequence[Any]) -> list[tf.Tensor]:
        """Computes.

        Args:
            arguments: Leaves of the parameter in the order of its type, as anything that
                converts to a tensor; a sequence is `tf.data.experimental.to_variant(dataset)`.

        Returns:
            Leaves of the result, in the order of its type.
        """
        return list(self._function(*arguments))


def _spec(placeholder: Any) -> tf.TensorSpec:
    shape = tf.TensorShape(placeholder.attr["shape"].shape)
    return tf.TensorSpec(shape, tf.as_dtype(placeholder.attr["dtype"].type))


def _tensor_names(binding: Any) -> Iterator[str]:
    """Names of the tensors of a value, in the order of its type."""
    kind = binding.WhichOneof("binding")
    if kind == "struct":
        for element in binding.struct.element:
            yield from _tensor_names(element)
    elif kind == "tensor":
        yield binding.tensor.tensor_name
    elif kind == "sequence":
        yield binding.sequence.variant_tensor_name
