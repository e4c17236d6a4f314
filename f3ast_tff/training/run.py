"""The round loop: one experiment, from its last checkpoint to its summary."""

from __future__ import annotations

import logging
import time
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from f3ast_tff.engines.engine import Engine, RoundOutcome
from f3ast_tff.models import Model
from f3ast_tff.process_memory import peak_memory_mib
from f3ast_tff.selection import Cohort, Losses, Strategy
from f3ast_tff.selection.strategy import Outcome
from f3ast_tff.training.checkpoint import Checkpoint
from f3ast_tff.training.history import SelectionHistory
from f3ast_tff.training.metrics import Row, metrics_row, summarise
from f3ast_tff.training.rate_trace import RateTrace
from f3ast_tff.training.run_files import RunFiles
from f3ast_tff.training.run_folder import RunFolder
from f3ast_tff.training.selecting import (
    Availability,
    Constraint,
    available_clients,
    check_strategy,
    select_cohort,
)

if TYPE_CHECKING:
    from f3ast_tff.models import Model


class Progress(Protocol):
    """Where the loop reports how far it is."""

    def start(self, first_round: int) -> None:
        """Reports the round from which the run goes on (1 for a new run)."""
        ...

    def advance(self, rounds: int, row: Row | None) -> None:
        """Reports that many more rounds; `row` holds the metrics of the last if evaluated."""
        ...


class Callback(Protocol):
    """Called as the run goes by; of a resumed run, for the rounds that are executed now."""

    def on_round(self, round_number: int, cohort: Cohort, outcome: RoundOutcome) -> None:
        """Called once for every round, in order; engines may execute several before."""
        ...

    def on_evaluation(self, row: Row) -> None:
        """Called for every evaluated round, after its `on_round`."""
        ...


@dataclass(frozen=True)
class Experiment:
    """All parts of an experiment.

    Attributes:
        availability: Who is reachable.
        constraint: How many may take part.
        strategy: Whom to pick, with what weight.
        engine: What executes the round.
        rounds: T, number of rounds.
        eval_every: Rounds between evaluations; the last round is always evaluated.
        checkpoint_every: Rounds between checkpoints; the last round always gets one.
        num_clients: Number of clients N.
        model: The network that the engine trains.
        p: Client shares p_k, `float64 [N]`, for the run's files; `None` leaves them out.
    """

    availability: Availability
    constraint: Constraint
    strategy: Strategy
    engine: Engine
    rounds: int
    eval_every: int
    checkpoint_every: int
    num_clients: int
    model: Model | None = None
    p: np.ndarray | None = None


@dataclass(frozen=True)
class RunResult:
    """What a run has come to.

    Attributes:
        summary: The content of `summary.json`.
        rows: Metrics of the evaluated rounds.
        selection: The content of `selection.npz`: `SelectionHistory.arrays`, `RateTrace.arrays`,
            `p` (client shares, `float64 [N]`), and the strategy's state after the last round, its
            names prefixed by `final_`.
    """

    summary: dict[str, Any]
    rows: list[Row]
    selection: dict[str, np.ndarray]


class _Run:
    """All that changes as the rounds of an experiment go by."""

    def __init__(
        self, experiment: Experiment, files: RunFiles | None, callbacks: Sequence[Callback]
    ) -> None:
        check_strategy(experiment.strategy)
        self.experiment = experiment
        self.files = files
        self.callbacks = callbacks
        self.history = SelectionHistory()
        evaluated = (experiment.rounds, experiment.eval_every)
        self.trace = RateTrace(experiment.strategy, experiment.num_clients, *evaluated)
        self.rows: list[Row] = []
        self.round_number = 0
        self.seconds_before = 0.0
        self.block_seconds: list[float] = []
        checkpoint = None if files is None else files.load()
        if checkpoint is not None:
            self._resume(checkpoint)
        self.started = time.monotonic()
        if files is not None:
            files.begin(self.rows)

    def _resume(self, checkpoint: Checkpoint) -> None:
        self.experiment.engine.restore(checkpoint.part("engine"))
        self.experiment.strategy.restore(checkpoint.part("strategy"))
        self.history.restore(checkpoint.part("history"))
        self.trace.restore(checkpoint.part("rates"))
        self.rows = checkpoint.meta["rows"]
        self.seconds_before = checkpoint.meta["wall_seconds"]
        self.round_number = checkpoint.round_number

    @property
    def wall_seconds(self) -> float:
        return self.seconds_before + time.monotonic() - self.started

    def next_block(self) -> tuple[int, Row | None]:
        """Executes the rounds up to the next evaluation or checkpoint, or fewer.

        Returns:
            How many they were, and what the last of them scored if it was evaluated.
        """
        parts = self.experiment
        rounds = range(self.round_number + 1, self._block_end() + 1)
        available = [available_clients(parts.availability, parts.num_clients, t) for t in rounds]
        cohorts = []
        for t, mask in zip(rounds, available):
            of_round = (parts.constraint, t, mask, self._losses(t))
            cohorts.append(select_cohort(parts.strategy, *of_round))
            self.trace.record(t, parts.strategy)
        outcomes = self._execute(rounds[0], cohorts)
        for t, mask, cohort, outcome in zip(rounds, available, cohorts, outcomes):
            self.history.append(
                int(np.count_nonzero(mask)), cohort, outcome.num_dropped, outcome.rejected
            )
            _log_trouble(t, len(cohort), outcome)
            for callback in self.callbacks:
                callback.on_round(t, cohort, outcome)
        end = self.round_number = rounds[-1]
        row = None
        if end % parts.eval_every == 0 or end == parts.rounds:
            row = self._evaluate(int(np.count_nonzero(available[-1])), cohorts[-1], outcomes[-1])
        if end % parts.checkpoint_every == 0 or end == parts.rounds:
            self._checkpoint()
        return len(rounds), row

    def _execute(self, first_round: int, cohorts: Sequence[Cohort]) -> list[RoundOutcome]:
        strategy, engine = self.experiment.strategy, self.experiment.engine
        started = time.perf_counter()
        if not strategy.needs_outcome:
            outcomes = engine.run_rounds(first_round, cohorts)
        else:
            outcomes = engine.run_rounds(first_round, cohorts, by_client=True)
        self.block_seconds.append((time.perf_counter() - started) / len(cohorts))
        if strategy.needs_outcome:
            # Rounds go one at a time: see `_block_end`.
            strategy.observe(first_round, _outcome(cohorts[0], outcomes[0]))
        return outcomes

    def _evaluate(self, num_available: int, cohort: Cohort, outcome: RoundOutcome) -> Row:
        scores = self.experiment.engine.evaluate()
        row = metrics_row(
            self.round_number, scores, outcome, cohort, num_available, self.wall_seconds
        )
        self.rows.append(row)
        if self.files is not None:
            self.files.add(row)
        for callback in self.callbacks:
            callback.on_evaluation(row)
        return row

    def _losses(self, t: int) -> Losses:
        return lambda ids: self.experiment.engine.client_losses(ids, t)

    def _block_end(self) -> int:
        """The last round of the next block; one round where cohorts depend on the model."""
        parts, done = self.experiment, self.round_number
        if parts.strategy.needs_losses or parts.strategy.needs_outcome:
            return done + 1
        stops = [parts.rounds, done + parts.engine.block_rounds]
        for period in (parts.eval_every, parts.checkpoint_every):
            stops.append((done // period + 1) * period)
        return min(stops)

    def _checkpoint(self) -> None:
        if self.files is None:
            return
        parts = {
            "engine": self.experiment.engine.state(),
            "strategy": self.experiment.strategy.state(),
            "history": self.history.arrays(),
            "rates": self.trace.arrays(),
        }
        arrays = {f"{part}/{name}": v for part, state in parts.items() for name, v in state.items()}
        meta = {"rows": self.rows, "wall_seconds": self.wall_seconds}
        self.files.save(Checkpoint(self.round_number, arrays, meta))

    def finish(self) -> RunResult:
        state = self.experiment.strategy.state()
        final = {f"final_{name}": value for name, value in state.items()}
        p = self.experiment.p
        shares = {} if p is None else {"p": np.asarray(p, np.float64)}
        selection = {**self.history.arrays(), **self.trace.arrays(), **shares, **final}
        if self.files is not None and not self.block_seconds:
            # All rounds were executed before: so may the end have been.
            summary = self.files.summary()
            if summary is not None:
                return RunResult(summary, self.rows, selection)
        result = RunResult(self._summary(), self.rows, selection)
        if self.files is not None:
            self.files.finish(selection, result.summary)
        return result

    def _summary(self) -> dict[str, Any]:
        # Of this process, without selection, and without the first block, which compiles, unless
        # it is the only one.
        timed = self.block_seconds[1:] or self.block_seconds or [np.nan]
        return {
            "rounds": self.round_number,
            **summarise(self.rows),
            "empty_rounds": self.history.num_empty,
            "dropped_updates": self.history.num_dropped,
            "rejected_rounds": self.history.num_rejected,
            "seconds_per_round": float(np.median(timed)),
            "peak_memory_mib": peak_memory_mib(),
            **self.experiment.engine.statistics(),
        }


def _outcome(cohort: Cohort, outcome: RoundOutcome) -> Outcome:
    """What the strategy learns of its cohort; of an empty one, nothing."""
    nobody = len(cohort) == 0
    received = np.zeros(0, bool) if nobody else outcome.received
    losses = np.zeros(0) if nobody else outcome.client_losses
    assert received is not None and losses is not None
    return Outcome(cohort.ids, received, losses)


def _log_trouble(t: int, selected: int, outcome: RoundOutcome) -> None:
    dropped = outcome.num_dropped
    if selected == 0:
        done = "model left alone" if outcome.rejected else "step along the remembered updates"
        logging.warning("round %d: no client available, %s", t, done)
    elif dropped:
        logging.warning("round %d: dropped %d non-finite updates of %d", t, dropped, selected)
    if outcome.rejected and dropped < selected:
        logging.warning("round %d: the aggregate is not finite, model left alone", t)


def run_experiment(
    experiment: Experiment,
    folder: RunFolder | None,
    progress: Progress | None = None,
    callbacks: Sequence[Callback] = (),
) -> RunResult:
    """Runs an experiment to its end, from its last checkpoint if it has one.

    Because every draw is a function of (seed, round), a resumed run repeats an uninterrupted one.

    Args:
        experiment: Its parts, new.
        folder: The run's folder; gets `metrics.csv`, `selection.npz`, `summary.json`,
            checkpoints and TensorBoard events. `None` writes no files.
        progress: Told of every block of rounds.
        callbacks: Called for every round and every evaluation.

    Raises:
        CheckpointError: If there are checkpoints but none can be used.
        ComponentError: If a component breaks its protocol.
        EngineError: If the engine is lost; the last checkpoint stays.
    """
    with ExitStack() as stack:
        files = None
        if folder is not None:
            files = RunFiles(folder)
            stack.callback(files.close)
        run = _Run(experiment, files, callbacks)
        if progress is not None:
            progress.start(run.round_number + 1)
        while run.round_number < experiment.rounds:
            rounds, row = run.next_block()
            if progress is not None:
                progress.advance(rounds, row)
        return run.finish()
