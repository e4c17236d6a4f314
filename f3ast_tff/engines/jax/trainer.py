"""The fused engine's part of a round on a worker: trains the worker's clients and sums up."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import jax
import numpy as np

from f3ast_tff.core.federated_data import ClientExamples
from f3ast_tff.core.local_training import LocalTraining
from f3ast_tff.core.preprocessing import Preprocessing
from f3ast_tff.engines.distributed.workers import TrainedPart
from f3ast_tff.engines.engine import EngineParts
from f3ast_tff.engines.jax.devices import at_precision, find_device
from f3ast_tff.engines.jax.optimizers import JaxOptimizer
from f3ast_tff.engines.jax.packing import Waves, default_lanes, pack
from f3ast_tff.engines.jax.round import FusedRound, RoundInputs
from f3ast_tff.engines.jax.server_step import ServerState, Totals
from f3ast_tff.methods.parts.aggregation import Aggregation
from f3ast_tff.methods.parts.strategy import Cohort
from f3ast_tff.models import Model
from f3ast_tff.optimizers import Optimizer


@dataclass(frozen=True)
class FusedTrainerFactory:
    """Makes the `FusedTrainer` of a shard on the worker; can be pickled.

    Attributes:
        model: The network, see `EngineParts`.
        preprocessing: Function from stored features to model input.
        work: Local training of a client.
        client_optimizer: Optimizer of the local steps.
        cohort_size: Largest number of clients that a worker trains in a round.
        device: See `FusedEngine`.
        matmul_precision: See `FusedEngine`.
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
        return cls(
            model=parts.model,
            preprocessing=parts.preprocessing,
            work=parts.work,
            client_optimizer=parts.client_optimizer,
            cohort_size=parts.cohort_size,
            device=device,
            matmul_precision=matmul_precision,
        )

    def __call__(self, examples: ClientExamples) -> FusedTrainer:
        """Returns the trainer of a shard."""
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
        # The server's part is not used here.
        fused_round = FusedRound(
            model=parts.model,
            preprocessing=parts.preprocessing,
            client=client,
            server=client,
            aggregation=Aggregation(),
            form=self._form,
        )
        train = at_precision(parts.matmul_precision, fused_round.train)
        self._train = jax.jit(train, static_argnames="by_client")

    def train(
        self,
        broadcast: Sequence[np.ndarray],
        round_number: int,
        cohort: Cohort,
        by_client: bool = False,
    ) -> TrainedPart:
        """See `Trainer.train`; `broadcast` holds the model's weights."""
        parts = self._parts
        packed = pack(
            cohort,
            parts.work,
            parts.preprocessing,
            round_number=round_number,
            offsets=self._offsets,
            form=self._form,
        )
        inputs = RoundInputs(
            features=self._features,
            labels=self._labels,
            work=packed.work,
            learning_rate=np.float32(parts.client_optimizer.rate(round_number)),
        )
        state = ServerState(jax.device_put(list(broadcast), self._device), (), {})
        trained = self._train(state, inputs, by_client=by_client)
        totals, by_lane, _ = jax.device_get(trained)
        sums = jax.tree_util.tree_leaves(totals)
        if not by_client:
            return TrainedPart(cohort.ids, sums)
        losses, delivered = packed.by_place(cohort.ids, by_lane.loss, by_lane.finite)
        return TrainedPart(cohort.ids, sums, losses, delivered)

    def close(self) -> None:
        """Does nothing."""


def merged(parts: Sequence[Sequence[np.ndarray]], weights: Any) -> Totals:
    """Returns a cohort's totals, shaped like `weights`: its parts' totals added in order."""
    zero = np.zeros((), np.float32)
    zeros = Totals([np.zeros_like(weight) for weight in weights], zero, zero, zero, zero)
    total = [np.array(leaf) for leaf in (parts[0] if parts else jax.tree_util.tree_leaves(zeros))]
    for part in parts[1:]:
        for so_far, leaf in zip(total, part):
            so_far += leaf
    return jax.tree_util.tree_unflatten(jax.tree_util.tree_structure(zeros), total)
