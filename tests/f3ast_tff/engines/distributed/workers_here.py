"""Workers without processes, for tests of their results."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

from f3ast_tff.core.federated_data import ClientExamples
from f3ast_tff.engines.distributed.workers import TrainedPart, TrainerFactory, owners, shard, split
from f3ast_tff.engines.engine import EngineParts
from f3ast_tff.methods.parts.strategy import Cohort


class WorkersHere:
    """See `RayWorkers`."""

    def __init__(
        self, make_trainer: TrainerFactory, examples: ClientExamples, num_workers: int
    ) -> None:
        self._owner = owners(examples.sizes, num_workers)
        self._trainers = [
            make_trainer(shard(examples, self._owner, worker)) for worker in range(num_workers)
        ]

    @classmethod
    def of(cls, engine: str, parts: EngineParts, num_workers: int) -> WorkersHere:
        """Workers of an engine, `"fused"` or TFF's."""
        trainer: Any
        if engine == "fused":
            from f3ast_tff.engines.jax.trainer import FusedTrainer as trainer
        else:
            from f3ast_tff.engines.tff.composition import TffTrainer as trainer
        return cls(partial(trainer, parts=parts, device="cpu"), parts.data.train, num_workers)

    def train(
        self,
        broadcast: Sequence[np.ndarray],
        round_number: int,
        cohort: Cohort,
        by_client: bool = False,
    ) -> list[TrainedPart]:
        parts = split(cohort, self._owner)
        return [
            self._trainers[w].train(broadcast, round_number, c, by_client) for w, c in parts.items()
        ]

    def statistics(self) -> dict[str, Any]:
        return {"num_workers": len(self._trainers)}

    def close(self) -> None:
        """Does nothing."""
