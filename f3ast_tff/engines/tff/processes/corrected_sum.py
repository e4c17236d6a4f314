"""The aggregate of FedLaAvg: the cohort's weighted sum and what absent clients last sent."""

from __future__ import annotations

from typing import Any

import tensorflow as tf
import tensorflow_federated as tff

from f3ast_tff.engines.tff.processes.importance_weighted_sum import ImportanceWeightedSumFactory


class CorrectedSumFactory(tff.aggregators.WeightedAggregationFactory):
    """g_t = c_t + sum_{i in B_t} p_i v_i(t), eq. (4) of FedLaAvg.

    The state is the correction c_t = g_{t-1} - sum_{i in B_t} p_i v_i(last), which whoever holds
    the latest updates puts there before each round; it starts from zero and is left as it is.
    """

    def create(self, value_type: Any, weight_type: Any) -> tff.templates.AggregationProcess:
        """Creates the aggregation process.

        Args:
            value_type: TFF type of an update, floats only.
            weight_type: TFF type of a weight, a float scalar.

        Returns:
            A process with a state like an update.
        """
        weighted_sum = ImportanceWeightedSumFactory().create(value_type, weight_type)

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

        @tff.federated_computation(
            initialize.type_signature.result,
            tff.FederatedType(value_type, tff.CLIENTS),
            tff.FederatedType(weight_type, tff.CLIENTS),
        )
        def next_fn(correction: Any, value: Any, weight: Any) -> Any:
            total = weighted_sum.next(weighted_sum.initialize(), value, weight)
            corrected = tff.federated_map(add, (total.result, correction))
            return tff.templates.MeasuredProcessOutput(correction, corrected, total.measurements)

        return tff.templates.AggregationProcess(initialize, next_fn)
