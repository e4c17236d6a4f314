"""The learning process of every algorithm: one composition with exchangeable parts.

FedAvg and F3AST differ in the aggregate (and in selection, which happens outside TFF). FedAdam
differs from FedAvg in the server optimizer.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import tensorflow as tf
import tensorflow_federated as tff

from f3ast_tff.engines.tff.client_work import (
    ClientBatches,
    ClientStart,
    CorrectedModel,
    build_weighted_client_work,
    sum_and_collect,
)
from f3ast_tff.methods.parts.aggregation import Aggregation
from f3ast_tff.optimizers import Optimizer


@dataclass(frozen=True)
class RulesInTff:
    """What a learning process holds of an aggregation; its other rules are the host's, in NumPy.

    Aggregations alike in these share a process.

    Attributes:
        normalise: Whether the weighted sum is divided by the sum of weights.
        corrected: Whether the state holds a correction, and whether to divide, for a memory.
        reports: Whether each client's update is returned.
        last_step: See `Memory.last_step`.
        echo_clip: See `Memory.echo_clip`.
        start: What the server sends to clients besides the model.
        followed_by: The aggregation, if it has an `in_tf` of its own.
    """

    normalise: bool = False
    corrected: bool = False
    reports: bool = False
    last_step: bool = False
    echo_clip: float | None = None
    start: ClientStart = ClientStart()
    followed_by: Aggregation | None = None

    @classmethod
    def of(cls, aggregation: Aggregation, num_weights: int) -> RulesInTff:
        """Returns the rules of an aggregation, for a model of `num_weights`."""
        memory = aggregation.memory
        followed_by = cls.reporting(aggregation).followed_by
        if memory is None:
            return cls(normalise=aggregation.normalise, followed_by=followed_by)
        return cls(
            corrected=True,
            reports=memory.by_client,
            last_step=memory.last_step,
            echo_clip=memory.echo_clip,
            start=ClientStart.of(memory, num_weights),
            followed_by=followed_by,
        )

    @classmethod
    def reporting(cls, aggregation: Aggregation) -> RulesInTff:
        """Returns rules that report every update, whose sum the engine gives as a correction."""
        own = type(aggregation).in_tf is not Aggregation.in_tf
        return cls(corrected=True, reports=True, followed_by=aggregation if own else None)


class ImportanceWeightedSumFactory(tff.aggregators.WeightedAggregationFactory):
    """Delta = sum_k w_k v_k with the weights as given, p_k / r_k(t) for F3AST; no normalisation.

    Unlike `tff.aggregators.MeanFactory` it does not divide by the sum of the weights. The sum is 1
    only on average, which makes the update unbiased (Lemma B.1).
    """

    def __init__(
        self, value_sum_factory: tff.aggregators.UnweightedAggregationFactory | None = None
    ) -> None:
        """Sets the sum of weighted values; by default `tff.aggregators.SumFactory`."""
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


class MappedFactory(tff.aggregators.WeightedAggregationFactory):
    """An aggregate followed by `Aggregation.in_tf`."""

    def __init__(
        self, inner: tff.aggregators.WeightedAggregationFactory, aggregation: Aggregation
    ) -> None:
        """Takes the factory of the aggregate, and the aggregation whose `in_tf` follows."""
        self._inner = inner
        self._aggregation = aggregation

    def create(self, value_type: Any, weight_type: Any) -> tff.templates.AggregationProcess:
        """Creates the aggregation process; it has the state of the inner process."""
        inner = self._inner.create(value_type, weight_type)

        @tff.tensorflow.computation(inner.next.type_signature.result.result.member)
        def change(delta: Any) -> Any:
            # TFF's aggregate is minus Delta.
            changed = self._aggregation.in_tf([-leaf for leaf in tf.nest.flatten(delta)])
            step = [-leaf for leaf in tf.nest.flatten(changed)]
            return tf.nest.pack_sequence_as(delta, step)

        @tff.federated_computation(
            inner.initialize.type_signature.result,
            tff.FederatedType(value_type, tff.CLIENTS),
            tff.FederatedType(weight_type, tff.CLIENTS),
        )
        def next_fn(state: Any, value: Any, weight: Any) -> Any:
            output = inner.next(state, value, weight)
            changed = tff.federated_map(change, output.result)
            return tff.templates.MeasuredProcessOutput(output.state, changed, output.measurements)

        return tff.templates.AggregationProcess(inner.initialize, next_fn)


class CorrectedFactory(tff.aggregators.WeightedAggregationFactory):
    """The weighted sum or mean plus a correction; a memory chooses both in each round.

    The state holds the correction, like an update D_k (TFF's updates have the opposite sign), and
    `mean`, whether weights are divided by their sum. The engine sets the state before a round; the
    round does not change it. With an `echo_clip` clients send `echo` and `shift`; the sum or mean
    of `echo` is clipped, then the sum or mean of `shift` is added.
    """

    def __init__(self, echo_clip: float | None = None) -> None:
        """Takes the norm, see `Memory.echo_clip`."""
        self._echo_clip = echo_clip

    def create(self, value_type: Any, weight_type: Any) -> tff.templates.AggregationProcess:
        """Creates the aggregation process."""
        total = ImportanceWeightedSumFactory().create(value_type, weight_type)
        echo_clip = self._echo_clip
        delta_type = value_type if echo_clip is None else value_type.echo

        @tff.tensorflow.computation
        def nothing() -> Any:
            zeros = tff.types.structure_from_tensor_type_tree(
                lambda leaf: tf.zeros(leaf.shape, leaf.dtype), delta_type
            )
            return OrderedDict(correction=zeros, mean=tf.constant(False))

        @tff.tensorflow.computation(value_type, weight_type, nothing.type_signature.result)
        def correct(update: Any, weight: Any, state: Any) -> Any:
            # Without clients, or without weight, Delta is only the correction.
            divides = tf.logical_and(state["mean"], tf.not_equal(weight, 0.0))
            divisor = tf.where(divides, weight, tf.ones_like(weight))
            update = tf.nest.map_structure(lambda u: u / divisor, update)
            if echo_clip is not None:
                echo, shift = (tf.nest.flatten(update[name]) for name in ("echo", "shift"))
                echo = tf.clip_by_global_norm(echo, echo_clip)[0]
                update = tf.nest.pack_sequence_as(
                    update["echo"], [e + s for e, s in zip(echo, shift)]
                )
            return tf.nest.map_structure(lambda u, c: u - c, update, state["correction"])

        @tff.federated_computation
        def initialize() -> Any:
            return tff.federated_eval(nothing, tff.SERVER)

        @tff.federated_computation(
            initialize.type_signature.result,
            tff.FederatedType(value_type, tff.CLIENTS),
            tff.FederatedType(weight_type, tff.CLIENTS),
        )
        def next_fn(state: Any, value: Any, weight: Any) -> Any:
            added = total.next(total.initialize(), value, weight)
            weights = tff.federated_sum(weight)
            corrected = tff.federated_map(correct, (added.result, weights, state))
            return tff.templates.MeasuredProcessOutput(state, corrected, added.measurements)

        return tff.templates.AggregationProcess(initialize, next_fn)


class _Clipped(tff.learning.optimizers.Optimizer):
    """An optimizer whose gradients are first clipped to a global norm."""

    def __init__(self, inner: tff.learning.optimizers.Optimizer, norm: float) -> None:
        self._inner = inner
        self._norm = norm

    def initialize(self, specs: Any) -> Any:
        return self._inner.initialize(specs)

    def next(self, state: Any, weights: Any, gradients: Any) -> Any:
        clipped, _ = tf.clip_by_global_norm(tf.nest.flatten(gradients), self._norm)
        return self._inner.next(state, weights, tf.nest.pack_sequence_as(gradients, clipped))

    def get_hparams(self, state: Any) -> Any:
        return self._inner.get_hparams(state)

    def set_hparams(self, state: Any, hparams: Any) -> Any:
        return self._inner.set_hparams(state, hparams)


class _Holding(tff.learning.optimizers.Optimizer):
    """An optimizer that leaves the variables at some places as they are."""

    def __init__(self, inner: tff.learning.optimizers.Optimizer, places: tuple[int, ...]) -> None:
        self._inner = inner
        self._places = places

    def initialize(self, specs: Any) -> Any:
        return self._inner.initialize(specs)

    def next(self, state: Any, weights: Any, gradients: Any) -> Any:
        zeros = [tf.zeros_like(gradient) for gradient in tf.nest.flatten(gradients)]
        state, stepped = self._inner.next(state, weights, self._with(gradients, zeros))
        return state, self._with(stepped, tf.nest.flatten(weights))

    def _with(self, values: Any, others: list[Any]) -> Any:
        leaves = list(tf.nest.flatten(values))
        for place in self._places:
            leaves[place] = others[place]
        return tf.nest.pack_sequence_as(values, leaves)

    def get_hparams(self, state: Any) -> Any:
        return self._inner.get_hparams(state)

    def set_hparams(self, state: Any, hparams: Any) -> Any:
        return self._inner.set_hparams(state, hparams)


def build_optimizer(
    optimizer: Optimizer, buffers: tuple[int, ...] = ()
) -> tff.learning.optimizers.Optimizer:
    """Returns the TFF optimizer that a value describes; it never steps the buffers.

    Raises:
        ParameterError: If the optimizer has no form in TFF.
    """
    built, limit = optimizer.in_tff(), optimizer.clip_norm
    built = built if limit is None else _Clipped(built, limit)
    return _Holding(built, buffers) if buffers else built


def build_process(
    model_fn: Callable[[], tff.learning.models.VariableModel],
    batches: ClientBatches,
    client_optimizer: Optimizer,
    server_optimizer: Optimizer,
    rules: RulesInTff,
    buffers: tuple[int, ...] = (),
) -> tff.learning.templates.LearningProcess:
    """Builds a learning process.

    Args:
        model_fn: Function that makes the model; its `input_spec` must be
            `OrderedDict(x=..., y=...)`.
        batches: Maker of a client's batches and start.
        client_optimizer: Optimizer of the local steps.
        server_optimizer: Optimizer of the step along the aggregate.
        rules: From the weighted updates to the aggregate; `corrected` ones have a state that takes
            a correction, see `CorrectedFactory`.
        buffers: Places of the weights that are buffers, which no step changes.

    Returns:
        A process whose `next` takes `client_work.client_dataset`s. Its metrics hold, besides TFF's
        metrics, `aggregator/update_norm` (the L2 norm of Delta) and, for each client,
        `client_work/delivered` and `client_work/inner/train/client_losses`; if `rules.reports`
        also `client_work/updates` and `aggregator/delta`.
    """

    def trained_model() -> tff.learning.models.VariableModel:
        if not batches.start.of_batches:
            return model_fn()
        return CorrectedModel(model_fn(), batches.start)

    @tff.tensorflow.computation
    def initial_weights() -> Any:
        return tff.learning.models.ModelWeights.from_model(model_fn())

    weights_type = initial_weights.type_signature.result
    local_training = tff.learning.templates.build_model_delta_client_work(
        trained_model,
        build_optimizer(client_optimizer, buffers),
        tff.learning.ClientWeighting.UNIFORM,
        sum_and_collect,
        # The alternative, `Dataset.reduce`, prepares the training step anew for every client if
        # TensorFlow runs in this process, and keeps it off a GPU.
        loop_implementation=tff.learning.LoopImplementation.DATASET_ITERATOR,
    )
    aggregator = tff.aggregators.add_measurements(
        aggregation_factory(rules),
        server_measurement_fn=_norm_and_delta if rules.reports else _update_norm,
    )
    client_work = build_weighted_client_work(
        local_training, batches, returns_updates=rules.reports, last_step=rules.last_step
    )
    update_type = client_work.next.type_signature.result.result.member.update
    return tff.learning.templates.compose_learning_process(
        initial_model_weights_fn=initial_weights,
        model_weights_distributor=tff.learning.templates.build_broadcast_process(weights_type),
        client_work=client_work,
        model_update_aggregator=aggregator.create(
            update_type, tff.TensorType(tf.float32.as_numpy_dtype)
        ),
        model_finalizer=tff.learning.templates.build_apply_optimizer_finalizer(
            build_optimizer(server_optimizer, buffers), weights_type
        ),
    )


def aggregation_factory(rules: RulesInTff) -> tff.aggregators.WeightedAggregationFactory:
    """Returns TFF's form of the rules; see `build_process`."""
    factory: tff.aggregators.WeightedAggregationFactory = ImportanceWeightedSumFactory()
    if rules.corrected:
        factory = CorrectedFactory(rules.echo_clip)
    elif rules.normalise:
        factory = tff.aggregators.MeanFactory()
    if rules.followed_by is None:
        return factory
    return MappedFactory(factory, rules.followed_by)


def _update_norm(aggregate: Any) -> Any:
    @tff.tensorflow.computation(aggregate.type_signature.member)
    def norm(update: Any) -> Any:
        return tf.linalg.global_norm(tf.nest.flatten(update))

    return tff.federated_zip(OrderedDict(update_norm=tff.federated_map(norm, aggregate)))


def _norm_and_delta(aggregate: Any) -> Any:
    @tff.tensorflow.computation(aggregate.type_signature.member)
    def norm_and_delta(update: Any) -> Any:
        leaves = tf.nest.flatten(update)
        flat = tf.concat([tf.reshape(leaf, [-1]) for leaf in leaves], axis=0)
        return OrderedDict(update_norm=tf.linalg.global_norm(leaves), delta=-flat)

    return tff.federated_map(norm_and_delta, aggregate)
