"""The reference engine for late updates, which it keeps in host memory."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from f3ast_tff.engines.engine import EngineParts, LateCohort, RoundOutcome
from f3ast_tff.engines.forgetting import with_forgotten
from f3ast_tff.engines.host.late import LateUpdates
from f3ast_tff.engines.host.round import HostRound
from f3ast_tff.engines.host.sums import Sent
from f3ast_tff.engines.tff.engine import EnteringUpdates, model_of, trained_of
from f3ast_tff.engines.tff.host_sum_engine import HostSumTffEngine
from f3ast_tff.engines.tff.learning_process import RulesInTff
from f3ast_tff.methods.parts.strategy import Cohort


class LateTffEngine(HostSumTffEngine):
    """A `HostSumTffEngine` whose cohorts are each a `LateCohort`.

    A round is two rounds of TFF. In the first the asked clients train, each update is returned, and
    the server's step is discarded. The second has no clients; it steps along the sum of the
    entering updates, which TFF takes as a correction (see `CorrectedFactory`).
    """

    def __init__(self, parts: EngineParts, **options: Any) -> None:
        """Takes the options of `TffEngine`, without `workers`."""
        super().__init__(parts, **options)
        updates = np.zeros((0, len(model_of(self._state))), np.float32)
        self._late = LateUpdates(update=updates, loss=np.zeros(0), finite=np.zeros(0, bool))

    @staticmethod
    def _rules(parts: EngineParts) -> RulesInTff:
        return RulesInTff.reporting(parts.aggregation)

    def _run_round(self, round_number: int, cohort: Cohort, by_client: bool) -> RoundOutcome:
        assert isinstance(cohort, LateCohort)
        if len(cohort.asked):
            asked = Cohort(cohort.asked, np.zeros(len(cohort.asked)))
            output, _ = self._execute(self._state_at(round_number), round_number, asked)
            losses, finite = trained_of(output)
            updates = np.asarray(output.metrics["client_work"]["updates"])
            if self._parts.aggregation.mixes_models:
                updates = updates + model_of(self._state)
            self._late.keep(cohort, {"update": updates, "loss": losses, "finite": finite})
        memory, p = self._parts.aggregation.memory, self._parts.p
        entering = with_forgotten(cohort, memory, p, round_number)
        return super()._run_round(round_number, entering, by_client)

    def _train(self, state: Any, cohort: Cohort, now: HostRound) -> tuple[Any, EnteringUpdates]:
        """Adds up the updates of a cohort, and makes the step."""
        assert isinstance(cohort, LateCohort)
        parts = self._parts
        late = self._late.of(cohort.entering)
        updates, losses, finite = late["update"], late["loss"], late["finite"]
        if parts.aggregation.mixes_models:
            updates = updates - model_of(self._state)
        rates = np.array([parts.client_optimizer.rate(int(t)) for t in cohort.asked_in])
        steps = self._steps(cohort)
        starts = now.starts(cohort.ids, steps)
        at_rate = now.at_this_rate(updates, rates.astype(np.float32))
        weights = cohort.weights.astype(np.float32)
        sent = Sent(cohort.ids, steps, at_rate, weights, finite, starts)
        entering = EnteringUpdates(float("nan"), losses, finite, updates, steps, rates)
        output, entering = self._along(state, sent, entering, now, cohort.step)
        visits = parts.work.num_visits(parts.data.train.sizes[cohort.ids.astype(int)])
        known = entering.finite & ~np.isnan(losses) & (visits > 0)
        if known.any():
            mean = np.sum(losses[known] * visits[known]) / float(visits[known].sum())
            entering = replace(entering, train_loss=float(mean))
        return output, entering

    def state(self) -> dict[str, np.ndarray]:
        """Includes the updates under way."""
        return {**super().state(), **self._late.state()}

    def restore(self, state: dict[str, np.ndarray]) -> None:
        self._late.restore(state)
        super().restore(state)
