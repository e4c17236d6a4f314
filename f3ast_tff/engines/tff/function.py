"""A TFF computation made of TensorFlow alone, as a function of tensors in this process."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import tensorflow as tf
import tensorflow_federated as tff

from f3ast_tff.engines.tff.graph import callable_graph


class TffFunction:
    """Imports a computation's graph once; calls reuse it and leave nothing behind."""

    def __init__(self, computation: tff.framework.ConcreteComputation, device: str) -> None:
        """Imports the graph.

        Args:
            computation: Of TensorFlow (`tff.tensorflow.computation`, or from a map-reduce form).
            device: Where it runs, for example `"/device:CPU:0"`.

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

        # Not `prune`: calls of a pruned function are slow, they print their arguments.
        self._function = tf.compat.v1.wrap_function(
            imported, [_spec(nodes[name.split(":")[0]]) for name in parameters]
        )

    def __call__(self, *arguments: Any) -> list[tf.Tensor]:
        """Computes.

        Args:
            *arguments: Leaves of the parameter in the order of its type, as anything that
                converts to a tensor; a sequence is `tf.data.experimental.to_variant(dataset)`.

        Returns:
            Leaves of the result, in the order of its type.
        """
        return list(self._function(*arguments))


def _spec(placeholder: Any) -> tf.TensorSpec:
    shape = tf.TensorShape(placeholder.attr["shape"].shape)
    return tf.TensorSpec(shape, tf.as_dtype(placeholder.attr["dtype"].type))


def _tensor_names(binding: Any) -> Iterator[str]:
    """Names of the tensors that make a value up, in the order of its type."""
    kind = binding.WhichOneof("binding")
    if kind == "struct":
        for element in binding.struct.element:
            yield from _tensor_names(element)
    elif kind == "tensor":
        yield binding.tensor.tensor_name
    elif kind == "sequence":
        yield binding.sequence.variant_tensor_name
