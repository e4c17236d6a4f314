"""The reference engine for rules between training and the sum, which it applies on the host."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import tensorflow_federated as tff

from f3ast_tff.engines.engine import EngineParts, ExampleScores
from f3ast_tff.engines.host.round import HostRound
from f3ast_tff.engines.host.sums import Sent, check_stack, client_losses_of
from f3ast_tff.engines.tff.composition import rules_of
from f3ast_tff.engines.tff.engine import EnteringUpdates, TffEngine, aggregating
from f3ast_tff.engines.tff.learning_process import RulesInTff
from f3ast_tff.methods.parts.aggregation import Aggregation
from f3ast_tff.methods.parts.host_memory import leaves_of
from f3ast_tff.methods.parts.memory import ClientLosses, Memory
from f3ast_tff.methods.parts.strategy import Cohort


class HostSumTffEngine(TffEngine):
    """A `TffEngine` that adds updates up in host memory, in NumPy.

    It applies `Memory.message`, `Memory.aggregated` and `Aggregation.combine`. A round is two
    rounds of TFF. In the first the clients train, each update is returned, and the server's step is
    discarded. The second has no clients; it steps along Delta, which TFF takes as a correction (see
    `CorrectedFactory`).
    """

    def __init__(self, parts: EngineParts, **options: Any) -> None:
        """Takes the options of `TffEngine`, without `workers`."""
        super().__init__(parts, **options)
        if parts.aggregation.stacks:
            num_weights = sum(weight.size for weight in self.weights())
            check_stack(parts.aggregation, parts.cohort_size, num_weights)

    @staticmethod
    def needed(aggregation: Aggregation) -> bool:
        """Whether an aggregation has rules between training and the sum, or on the sum."""
        memory = aggregation.memory
        rules = type(memory).aggregated is not Memory.aggregated if memory is not None else False
        return aggregation.stacks or rules or (memory is not None and memory.has_messages)

    @staticmethod
    def _rules(parts: EngineParts) -> RulesInTff:
        rules = rules_of(parts)
        return rules if rules.reports else RulesInTff.reporting(parts.aggregation)

    def _train(self, state: Any, cohort: Cohort, now: HostRound) -> tuple[Any, EnteringUpdates]:
        _, entering = super()._train(state, cohort, now)
        starts = now.starts(cohort.ids, entering.steps)
        num_weights = sum(weight.size for weight in self.weights())
        # Without clients TFF returns no updates of the model's length.
        updates = entering.updates.reshape(len(cohort), num_weights)
        weights = cohort.weights.astype(np.float32)
        sent = Sent(cohort.ids, entering.steps, updates, weights, entering.finite, starts)
        return self._along(state, sent, entering, now)

    def _along(
        self, state: Any, sent: Sent, entering: EnteringUpdates, now: HostRound, step: float = 1.0
    ) -> tuple[Any, EnteringUpdates]:
        """Adds contributions up and makes `step` times the server's step along them."""

        def losses() -> list[ClientLosses]:
            return client_losses_of(
                entering.losses,
                sent.starts,
                sent.ids,
                parts=self._parts,
                round_number=now.number,
                model=now.model,
                score=self._scores,
            )

        with np.errstate(all="ignore"):
            folded = now.fold(sent, losses)
        finite, weights = folded.sent.finite, folded.sent.weights
        entering = replace(entering, finite=finite, weights=weights, combined=folded.changed)
        return self._stepped(state, folded.delta, np.float32(step)), entering

    def _scores(self, model: np.ndarray, rows: np.ndarray) -> ExampleScores:
        train = self._parts.data.train
        weights = leaves_of(model, self.weights())
        return self._scorer.examples(weights, train.features[rows], train.labels[rows])

    def _stepped(self, state: Any, delta: np.ndarray, step: np.float32) -> Any:
        """Makes the server's step along Delta; scales the model's movement by `step`."""
        along = aggregating(state, delta.astype(np.float32), mean=False)
        output = self._runtime.next(along, [])
        if step == 1:
            return output
        before, weights = state.global_model_weights, output.state.global_model_weights
        moved = [
            np.asarray(old) + step * (np.asarray(after) - np.asarray(old))
            for old, after in zip(before.trainable, weights.trainable)
        ]
        placed = tff.learning.models.ModelWeights(moved, weights.non_trainable)
        return output._replace(state=output.state._replace(global_model_weights=placed))
