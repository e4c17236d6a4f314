"""TFF's half of a round on a worker: its clients trained, their updates accumulated."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from f3ast_tff.engines.distributed.workers import TrainedPart
from f3ast_tff.engines.engine import EngineParts
from f3ast_tff.engines.tff.client_feed import ClientFeed
from f3ast_tff.engines.tff.composition import TffComposition
from f3ast_tff.engines.tff.in_process import InProcessRuntime
from f3ast_tff.federated_data import ClientExamples
from f3ast_tff.methods.parts.strategy import Cohort


@dataclass(frozen=True)
class TffTrainerFactory:
    """Makes a `TffTrainer` of a shard, on the worker; a value that can be pickled.

    Attributes:
        composition: Of the learning process.
        device: As for `InProcessRuntime`.
    """

    composition: TffComposition
    device: str

    @classmethod
    def of(cls, parts: EngineParts, device: str) -> TffTrainerFactory:
        """Returns the factory for an engine's workers."""
        return cls(TffComposition.of(parts), device)

    def __call__(self, examples: ClientExamples) -> TffTrainer:
        """Makes it."""
        return TffTrainer(self, examples)


class TffTrainer:
    """See `distributed.workers.Trainer`; the sums are the process's own accumulator."""

    def __init__(self, made_of: TffTrainerFactory, examples: ClientExamples) -> None:
        """Builds the process and imports its parts."""
        composition = made_of.composition
        process = composition.parts(examples).compose()
        self._runtime = InProcessRuntime(process, made_of.device)
        self._feed = ClientFeed(examples, composition.work, composition.preprocessing)

    def train(
        self,
        broadcast: Sequence[np.ndarray],
        round_number: int,
        cohort: Cohort,
        by_client: bool = False,
    ) -> TrainedPart:
        """See `Trainer.train`; what is broadcast is `InProcessRuntime.prepare`'s."""
        feed = self._feed.datasets(round_number, cohort)
        return TrainedPart(cohort.ids, self._runtime.accumulate(broadcast, feed))

    def close(self) -> None:
        """Lets go of the runtime."""
        self._runtime.close()
