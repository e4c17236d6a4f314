"""The fused engine's half of a round on a worker: its clients trained and summed up."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import jax
import numpy as np

from f3ast_tff.engines.jax.devices import find_device
from f3ast_tff.engines.jax.optimizers import build_optimizer
from f3ast_tff.engines.jax.packing import pack
from f3ast_tff.engines.jax.round import FusedRound, Totals
from f3ast_tff.federated_data import ClientExamples
from f3ast_tff.local_training import LocalWork
from f3ast_tff.models import Model
from f3ast_tff.optimizer import Optimizer
from f3ast_tff.preprocessing import Inputs
from f3ast_tff.selection import Cohort


@dataclass(frozen=True)
class FusedTrainerFactory:
    """Makes a `FusedTrainer` of a shard, on the worker; a value that can be pickled.

    Attributes:
        model: The network.
        work: Local work of a client.
        client_optimizer: Of the local steps.
        inputs: From features to what the model reads.
        device: As for `FusedEngine`.
        cohort_size: Most clients that a worker trains in a round.
    """

    model: Model
    work: LocalWork
    client_optimizer: Optimizer
    inputs: Inputs
    device: str
    cohort_size: int

    def __call__(self, examples: ClientExamples) -> FusedTrainer:
        """Makes it."""
        return FusedTrainer(self, examples)


class FusedTrainer:
    """See `cluster.workers.Trainer`; the sums are the leaves of `Totals`."""

    def __init__(self, parts: FusedTrainerFactory, examples: ClientExamples) -> None:
        """Puts the shard on the device; compiles at first use."""
        self._parts = parts
        self._device = find_device(parts.device)
        self._offsets = examples.offsets
        self._features = jax.device_put(examples.features, self._device)
        self._labels = jax.device_put(examples.labels, self._device)
        self._num_lanes = 1 if self._device.platform == "cpu" else parts.cohort_size
        client = build_optimizer(parts.client_optimizer)
        decays = parts.client_optimizer.decay != 1
        fused_round = FusedRound(
            parts.model, parts.inputs, client, client, normalise=False, decays=decays
        )
        self._train = jax.jit(fused_round.train)

    def train(
        self, broadcast: Sequence[np.ndarray], round_number: int, cohort: Cohort
    ) -> list[np.ndarray]:
        """See `Trainer.train`; what is broadcast is the model's weights."""
        parts = self._parts
        packed = pack(
            cohort, parts.work, parts.inputs, round_number, self._offsets, self._num_lanes
        )
        rate = np.float32(parts.client_optimizer.rate(round_number))
        weights = jax.device_put(list(broadcast), self._device)
        totals, _ = self._train(weights, self._features, self._labels, packed.on_device, rate)
        return [np.asarray(leaf) for leaf in jax.tree_util.tree_leaves(totals)]

    def close(self) -> None:
        """Nothing to let go of."""


def merged(parts: Sequence[Sequence[np.ndarray]], weights: Any) -> Totals:
    """Returns the totals of a cohort from those of its parts, added in order."""
    total = [np.array(leaf) for leaf in parts[0]]
    for part in parts[1:]:
        for so_far, leaf in zip(total, part):
            so_far += leaf
    structure = jax.tree_util.tree_structure(Totals(weights, 0, 0, 0, 0))
    return jax.tree_util.tree_unflatten(structure, total)
