"""The round loop: one experiment, from its last checkpoint to its summary."""

from __future__ import annotations

import logging
import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from f3ast_tff.core.errors import CheckpointError, Interrupted
from f3ast_tff.engines.engine import ClientScores, RoundOutcome
from f3ast_tff.files.array_files import write_npz
from f3ast_tff.files.atomic import atomic_write
from f3ast_tff.files.data_files import hash_of
from f3ast_tff.files.process_memory import peak_memory_mib
from f3ast_tff.files.signals import NeverStop, Stop
from f3ast_tff.methods.parts.strategy import Losses, facts_of
from f3ast_tff.records.checkpoint import Checkpoint
from f3ast_tff.records.delivered import RoundDelivery
from f3ast_tff.records.history import RateTrace, SelectionHistory
from f3ast_tff.records.metrics import (
    USERS,
    Row,
    append_csv,
    columns_of,
    metrics_row,
    summarise,
    write_csv,
)
from f3ast_tff.records.metrics_loggers import (
    Callback,
    MetricsLogger,
    Progress,
    closed_on_error,
    scalars_of,
)
from f3ast_tff.records.outputs import complete_masks, write_client_scores
from f3ast_tff.records.results import CLIENT_SCORES, finished_summary
from f3ast_tff.records.run_folder import RunFolder
from f3ast_tff.run.delivering import outcome_for_strategy, troubles
from f3ast_tff.run.experiment import Experiment, InTime
from f3ast_tff.run.selecting import read_only, state_of
from f3ast_tff.settings.kinds import KINDS

if TYPE_CHECKING:
    from f3ast_tff.models import Model
    from f3ast_tff.run.in_flight import InFlight
    from f3ast_tff.run.on_arrival import OnArrival
    from f3ast_tff.run.trained_model import TrainedModel

_LOG = logging.getLogger("f3ast_tff.run")
# Duration of a block of rounds: progress, signals and checkpoints wait for its end.
_BLOCK_SECONDS = 0.5


@dataclass(frozen=True)
class RunResult:
    """Result of a run.

    Attributes:
        summary: Content of `summary.json` without its checksums.
        rows: Metrics of the evaluated rounds.
        selection: Content of `selection.npz`: `SelectionHistory.arrays`, `RateTrace.arrays`, `p`
            (client shares, `float64 [N]`), and the strategy's last state, names prefixed by
            `final_`.
        finished_before: Whether the run had finished before, so that no round was executed.
        not_added: Requested outputs that cannot be added to a finished run, see `add_outputs`.
        trained: The trained model, if asked for.
        model: The network, if asked for.
        scoring: `Scoring.describe()`, if asked for the model and it brings a loss or scores.
    """

    summary: Mapping[str, Any]
    rows: Sequence[Mapping[str, float]] = ()
    selection: Mapping[str, np.ndarray] = field(default_factory=dict)
    finished_before: bool = False
    not_added: Sequence[str] = ()
    trained: TrainedModel | None = None
    model: Model | None = None
    scoring: Mapping[str, Any] | None = None


def _updates_of(experiment: Experiment) -> InTime | InFlight | OnArrival:
    """What is on its way between rounds."""
    weight = experiment.staleness_weight
    if weight is None:
        return InTime()
    # A run without late updates does without these modules.
    if experiment.is_asynchronous:
        from f3ast_tff.run.on_arrival import OnArrival

        return OnArrival(experiment, weight)
    from f3ast_tff.run.in_flight import InFlight

    return InFlight(weight)


class _Run:
    """The state of a run."""

    def __init__(
        self,
        experiment: Experiment,
        folder: RunFolder | None,
        callbacks: Sequence[Callback],
        loggers: Sequence[MetricsLogger],
    ) -> None:
        KINDS["algorithm"].check_object(experiment.strategy)
        self.experiment = experiment
        self.rounds, self.settings = experiment.training.rounds, experiment.run
        self.folder = folder
        self.callbacks = callbacks
        self.loggers = loggers
        self.history = SelectionHistory()
        self.trace = RateTrace(
            experiment.strategy,
            num_clients=experiment.num_clients,
            rounds=experiment.training.rounds,
            eval_every=experiment.run.eval_every,
        )
        self.updates = _updates_of(experiment)
        self.rows: list[Row] = []
        self.score_digests: dict[str, str] = {}
        self.round_number = 0
        self._warned: set[str] = set()
        # The last executed round.
        self._last: tuple[RoundDelivery, RoundOutcome] | None = None
        self.seconds_before = 0.0
        self.block_seconds: list[float] = []
        self.saved_round = 0
        checkpoint = None if folder is None else folder.load_checkpoint()
        if checkpoint is not None:
            self._resume(checkpoint)
        self.started = time.monotonic()
        self.saved_at = time.perf_counter()
        if folder is not None:
            write_csv(folder.file("metrics.csv"), self.rows, self._columns)
        for logger in loggers:
            logger.begin()
            for row in self.rows:
                logger.add(int(row["round"]), self._scalars(row))

    def _resume(self, checkpoint: Checkpoint) -> None:
        try:
            self.experiment.engine.restore(checkpoint.part("engine"))
            self.experiment.strategy.restore(checkpoint.part("strategy"))
            self.history.restore(checkpoint.part("history"))
            self.trace.restore(checkpoint.part("rates"))
            self.updates.restore(checkpoint.part("in_flight"))
            self.rows = checkpoint.meta["rows"]
            self.score_digests = dict(checkpoint.meta.get(CLIENT_SCORES, {}))
            self.seconds_before = float(checkpoint.meta["wall_seconds"])
        except (KeyError, TypeError, ValueError) as error:
            raise CheckpointError(
                f"the checkpoint of round {checkpoint.round_number} does not fit this run ({error})"
            ) from error
        self.round_number = self.saved_round = checkpoint.round_number

    @property
    def _columns(self) -> tuple[str, ...]:
        word = getattr(self.experiment.further_score, "name", None)
        return columns_of(self.experiment.score_names, self.updates.is_late, word)

    @property
    def wall_seconds(self) -> float:
        return self.seconds_before + time.monotonic() - self.started

    def next_block(self) -> tuple[int, Row | None]:
        """Executes the rounds up to the next evaluation or checkpoint, or fewer.

        Returns:
            The number of rounds, and the metrics of the last one if it was evaluated.
        """
        parts = self.experiment
        rounds = range(self.round_number + 1, self._block_end() + 1)
        block = []
        for t in rounds:
            block.append(self.updates.plan(parts, t, self._losses))
            self.trace.record(t, parts.strategy)
        outcomes = self._execute(rounds[0], block)
        for t, delivered_round, outcome in zip(rounds, block, outcomes):
            self.history.append(delivered_round, outcome.num_dropped, outcome.rejected)
            self._warn(t, troubles(delivered_round, outcome))
            for callback in self.callbacks:
                callback.on_round(t, delivered_round.cohort, outcome)
        end = self.round_number = rounds[-1]
        self._last = block[-1], outcomes[-1]
        row = None
        if end % self.settings.eval_every == 0 or end == self.rounds:
            row = self._evaluate()
        waited = time.perf_counter() - self.saved_at
        every, seconds = self.settings.checkpoint_every, self.settings.checkpoint_seconds
        due = end % every == 0 or waited >= seconds
        if due or end == self.rounds:
            self.save()
        return len(rounds), row

    def _warn(self, t: int, troubles: dict[str, str]) -> None:
        """Logs the first round of each kind of trouble."""
        for kind, what in troubles.items():
            if kind not in self._warned:
                self._warned.add(kind)
                said = "round %d: %s (said once; the summary counts them)"
                _LOG.warning(said, t, what, extra={"once": kind})

    def _execute(self, first_round: int, block: Sequence[RoundDelivery]) -> list[RoundOutcome]:
        cohorts = [delivered_round.cohort for delivered_round in block]
        strategy, engine = self.experiment.strategy, self.experiment.engine
        started = time.perf_counter()
        outcomes = engine.run_rounds(first_round, cohorts, by_client=strategy.needs_outcome)
        self.block_seconds.append((time.perf_counter() - started) / len(cohorts))
        if strategy.needs_outcome:
            # Blocks have one round here: see `_block_end`.
            strategy.observe(first_round, outcome_for_strategy(block[0], outcomes[0]))
        return outcomes

    def _scored(self) -> tuple[ClientScores, Row]:
        """Scores of the model after the last executed round, and its row."""
        assert self._last is not None
        delivered_round, outcome = self._last
        scores, further = self.experiment.engine.evaluate(), self.experiment.further_score
        return scores, metrics_row(
            self.round_number,
            scores=scores,
            outcome=outcome,
            delivered_round=delivered_round,
            total=self.history.total,
            wall_seconds=self.wall_seconds,
            further={} if further is None else further.columns(scores),
        )

    def _evaluate(self) -> Row:
        scores, row = self._scored()
        self.rows.append(row)
        if self.folder is not None:
            append_csv(self.folder.file("metrics.csv"), row)
            if self.settings.client_scores:
                path = write_client_scores(self.folder.path, self.round_number, scores)
                self.score_digests[path.name] = hash_of(path)
        for logger in self.loggers:
            logger.add(self.round_number, self._scalars(row))
        if self.callbacks:
            trained = self.experiment.trained(self.experiment.engine)
            for callback in self.callbacks:
                # A copy: what a callback writes is not in the record.
                callback.on_evaluation(dict(row), trained)
        return row

    def _scalars(self, row: Row) -> dict[str, float]:
        return scalars_of(row, self.trace.rates_of(int(row["round"])))

    def _losses(self, t: int, scored: list[np.ndarray]) -> Losses:
        """Returns the clients' losses in a round; adds the asked clients to `scored`."""

        def losses(ids: np.ndarray) -> np.ndarray:
            scored.append(read_only(ids))
            return self.experiment.engine.client_losses(scored[-1], t)

        return losses

    def _block_end(self) -> int:
        """The last round of the next block; one round per block if cohorts depend on the model."""
        parts, done = self.experiment, self.round_number
        if parts.strategy.needs_losses or parts.strategy.needs_outcome:
            return done + 1
        stops = [self.rounds, done + self._block_rounds()]
        for period in (self.settings.eval_every, self.settings.checkpoint_every):
            stops.append((done // period + 1) * period)
        return min(stops)

    def _block_rounds(self) -> int:
        """Number of rounds that fit into `_BLOCK_SECONDS`, at first 1; it affects no result."""
        if not self.block_seconds:
            return 1
        fit = _BLOCK_SECONDS / max(self.block_seconds[-1], 1e-9)
        return max(1, min(self.experiment.engine.block_rounds, int(fit)))

    def save(self) -> None:
        """Writes a checkpoint, whose parts `records.checkpoint` lists, if this round has none."""
        if self.folder is None or self.saved_round == self.round_number:
            return
        engine = self.experiment.engine
        parts = {
            "engine": engine.state(),
            "strategy": state_of(self.experiment.strategy),
            "history": self.history.arrays(),
            "rates": self.trace.arrays(),
            "in_flight": self.updates.arrays(),
        }
        arrays = {f"{part}/{name}": v for part, state in parts.items() for name, v in state.items()}
        weights, scored = engine.weights(), self.experiment.whole(engine.scored_weights())
        if len(weights) != len(scored) or not all(map(np.array_equal, weights, scored)):
            arrays |= {f"scored/{i:04d}": weight for i, weight in enumerate(scored)}
        meta = {"rows": self.rows, "wall_seconds": self.wall_seconds, "num_weights": len(weights)}
        meta[CLIENT_SCORES] = self.score_digests
        self.folder.checkpoints.save(Checkpoint(self.round_number, arrays, meta))
        self.saved_round, self.saved_at = self.round_number, time.perf_counter()

    def so_far(self) -> RunResult:
        """The result of the rounds so far, with scores of the last one; writes no file."""
        rows = list(self.rows)
        if self._last is not None and (not rows or rows[-1]["round"] != self.round_number):
            rows.append(self._scored()[1])
        return RunResult(self._summary(rows), rows, self._selection())

    def _selection(self) -> dict[str, np.ndarray]:
        """Content of `selection.npz`."""
        state = self.experiment.strategy.state()
        final = {f"final_{name}": value for name, value in state.items()}
        p, names = self.experiment.p, self.experiment.client_names
        clients = dict(self.experiment.of_clients)
        clients |= {} if p is None else {"p": np.asarray(p, np.float64)}
        clients |= {} if names is None else {"client_names": np.asarray(names, str)}
        scored = self.folder is not None and self.folder.file(CLIENT_SCORES).exists()
        tested = self.experiment.test_client_names if scored else None
        clients |= {} if tested is None else {"test_client_names": np.asarray(tested, str)}
        return {**self.history.arrays(), **self.trace.arrays(), **clients, **final}

    def finish(self) -> RunResult:
        selection, folder = self._selection(), self.folder
        if folder is None:
            return RunResult(self._summary(self.rows), self.rows, selection)
        # If all rounds were executed before, the summary may exist too.
        before = None if self.block_seconds else finished_summary(folder.path)
        parts = self.experiment
        added = complete_masks(
            folder.path,
            self.settings.write_masks,
            only_missing=before is not None,
            availability=parts.availability,
            rounds=self.rounds,
            num_clients=parts.num_clients,
        )
        if before is None:
            result = RunResult(self._summary(self.rows), self.rows, selection)
            # Rewrites all rows, because appended rows may not be on disk yet.
            write_csv(folder.file("metrics.csv"), self.rows, self._columns)
            with atomic_write(folder.file("selection.npz"), "wb") as file:
                write_npz(file, selection, compressed=True)
            folder.seal(result.summary)
        else:
            result = RunResult(before, self.rows, selection, finished_before=True)
            if added:
                folder.seal(before)
        folder.checkpoints.keep(self.settings.keep_checkpoints)
        return result

    def _left_out(self) -> dict[str, Any]:
        """Clients that the server's rule leaves out most of the time, if any."""
        parts = self.experiment
        if parts.data is None or not self.history.may_leave_out(parts.num_clients):
            return {}
        from f3ast_tff.records.left_out import left_out

        found = left_out(self.history.arrays(), parts.data, parts.client_names)
        return {"left_out": found} if found else {}

    def _summary(self, rows: list[Row]) -> dict[str, Any]:
        # Without the first block, which compiles, unless it is the only block.
        timed = self.block_seconds[1:] or self.block_seconds or [np.nan]
        rules = facts_of(self.experiment.strategy).may_select
        return {
            **({"may_select": sorted(rules)} if rules else {}),
            "rounds": self.round_number,
            **summarise(rows),
            **dict(zip(USERS, self.experiment.scored_clients or ())),
            "empty_rounds": self.history.num_empty,
            "lost_updates": self.history.num_lost,
            "dropped_updates": self.history.num_dropped,
            "rejected_rounds": self.history.num_rejected,
            **self._left_out(),
            "seconds_per_round": float(np.median(timed)),
            "peak_memory_mib": peak_memory_mib(),
            **self.experiment.engine.statistics(),
        }


def train(
    experiment: Experiment,
    folder: RunFolder | None,
    progress: Progress | None = None,
    callbacks: Sequence[Callback] = (),
    loggers: Sequence[MetricsLogger] = (),
    stop: Stop | None = None,
    *,
    or_so_far: bool = False,
) -> RunResult:
    """Trains an experiment to its end, from its last checkpoint if any.

    Because every draw is a function of (seed, round), a resumed run repeats an uninterrupted one.

    Args:
        experiment: The experiment, with newly built parts.
        folder: The run's folder, for `metrics.csv`, `selection.npz`, `summary.json` and
            checkpoints. `None` writes no files.
        progress: Receiver of the progress after every block of rounds.
        callbacks: Callbacks for every round and every evaluation.
        loggers: Receivers of the scalars of every evaluation; closed at the end.
        stop: Request to stop, polled after every block of rounds, which takes about half a second
            or one round.
        or_so_far: Whether a stopped run returns the result of its rounds, if any, instead of
            raising `Interrupted`.

    Raises:
        CheckpointError: If there are checkpoints but none can be used.
        ComponentError: If a component breaks its protocol.
        EngineError: If the engine is lost; the last checkpoint stays.
        Interrupted: If `stop` was requested; the last completed round then has a checkpoint.
    """
    stop = stop or NeverStop()
    with closed_on_error(loggers), ExitStack() as stack:
        run = _Run(experiment, folder, callbacks, loggers)
        stack.enter_context(stop.hold())
        _LOG.info("rounds %d to %d", run.round_number + 1, run.rounds)
        if progress is not None:
            progress.start(run.round_number + 1)
        while run.round_number < run.rounds:
            if stop.requested():
                run.save()
                _LOG.info("interrupted after round %d", run.round_number)
                if or_so_far and run.block_seconds:
                    for logger in loggers:
                        logger.close(finished=False)
                    return run.so_far()
                raise Interrupted(run.saved_round)
            rounds, row = run.next_block()
            if row is not None:
                _LOG.info(", ".join(f"{name} {value:g}" for name, value in row.items()))
            if progress is not None:
                progress.advance(rounds, row)
        # Before the run is finished, so that the same command asks a logger that fails again.
        for logger in loggers:
            logger.close(finished=True)
        return run.finish()
