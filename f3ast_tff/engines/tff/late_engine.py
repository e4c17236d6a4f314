"""The reference engine for late updates, which it keeps in host memory."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
import tensorflow as tf
import tensorflow_federated as tff

from f3ast_tff.core.errors import EngineError
from f3ast_tff.engines.engine import EngineParts, Flight, RoundOutcome, empty_round
from f3ast_tff.engines.tff.engine import TffEngine, left_alone, model_of
from f3ast_tff.methods.parts.aggregation import Aggregation
from f3ast_tff.methods.parts.host_memory import leaves_of
from f3ast_tff.methods.parts.memory import Memory, RoundContext
from f3ast_tff.methods.parts.strategy import Cohort

_PREFIX = "late_"


class _NoRules(Memory):
    """A memory without rules: TFF returns every update, and adds the state's term to Delta."""

    numbers: ClassVar[tuple[str, ...]] = ("nothing",)


@dataclass(frozen=True)
class _Reporting(Aggregation):
    """An aggregation for rounds whose sum the engine computes."""

    inner: Aggregation

    def in_tf(self, delta: list[Any]) -> list[Any]:
        return self.inner.in_tf(delta)

    @property
    def memory(self) -> Memory:
        return _NoRules()


class LateTffEngine(TffEngine):
    """A `TffEngine` with a `Flight` per round.

    A round is two rounds of TFF. In the first the asked clients train, each update is returned, and
    the server's step is discarded. The second has no clients; it steps along the sum of the
    entering updates, which TFF takes as a correction (see `CorrectedFactory`).
    """

    def __init__(self, parts: EngineParts, **options: Any) -> None:
        """See `TffEngine.__init__`; takes the same options without `workers`."""
        super().__init__(parts, **options)
        num_weights = len(model_of(self._state))
        # A row per slot: updates, mean losses, and whether updates are finite.
        updates = np.zeros((0, num_weights), np.float32)
        self._late: list[np.ndarray] = [updates, np.zeros(0), np.zeros(0, bool)]

    @staticmethod
    def _aggregation(parts: EngineParts) -> Aggregation:
        return _Reporting(parts.aggregation)

    def run_rounds(
        self,
        first_round: int,
        cohorts: Sequence[Cohort],
        by_client: bool = False,
        flights: Sequence[Flight] = (),
    ) -> list[RoundOutcome]:
        """See `TffEngine.run_rounds`."""
        outcomes = []
        for t, (cohort, flight) in enumerate(zip(cohorts, flights), start=first_round):
            try:
                state = self._state_at(t)
                if len(flight.asked):
                    self._start(t, state, flight)
                outcomes.append(self._enter(t, state, cohort, flight, by_client))
            except EngineError as error:
                raise EngineError(f"round {t}: {error}") from error
        return outcomes

    def _start(self, round_number: int, state: Any, flight: Flight) -> None:
        """Trains the asked clients and keeps their updates."""
        cohort = Cohort(flight.asked, np.zeros(len(flight.asked)))
        output, _ = self._execute(state, round_number, cohort)
        metrics = output.metrics["client_work"]
        losses = np.asarray(metrics["inner"]["train"]["client_losses"], np.float64)
        found = (np.asarray(metrics["updates"]), losses, np.asarray(metrics["delivered"]) > 0)
        rows = int(flight.slots.max()) + 1
        for i, new in enumerate(found):
            missing = max(0, rows - len(self._late[i]))
            room = np.zeros((missing, *new.shape[1:]), self._late[i].dtype)
            self._late[i] = np.concatenate([self._late[i], room])
            self._late[i][flight.slots] = new

    def _enter(
        self, round_number: int, state: Any, cohort: Cohort, flight: Flight, by_client: bool
    ) -> RoundOutcome:
        """Adds up the updates of a cohort, in the order of their slots, and makes the step."""
        parts, memory, model = self._parts, self._memory, model_of(state)
        if len(cohort) == 0 and memory is None:
            return empty_round(by_client)
        ids = cohort.ids.astype(np.int64)
        updates, losses, finite = (rows[flight.entering] for rows in self._late)
        steps = parts.work.num_batches(parts.data.train.sizes[ids])
        rate = np.float32(parts.client_optimizer.rate(round_number))
        mean, sent = parts.aggregation.normalise, updates
        correction: Any = np.float32(0)
        now: RoundContext | None = None
        if memory is not None:
            now = memory.now(round_number, float(rate), model)
            mean, correction = memory.mean(mean, now), memory.correction(now)
            starts = memory.starts(ids, steps, now)
            sent = np.array([_contribution(d, start) for d, start in zip(updates, starts)])
        delta, weight = np.zeros_like(model), np.float32(0)
        weights = cohort.weights.astype(np.float32)
        order = np.argsort(flight.entering, kind="stable")
        for place in order[finite[order]]:
            delta, weight = delta + weights[place] * sent[place], weight + weights[place]
        if mean and (weight != 0 or memory is None):
            # Without a memory a mean of weight 0 is not finite, and the round is rejected.
            with np.errstate(divide="ignore", invalid="ignore"):
                delta = delta / weight
        output = self._stepped(state, delta + correction, np.float32(cohort.step))
        outcome = self._outcome(ids, losses, finite, by_client)
        norm = float(output.metrics["aggregator"]["update_norm"])
        if memory is None or now is None:
            non_finite = bool(output.metrics["finalizer"]["update_non_finite"])
            stepped = model_of(output.state)
            if not finite.any() or non_finite or not np.isfinite(stepped).all():
                return left_alone(outcome)
            self._state = output.state
            return replace(outcome, update_norm=norm)
        rates = np.array([parts.client_optimizer.rate(int(t)) for t in flight.asked_in])
        came = (ids, finite, updates, steps)
        return self._advance(memory, now, output, outcome, came, rates)

    def _stepped(self, state: Any, delta: np.ndarray, step: np.float32) -> Any:
        """Makes the server's step along Delta; scales the model's movement by `step`."""
        like = state.aggregator["correction"]
        leaves = leaves_of(delta.astype(np.float32), tf.nest.flatten(like))
        correction = tf.nest.pack_sequence_as(like, leaves)
        new = OrderedDict(correction=correction, mean=np.bool_(False))
        aggregator = type(state.aggregator)(new)
        output = self._runtime.next(state._replace(aggregator=aggregator), [])
        if step == 1:
            return output
        before, weights = state.global_model_weights, output.state.global_model_weights
        moved = [
            np.asarray(old) + step * (np.asarray(after) - np.asarray(old))
            for old, after in zip(before.trainable, weights.trainable)
        ]
        placed = tff.learning.models.ModelWeights(moved, weights.non_trainable)
        return output._replace(state=output.state._replace(global_model_weights=placed))

    def _outcome(
        self, ids: np.ndarray, losses: np.ndarray, finite: np.ndarray, by_client: bool
    ) -> RoundOutcome:
        sizes = self._parts.data.train.sizes[ids]
        count = np.where(finite & ~np.isnan(losses), self._parts.work.num_visits(sizes), 0)
        known = count > 0
        total = float(np.sum(losses[known] * count[known]))
        return RoundOutcome(
            train_loss=total / float(count.sum()) if known.any() else float("nan"),
            update_norm=0.0,
            num_dropped=int(np.count_nonzero(~finite)),
            client_losses=np.where(finite, losses, np.nan) if by_client else None,
            delivered=finite if by_client else None,
        )

    def state(self) -> dict[str, np.ndarray]:
        """See `Engine.state`; includes the updates under way."""
        names = ("update", "loss", "finite")
        kept = {f"{_PREFIX}{name}": rows for name, rows in zip(names, self._late)}
        return {**super().state(), **kept}

    def restore(self, state: dict[str, np.ndarray]) -> None:
        """See `Engine.restore`."""
        own = list(self.state())
        kept = [state.pop(name) for name in own if name.startswith(_PREFIX)]
        self._late = [np.array(rows) for rows in kept]
        super().restore({**state, **{n: rows for n, rows in zip(own[-3:], self._late)}})


def _contribution(update: np.ndarray, start: Any) -> np.ndarray:
    """Returns scale * D_k + shift."""
    sent = update if start.scale is None else start.scale * update
    return sent if start.shift is None else sent + start.shift
