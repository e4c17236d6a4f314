"""The aggregate of F3AST: a weighted SUM of client updates (Algorithm 1, line 9)."""

from __future__ import annotations

from typing import Any

import tensorflow as tf
import tensorflow_federated as tff


class ImportanceWeightedSumFactory(tff.aggregators.WeightedAggregationFactory):
    """Delta = sum_k w_k v_k with the weights as given, w_k = p_k / r_k(t); no normalisation.

    Unlike `tff.aggregators.MeanFactory` it does not divide by the sum of the weights: their
    being 1 only on average is what makes the update unbiased (Lemma B.1).
    """

    def __init__(
        self, value_sum_factory: tff.aggregators.UnweightedAggregationFactory | None = None
    ) -> None:
        """Sets how weighted values are summed; by default `tff.aggregators.SumFactory`."""
        self._value_sum_factory = value_sum_factory or tff.aggregators.SumFactory()

    def create(self, value_type: Any, weight_type: Any) -> tff.templates.AggregationProcess:
        """Creates the aggregation process.

        Args:
            value_type: TFF type of an update, floats only.
            weight_type: TFF type of a weight, a float scalar.

        Returns:
            A process with the state and measurements of the inner sum.

        Raises:
            TypeError: If `value_type` is not a structure of floats.
        """
        if not tff.types.is_structure_of_floats(value_type):
            raise TypeError(f"updates must be floats to be weighted, not {value_type}")
        value_sum = self._value_sum_factory.create(value_type)

        @tff.tensorflow.computation(value_type, weight_type)
        def scale(value: Any, weight: Any) -> Any:
            return tf.nest.map_structure(lambda v: v * tf.cast(weight, v.dtype), value)

        @tff.federated_computation(
            value_sum.initialize.type_signature.result,
            tff.FederatedType(value_type, tff.CLIENTS),
            tff.FederatedType(weight_type, tff.CLIENTS),
        )
        def next_fn(state: Any, value: Any, weight: Any) -> Any:
            return value_sum.next(state, tff.federated_map(scale, (value, weight)))

        return tff.templates.AggregationProcess(value_sum.initialize, next_fn)
