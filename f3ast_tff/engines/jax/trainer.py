"""Clients' data on a device, their packed work, and a worker's trainer, which sums up."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import jax
import numpy as np

from f3ast_tff.core.federated_data import ClientExamples
from f3ast_tff.engines.engine import EngineParts
from f3ast_tff.engines.jax.devices import at_precision, find_device
from f3ast_tff.engines.jax.local_sgd import CrossEntropy, LocalSgd
from f3ast_tff.engines.jax.optimizers import JaxOptimizer
from f3ast_tff.engines.jax.packing import PackedCohort, Waves, by_place, default_lanes, pack
from f3ast_tff.engines.jax.round import FusedRound, RoundInputs
from f3ast_tff.engines.jax.server_step import ClientSums, MemoryInputs, ServerState
from f3ast_tff.methods.parts.strategy import Cohort

if TYPE_CHECKING:
    from f3ast_tff.engines.distributed.workers import TrainedPart
    from f3ast_tff.models.scores import Scoring


class ClientsOnDevice:
    """Training data on a device, and the inputs of its rounds.

    Attributes:
        device: JAX's device.
        features: Training features of all clients, on the device.
        labels: Their labels, on the device.
        form: Layout of a round's clients.
    """

    def __init__(
        self,
        parts: EngineParts,
        examples: ClientExamples,
        device: str,
        num_lanes: int | None = None,
    ) -> None:
        """Puts the examples on the device; see `FusedEngine`.

        Raises:
            ParameterError: If there is no such device.
        """
        self._parts = parts
        self._offsets = examples.offsets
        self.device = find_device(device)
        self.features, self.labels = self.put(examples.features), self.put(examples.labels)
        platform, clients, memory = self.platform, parts.cohort_size, parts.aggregation.memory
        self.form = Waves.of(
            platform,
            lanes=num_lanes or default_lanes(platform, parts.model, clients),
            clients=clients,
            num_steps=parts.work.num_batches(examples.sizes),
            every_client=parts.late
            or parts.aggregation.stacks
            or (memory is not None and memory.by_client),
        )

    @property
    def platform(self) -> str:
        """JAX's name of the kind of device, such as `cpu`."""
        return str(self.device.platform)

    def put(self, tree: Any) -> Any:
        """Returns a tree of arrays on the device."""
        return jax.device_put(tree, self.device)

    @property
    def sgd(self) -> LocalSgd:
        """Local training of the parts in this layout."""
        parts, memory = self._parts, self._parts.aggregation.memory
        return LocalSgd(
            model=parts.model,
            preprocessing=parts.preprocessing,
            optimizer=JaxOptimizer(parts.client_optimizer),
            equal_steps=self.form.equal_steps,
            keeps_previous=memory is not None and memory.last_step,
            start_loss=memory is not None and memory.start_loss,
            sums=sums_of(parts.scoring),
            buffers=parts.buffer_leaves,
            held=parts.held_leaves,
        )

    def fused_round(self, sgd: LocalSgd) -> FusedRound:
        """Returns the round of the parts with this local training."""
        parts = self._parts
        server = JaxOptimizer(parts.server_optimizer)
        return FusedRound(sgd, server, parts.aggregation, self.form)

    def pack(self, round_number: int, cohort: Cohort) -> PackedCohort:
        """Packs the local work of a cohort."""
        parts = self._parts
        return pack(
            cohort,
            parts.work,
            parts.preprocessing,
            round_number=round_number,
            offsets=self._offsets,
            form=self.form,
        )

    def inputs(
        self, round_number: int, packed: PackedCohort, memory_inputs: MemoryInputs | None = None
    ) -> RoundInputs:
        """Returns the inputs of a packed cohort's round."""
        rate = np.float32(self._parts.client_optimizer.rate(round_number))
        return RoundInputs(self.features, self.labels, packed.work, rate, memory_inputs)


class FusedTrainer:
    """A `distributed.workers.Trainer` whose sums are the leaves of `ClientSums`."""

    def __init__(
        self,
        examples: ClientExamples,
        parts: EngineParts,
        device: str,
        matmul_precision: str = "highest",
    ) -> None:
        """Puts the shard on the device; compiles at first use.

        Args:
            examples: The shard.
            parts: Parts of the engine; their data are not used.
            device: See `FusedEngine`.
            matmul_precision: See `FusedEngine`.
        """
        self._clients = ClientsOnDevice(parts, examples, device)
        train = at_precision(matmul_precision, self._clients.fused_round(self._clients.sgd).train)
        self._train = jax.jit(train, static_argnames="by_client")

    def train(
        self,
        broadcast: Sequence[np.ndarray],
        round_number: int,
        cohort: Cohort,
        by_client: bool = False,
    ) -> TrainedPart:
        """`broadcast` holds the model's weights."""
        from f3ast_tff.engines.distributed.workers import TrainedPart

        packed = self._clients.pack(round_number, cohort)
        state = ServerState(self._clients.put(list(broadcast)), (), {})
        inputs = self._clients.inputs(round_number, packed)
        trained = self._train(state, inputs, by_client=by_client)
        totals, by_lane, _, _ = jax.device_get(trained)
        sums = jax.tree_util.tree_leaves(totals)
        if not by_client:
            return TrainedPart(cohort.ids, sums)
        losses, delivered = by_place(cohort.ids, packed.member, *by_lane)
        return TrainedPart(cohort.ids, sums, losses, delivered)


def sums_of(scoring: Scoring | None) -> Any:
    """Returns the loss and the scores of a composition."""
    if scoring is None:
        return CrossEntropy()
    # Most models bring none.
    from f3ast_tff.engines.jax.own_scores import OwnSums

    return OwnSums(scoring)


def merged(parts: Sequence[Sequence[np.ndarray]], weights: Any) -> ClientSums:
    """Returns a cohort's totals, shaped like `weights`: its parts' totals added in order."""
    zero = np.zeros((), np.float32)
    zeros = ClientSums([np.zeros_like(weight) for weight in weights], *[zero] * 5)
    total = [np.array(leaf) for leaf in (parts[0] if parts else jax.tree_util.tree_leaves(zeros))]
    for part in parts[1:]:
        for so_far, leaf in zip(total, part):
            so_far += leaf
    return jax.tree_util.tree_unflatten(jax.tree_util.tree_structure(zeros), total)
