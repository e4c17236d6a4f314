"""The fused engine's half of a round on a worker: its clients trained and summed up."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import jax
import numpy as np

from f3ast_tff.engines.distributed.workers import TrainedPart
from f3ast_tff.engines.engine import EngineParts
from f3ast_tff.engines.jax.devices import at_precision, find_device
from f3ast_tff.engines.jax.optimizers import JaxOptimizer
from f3ast_tff.engines.jax.packing import pack
from f3ast_tff.engines.jax.round import FusedRound
from f3ast_tff.engines.jax.server_step import ServerState, Totals
from f3ast_tff.engines.jax.waves import Waves, default_lanes
from f3ast_tff.federated_data import ClientExamples
from f3ast_tff.local_training import LocalTraining
from f3ast_tff.methods.parts.aggregation import Aggregation
from f3ast_tff.methods.parts.strategy import Cohort
from f3ast_tff.models import Model
from f3ast_tff.optimizers import Optimizer
from f3ast_tff.preprocessing import Preprocessing


@dataclass(frozen=True)
class FusedTrainerFactory:
    """Makes a `FusedTrainer` of a shard, on the worker; a value that can be pickled.

    Attributes:
        model: See `EngineParts`, as for the others.
        preprocessing: From stored features to what the model reads.
        work: Local training of a client.
        client_optimizer: Of the local steps.
        cohort_size: Most clients that a worker trains in a round.
        device: As for `FusedEngine`.
        matmul_precision: As for `FusedEngine`.
    """

    model: Model
    preprocessing: Preprocessing
    work: LocalTraining
    client_optimizer: Optimizer
    cohort_size: int
    device: str
    matmul_precision: str = "highest"

    @classmethod
    def of(
        cls, parts: EngineParts, device: str, matmul_precision: str = "highest"
    ) -> FusedTrainerFactory:
        """Returns the factory for an engine's workers."""
        local = (parts.model, parts.preprocessing, parts.work, parts.client_optimizer)
        return cls(*local, parts.cohort_size, device, matmul_precision)

    def __call__(self, examples: ClientExamples) -> FusedTrainer:
        """Makes it."""
        return FusedTrainer(self, examples)


class FusedTrainer:
    """See `distributed.workers.Trainer`; the sums are the leaves of `Totals`."""

    def __init__(self, parts: FusedTrainerFactory, examples: ClientExamples) -> None:
        """Puts the shard on the device; compiles at first use."""
        self._parts = parts
        self._device = find_device(parts.device)
        self._offsets = examples.offsets
        self._features = jax.device_put(examples.features, self._device)
        self._labels = jax.device_put(examples.labels, self._device)
        platform, clients = self._device.platform, parts.cohort_size
        lanes = default_lanes(platform, parts.model, clients)
        num_steps = parts.work.num_batches(np.diff(examples.offsets))
        self._form = Waves.of(platform, lanes, clients, num_steps, every_client=False)
        client = JaxOptimizer(parts.client_optimizer)
        # Of the server's half nothing is used here.
        fused_round = FusedRound(
            parts.model, parts.preprocessing, client, client, Aggregation(), self._form
        )
        train = at_precision(parts.matmul_precision, fused_round.train)
        self._train = jax.jit(train, static_argnums=6)

    def train(
        self,
        broadcast: Sequence[np.ndarray],
        round_number: int,
        cohort: Cohort,
        by_client: bool = False,
    ) -> TrainedPart:
        """See `Trainer.train`; what is broadcast is the model's weights."""
        parts = self._parts
        work = (parts.work, parts.preprocessing, round_number, self._offsets, self._form)
        packed = pack(cohort, *work)
        rate = np.float32(parts.client_optimizer.rate(round_number))
        state = ServerState(jax.device_put(list(broadcast), self._device), (), {})
        data = (self._features, self._labels, packed.on_device, rate)
        totals, by_lane, _ = jax.device_get(self._train(state, *data, None, by_client))
        sums = jax.tree_util.tree_leaves(totals)
        if not by_client:
            return TrainedPart(cohort.ids, sums)
        outcome = packed.by_place(cohort.ids, by_lane.loss, by_lane.finite)
        return TrainedPart(cohort.ids, sums, *outcome)

    def close(self) -> None:
        """Nothing to let go of."""


def merged(parts: Sequence[Sequence[np.ndarray]], weights: Any) -> Totals:
    """Returns the totals of a cohort, like `weights`, from those of its parts, added in order."""
    zeros = Totals([np.zeros_like(weight) for weight in weights], *[np.zeros((), np.float32)] * 4)
    total = [np.array(leaf) for leaf in (parts[0] if parts else jax.tree_util.tree_leaves(zeros))]
    for part in parts[1:]:
        for so_far, leaf in zip(total, part):
            so_far += leaf
    return jax.tree_util.tree_unflatten(jax.tree_util.tree_structure(zeros), total)
