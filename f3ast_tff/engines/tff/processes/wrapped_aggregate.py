"""Aggregates that go on from another one, on the server."""

from __future__ import annotations

from typing import Any

import tensorflow as tf
import tensorflow_federated as tff

from f3ast_tff.aggregation.aggregation import Aggregation


class MappedFactory(tff.aggregators.WeightedAggregationFactory):
    """An aggregate followed by `Aggregation.in_tf`."""

    def __init__(
        self, inner: tff.aggregators.WeightedAggregationFactory, aggregation: Aggregation
    ) -> None:
        """Takes the aggregate and what is made of it."""
        self._inner = inner
        self._aggregation = aggregation

    def create(self, value_type: Any, weight_type: Any) -> tff.templates.AggregationProcess:
        """Creates the aggregation process; its state is that of the inner one."""
        inner = self._inner.create(value_type, weight_type)

        @tff.tensorflow.computation(inner.next.type_signature.result.result.member)
        def change(delta: Any) -> Any:
            changed = self._aggregation.in_tf(tf.nest.flatten(delta))
            return tf.nest.pack_sequence_as(delta, tf.nest.flatten(changed))

        @tff.federated_computation(*_parameters(inner, value_type, weight_type))
        def next_fn(state: Any, value: Any, weight: Any) -> Any:
            output = inner.next(state, value, weight)
            changed = tff.federated_map(change, output.result)
            return tff.templates.MeasuredProcessOutput(output.state, changed, output.measurements)

        return tff.templates.AggregationProcess(inner.initialize, next_fn)


class CorrectedFactory(tff.aggregators.WeightedAggregationFactory):
    """An aggregate without state, and a correction added to it.

    The state is the correction, which whoever has a memory puts there before each round; it starts
    from zero and is left as it is.
    """

    def __init__(self, inner: tff.aggregators.WeightedAggregationFactory) -> None:
        """Takes the aggregate."""
        self._inner = inner

    def create(self, value_type: Any, weight_type: Any) -> tff.templates.AggregationProcess:
        """Creates the aggregation process; its state is like an update."""
        inner = self._inner.create(value_type, weight_type)

        @tff.tensorflow.computation
        def zeros() -> Any:
            return tff.types.structure_from_tensor_type_tree(
                lambda leaf: tf.zeros(leaf.shape, leaf.dtype), value_type
            )

        @tff.tensorflow.computation(value_type, value_type)
        def add(total: Any, correction: Any) -> Any:
            return tf.nest.map_structure(tf.add, total, correction)

        @tff.federated_computation
        def initialize() -> Any:
            return tff.federated_eval(zeros, tff.SERVER)

        _, *parameters = _parameters(inner, value_type, weight_type)

        @tff.federated_computation(initialize.type_signature.result, *parameters)
        def next_fn(correction: Any, value: Any, weight: Any) -> Any:
            total = inner.next(inner.initialize(), value, weight)
            corrected = tff.federated_map(add, (total.result, correction))
            return tff.templates.MeasuredProcessOutput(correction, corrected, total.measurements)

        return tff.templates.AggregationProcess(initialize, next_fn)


def _parameters(inner: tff.templates.AggregationProcess, value_type: Any, weight_type: Any) -> Any:
    return (
        inner.initialize.type_signature.result,
        tff.FederatedType(value_type, tff.CLIENTS),
        tff.FederatedType(weight_type, tff.CLIENTS),
    )
