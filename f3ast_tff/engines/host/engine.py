"""The engine in plain NumPy: a round as one reads it in Algorithm 1."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from f3ast_tff.core.federated_data import ClientExamples
from f3ast_tff.engines.client_loss import client_losses
from f3ast_tff.engines.engine import (
    ClientScores,
    EngineParts,
    ExampleScores,
    LateCohort,
    RoundOutcome,
    empty_round,
    refuse_foreign_state,
)
from f3ast_tff.engines.host.late import LateUpdates
from f3ast_tff.engines.host.local_work import LocalResult, LocalStart, scored_in_parts
from f3ast_tff.engines.host.models import local_work_of
from f3ast_tff.engines.host.round import HostRound
from f3ast_tff.engines.host.server import ServerState, direction, stepped
from f3ast_tff.engines.host.sums import Sent, check_stack, client_losses_of
from f3ast_tff.methods.parts.buffers import mean_of_buffers
from f3ast_tff.methods.parts.host_memory import Delivered, HostMemory, flat, leaves_of
from f3ast_tff.methods.parts.memory import ClientInit, ClientLosses
from f3ast_tff.methods.parts.strategy import Cohort


class HostEngine:
    """Executes rounds in this process, with NumPy alone.

    A round (`_round`) has the order of F3AST's Algorithm 1: the clients start from the model, or
    from what a memory gives them (model, offset, pull); they train (`LocalWork`); a memory may turn
    updates into messages; they are summed with the cohort's weights; a memory adds its correction,
    an aggregation may change the direction; the server optimizer steps; the memory notes the
    updates. Updates that may be late train in the round in which they are asked for, from its
    model without a memory's start, and stay in slots (`LateUpdates`) until the round they enter.

    The engine draws nothing. Cohorts come from the strategy, initial weights from the model and the
    run's seed; the order of a client's batches is `LocalTraining.order`, augmentation
    `Preprocessing.draws`: functions of (seed, round, client). A checkpoint's part of the engine
    (`state`) holds the model, the server optimizer's moments and steps, a memory's tables and
    server values, and late updates. The round loop keeps the rest: the round's number, the
    strategy, and which client's update is in which slot.

    Examples:
        >>> import numpy as np
        >>> from f3ast_tff import Cohort
        >>> from f3ast_tff.run.build import Builder
        >>> from f3ast_tff.settings.resolve import resolve
        >>> engine = Builder(resolve({"task": "synthetic", "engine": "host"})).engine
        >>> (outcome,) = engine.run_rounds(1, [Cohort(np.array([3, 7]), np.array([0.5, 0.5]))])
        >>> round(outcome.update_norm, 2), sorted(engine.state())
        (0.28, ['0000', '0001', '0002'])
    """

    block_rounds = 100

    def __init__(self, parts: EngineParts) -> None:
        """Makes the initial model and memory.

        Raises:
            ParameterError: If a part has no form in NumPy, or a memory does not fit in memory.
        """
        self._parts = parts
        self._work = local_work_of(parts)
        # Shapes of the model's arrays; inside a round it is one vector.
        self._like = parts.initial_weights()
        model = flat(self._like)
        server, rules = parts.server_optimizer, parts.aggregation.memory
        moments = tuple(np.full_like(model, start) for start in server.initial_moments)
        self._state = ServerState(model, moments)
        self._memory: HostMemory | None = None
        if rules is not None and parts.p is not None:
            self._memory = HostMemory(rules, parts.p, model, server.learning_rate)
        self._late = _no_late_updates(parts, len(model)) if parts.late else None
        if parts.aggregation.stacks:
            check_stack(parts.aggregation, parts.cohort_size, len(model))

    def run_rounds(
        self, first_round: int, cohorts: Sequence[Cohort], by_client: bool = False
    ) -> list[RoundOutcome]:
        rounds = enumerate(cohorts, start=first_round)
        # Updates that are not finite are found and dropped.
        with np.errstate(all="ignore"):
            return [self._round(t, cohort, by_client) for t, cohort in rounds]

    def _round(self, t: int, cohort: Cohort, by_client: bool) -> RoundOutcome:
        state, parts = self._state, self._parts
        now = HostRound.begin(
            parts.aggregation,
            self._memory,
            number=t,
            rate=parts.client_optimizer.rate(t),
            model=state.model,
        )
        # Late updates, first half: those asked for now train, and wait in their slots.
        if isinstance(cohort, LateCohort):
            self._start(t, cohort)
            if cohort.forgets is not None:
                from f3ast_tff.engines.forgetting import with_forgotten

                cohort = with_forgotten(cohort, parts.aggregation.memory, parts.p, t)
        if len(cohort) == 0 and self._memory is None:
            return empty_round(by_client)
        # Line 6: clients train from the model, by the rules of a memory if any. Late updates are
        # there already; second half: they enter, and of `starts` only scale and shift count.
        each = self._each_once(cohort)
        starts = now.starts(each.ids, each.steps)
        came = self._updates(t, each, starts)
        updates = now.at_this_rate(came.updates, each.rates)
        sent = Sent(each.ids, each.steps, updates, each.weights, came.finite, starts)
        # Line 9: the weighted sum or mean, the memory's correction, the direction, the step.
        folded = now.fold(sent, lambda: self._client_losses(t, each, came, starts))
        sent, delta = folded.sent, direction(parts.aggregation, folded.delta, self._like)
        factor = 1.0 if self._late is None else cohort.step
        after = stepped(state, delta, parts.server_optimizer, factor)
        after = self._with_buffers(after, each.arrived & sent.finite, came, sent)
        # The memory notes what came.
        delivered = Delivered(
            ids=each.ids,
            finite=sent.finite,
            updates=came.updates,
            steps=each.steps,
            delta=delta,
            model=after.model,
            fine=bool(np.isfinite(delta).all() and np.isfinite(after.model).all()),
            rates=each.rates,
            combined=folded.changed,
        )
        noted = now.remember(delivered, sent.weights)
        self._state = replace(after if noted.moves else state, model=noted.closed)
        outcome = each.outcome(came, sent.finite, delta, by_client)
        return outcome.closed(noted.moves, noted.keeps, noted.rejects)

    def _start(self, t: int, cohort: LateCohort) -> None:
        """Trains the clients that are asked now, and keeps their updates in slots."""
        assert self._late is not None
        if not len(cohort.asked):
            return
        model = self._state.model
        trained = self._work.train(t, cohort.asked, LocalStart(model))
        found = trained.updates + model if self._parts.aggregation.mixes_models else trained.updates
        self._late.keep(
            cohort, {"update": found, "loss": trained.losses, "buffers": trained.buffers}
        )

    def _with_buffers(
        self, after: ServerState, arrived: np.ndarray, came: LocalResult, sent: Sent
    ) -> ServerState:
        """The state after a step, with the mean of the buffers that arrived, `bool [m]`."""
        places = self._parts.buffer_places
        if not len(places):
            return after
        model, now = after.model.copy(), self._state.model[places]
        model[places] = mean_of_buffers(came.buffers[arrived], sent.weights[arrived], now)
        return replace(after, model=model)

    def _each_once(self, cohort: Cohort) -> _Each:
        """The cohort's clients, each once, in the order of their ids or slots."""
        parts, sizes = self._parts, self._parts.data.train.sizes
        late = cohort if isinstance(cohort, LateCohort) else None
        keys = cohort.ids if late is None else late.entering
        keys, place, which, times = np.unique(
            keys.astype(np.int64), return_index=True, return_inverse=True, return_counts=True
        )
        which = which.reshape(-1)
        ids = cohort.ids[place].astype(np.int64)
        rates = None
        if late is not None:
            asked_in = late.asked_in[place].tolist()
            rates = np.array([parts.client_optimizer.rate(t) for t in asked_in], np.float32)
        return _Each(
            ids=ids,
            weights=np.bincount(which, cohort.weights, len(ids)).astype(np.float32),
            steps=parts.work.num_batches(sizes[ids]),
            # A slot below 0 is of a client that did not train.
            visits=times * parts.work.num_visits(sizes[ids]) * (late is None or keys >= 0),
            times=times,
            which=which,
            slots=None if late is None else keys,
            rates=rates,
        )

    def _updates(self, t: int, each: _Each, starts: Sequence[ClientInit]) -> LocalResult:
        """The clients' updates: trained now, or kept since the round in which they were asked."""
        if self._late is not None and each.slots is not None:
            late = self._late.of(each.slots)
            updates = late["update"]
            if self._parts.aggregation.mixes_models:
                updates -= self._state.model
                updates[:, self._parts.buffer_places] = 0
            none = np.zeros((len(updates), 0), np.float32)
            return LocalResult(updates, late["loss"], late.get("buffers", none))
        model, offsets, pulls, trains = self._state.model, None, None, None
        if starts and starts[0].model is not None:
            model = np.array([start.model for start in starts], np.float32)
        if starts and starts[0].offset is not None:
            offsets = np.array([start.offset for start in starts], np.float32)
        if starts and starts[0].pull is not None:
            pulls = np.array([start.pull for start in starts], np.float32)
        if starts and starts[0].trains is not None:
            trains = np.array([start.trains for start in starts], np.float32)
        return self._work.train(t, each.ids, LocalStart(model, offsets, pulls, trains))

    def _client_losses(
        self, t: int, each: _Each, came: LocalResult, starts: Sequence[ClientInit]
    ) -> list[ClientLosses]:
        return client_losses_of(
            came.losses,
            starts,
            each.ids,
            parts=self._parts,
            round_number=t,
            model=self._state.model,
            score=lambda model, rows: self._scores(model, self._parts.data.train, rows),
        )

    def evaluate(self) -> ClientScores:
        test, owners = self._parts.data.test, self._parts.test_owners
        scores = self._own_scores(self._scored(), test, clients=owners)
        return ClientScores.of_examples(scores, test.sizes)

    def _own_scores(
        self,
        model: np.ndarray,
        examples: ClientExamples,
        rows: np.ndarray | None = None,
        clients: np.ndarray | None = None,
    ) -> ExampleScores:
        """Scores rows under a model, or each under its client's own."""
        memory = self._memory
        if memory is None or not memory.rules.has_own_models:
            return self._scores(model, examples, rows)
        from f3ast_tff.engines.own_models import scores_by_owner

        return scores_by_owner(
            examples,
            lambda k, mine: self._scores(memory.own_model(k, model), examples, mine),
            rows=rows,
            clients=clients,
        )

    def client_losses(self, ids: np.ndarray, round_number: int = 1) -> np.ndarray:
        train = self._parts.data.train

        def score(rows: np.ndarray) -> ExampleScores:
            return self._own_scores(self._state.model, train, rows)

        return client_losses(self._parts, ids, round_number, score=score, train=self._losses_met)

    def _losses_met(self, ids: np.ndarray, round_number: int) -> np.ndarray:
        """Mean losses of clients that train, `float64 [m]`; NaN if an update is not finite."""
        with np.errstate(all="ignore"):
            came = self._work.train(round_number, ids, LocalStart(self._state.model))
        return np.where(came.finite, came.losses, np.nan)

    def _scores(
        self, model: np.ndarray, examples: ClientExamples, rows: np.ndarray | None = None
    ) -> ExampleScores:
        features, labels = examples.features, examples.labels
        if rows is not None:
            features, labels = features[rows], labels[rows]
        at_once = max(1, self._parts.model.examples_at_once)
        with np.errstate(all="ignore"):
            return scored_in_parts(self._work, model, features, labels, at_once)

    def statistics(self) -> dict[str, Any]:
        return {"engine": "host", "device": "cpu"}

    def weights(self) -> list[np.ndarray]:
        return [weight.copy() for weight in leaves_of(self._state.model, self._like)]

    def scored_weights(self) -> list[np.ndarray]:
        return [weight.copy() for weight in leaves_of(self._scored(), self._like)]

    def _scored(self) -> np.ndarray:
        model = self._state.model
        return model if self._memory is None else self._memory.evaluated(model)

    def state(self) -> dict[str, np.ndarray]:
        state = {**self._own_state(), **({} if self._memory is None else self._memory.state())}
        return state if self._late is None else {**state, **self._late.state()}

    def _own_state(self) -> dict[str, np.ndarray]:
        state = self._state
        leaves = [*leaves_of(state.model, self._like), *state.moments, np.int64(state.step)]
        return {f"{i:04d}": np.asarray(leaf) for i, leaf in enumerate(leaves)}

    def restore(self, state: dict[str, np.ndarray]) -> None:
        """See `Engine.restore`; late updates and tables are taken out of `state`, not copied."""
        if self._late is not None:
            self._late.restore(state)
        memory = {} if self._memory is None else self._memory.state()
        own = self._own_state()
        refuse_foreign_state(state, {**own, **memory})
        *leaves, step = [state[name] for name in own]
        number = len(self._like)
        self._state = ServerState(flat(leaves[:number]), tuple(leaves[number:]), int(step))
        if self._memory is not None:
            self._memory.restore(state)

    def close(self) -> None:
        """Releases nothing: there is no process and no device."""


def _no_late_updates(parts: EngineParts, num_weights: int) -> LateUpdates:
    rows: dict[str, np.ndarray] = {"update": np.zeros((0, num_weights), np.float32)}
    rows["loss"] = np.zeros(0)
    if number := len(parts.buffer_places):
        rows["buffers"] = np.zeros((0, number), np.float32)
    return LateUpdates(**rows)


@dataclass(frozen=True)
class _Each:
    """Clients of a cohort, each once.

    Attributes:
        ids: Clients, `int64 [m]`.
        weights: Weights of the updates, over all times, `float32 [m]`.
        steps: Local steps, `int64 [m]`.
        visits: Examples in the batches, over all times, `int64 [m]`.
        times: Number of times that each client is in the cohort, `int64 [m]`.
        which: For each place of the cohort, its client here, `int64`.
        slots: Places of late updates, if updates may be late, `int64 [m]`.
        rates: Client learning rate of each late update, `float32 [m]`.
    """

    ids: np.ndarray
    weights: np.ndarray
    steps: np.ndarray
    visits: np.ndarray
    times: np.ndarray
    which: np.ndarray
    slots: np.ndarray | None
    rates: np.ndarray | None

    @property
    def arrived(self) -> np.ndarray:
        """Whether a client's update has come, `bool [m]`; not for a slot below 0."""
        return np.ones(len(self.ids), bool) if self.slots is None else self.slots >= 0

    def outcome(
        self, came: LocalResult, finite: np.ndarray, delta: np.ndarray, by_client: bool
    ) -> RoundOutcome:
        """Returns the outcome of a round whose step counts."""
        there = finite & (self.visits > 0)
        total, visits = np.sum((came.losses * self.visits)[there]), self.visits[there].sum()
        losses = np.where(there, came.losses, np.nan)[self.which]
        return RoundOutcome(
            train_loss=float(total / visits) if visits else float("nan"),
            update_norm=float(np.linalg.norm(delta)),
            num_dropped=int(self.times[~finite].sum()),
            client_losses=losses if by_client else None,
            delivered=finite[self.which] if by_client else None,
        )
