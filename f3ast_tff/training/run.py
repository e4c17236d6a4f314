"""The round loop: one experiment, from its last checkpoint to its summary."""

from __future__ import annotations

import importlib.util
import logging
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from f3ast_tff.engines.engine import Engine
from f3ast_tff.process_memory import peak_memory_mib
from f3ast_tff.selection import Losses, Strategy
from f3ast_tff.selection.feasible import Feasible
from f3ast_tff.training.atomic import atomic_write
from f3ast_tff.training.checkpoint import Checkpoint, CheckpointStore
from f3ast_tff.training.history import SelectionHistory
from f3ast_tff.training.metrics import Row, append_csv, metrics_row, summarise, write_csv
from f3ast_tff.training.run_folder import RunFolder

if TYPE_CHECKING:
    from f3ast_tff.training.tensorboard_events import TensorBoardEvents


class Availability(Protocol):
    """Who is reachable in a round."""

    def mask(self, round_number: int) -> np.ndarray:
        """Returns `bool [N]`."""
        ...


class Constraint(Protocol):
    """Which sets of available clients may take part in a round."""

    def limit(self, round_number: int) -> int | Feasible:
        """Returns K_t, or a constraint of another kind."""
        ...


class Progress(Protocol):
    """Where the loop says how far it is."""

    def start(self, first_round: int) -> None:
        """Says from which round the run goes on (1 for a new run)."""
        ...

    def advance(self, rounds: int, row: Row | None) -> None:
        """Says that so many rounds are done, and what the last scored if it was evaluated."""
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
    """

    availability: Availability
    constraint: Constraint
    strategy: Strategy
    engine: Engine
    rounds: int
    eval_every: int
    checkpoint_every: int


class _Run:
    """One experiment in its folder; all that changes as rounds go by."""

    def __init__(self, experiment: Experiment, folder: RunFolder) -> None:
        self.experiment = experiment
        self.folder = folder
        self.store = CheckpointStore(folder.file("checkpoints"), folder.run_id)
        self.history = SelectionHistory()
        self.rows: list[Row] = []
        self.round_number = 0
        self.seconds_before = 0.0
        self.block_seconds: list[float] = []
        self._resume()
        self.started = time.monotonic()
        write_csv(folder.file("metrics.csv"), self.rows)
        self.events = _open_events(folder, self.rows)

    def _resume(self) -> None:
        checkpoint = self.store.load_newest()
        if checkpoint is None:
            return
        self.experiment.engine.restore(checkpoint.part("engine"))
        self.experiment.strategy.restore(checkpoint.part("strategy"))
        self.history.restore(checkpoint.part("history"))
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
        first, end = self.round_number + 1, self._block_end()
        available = [parts.availability.mask(t) for t in range(first, end + 1)]
        cohorts = [
            parts.strategy.select(t, mask, parts.constraint.limit(t), self._losses(t))
            for t, mask in enumerate(available, start=first)
        ]
        started = time.perf_counter()
        outcomes = parts.engine.run_rounds(first, cohorts)
        self.block_seconds.append((time.perf_counter() - started) / len(cohorts))
        for t, mask, cohort, outcome in zip(range(first, end + 1), available, cohorts, outcomes):
            self.history.append(
                int(np.count_nonzero(mask)), cohort, outcome.num_dropped, outcome.rejected
            )
            self._log_trouble(t, len(cohort), outcome.num_dropped, outcome.rejected)
        self.round_number = end

        row = None
        if end % parts.eval_every == 0 or end == parts.rounds:
            num_available = int(np.count_nonzero(available[-1]))
            row = metrics_row(
                end,
                parts.engine.evaluate(),
                outcomes[-1],
                cohorts[-1],
                num_available,
                self.wall_seconds,
            )
            self.rows.append(row)
            append_csv(self.folder.file("metrics.csv"), row)
            if self.events is not None:
                self.events.add(row)
        if end % parts.checkpoint_every == 0 or end == parts.rounds:
            self.checkpoint()
        return end - first + 1, row

    def _losses(self, t: int) -> Losses:
        return lambda ids: self.experiment.engine.client_losses(ids, t)

    def _block_end(self) -> int:
        """The last round of the next block; one round where cohorts depend on the model."""
        parts, done = self.experiment, self.round_number
        if parts.strategy.needs_losses:
            return done + 1
        stops = [parts.rounds, done + parts.engine.block_rounds]
        for period in (parts.eval_every, parts.checkpoint_every):
            stops.append((done // period + 1) * period)
        return min(stops)

    @staticmethod
    def _log_trouble(t: int, selected: int, dropped: int, rejected: bool) -> None:
        if selected == 0:
            logging.warning("round %d: no client available, model left alone", t)
        elif dropped:
            logging.warning("round %d: dropped %d non-finite updates of %d", t, dropped, selected)
        if rejected and dropped < selected:
            logging.warning("round %d: the aggregate is not finite, model left alone", t)

    def checkpoint(self) -> None:
        parts = {
            "engine": self.experiment.engine.state(),
            "strategy": self.experiment.strategy.state(),
            "history": self.history.arrays(),
        }
        arrays = {f"{part}/{name}": v for part, state in parts.items() for name, v in state.items()}
        meta = {"rows": self.rows, "wall_seconds": self.wall_seconds}
        self.store.save(Checkpoint(self.round_number, arrays, meta))

    def finish(self) -> dict[str, Any]:
        arrays = self.history.arrays()
        final = {f"final_{k}": v for k, v in self.experiment.strategy.state().items()}
        with atomic_write(self.folder.file("selection.npz"), "wb") as file:
            np.savez_compressed(file, **arrays, **final)
        summary = {
            "rounds": self.round_number,
            **summarise(self.rows),
            "empty_rounds": self.history.num_empty,
            "dropped_updates": self.history.num_dropped,
            "rejected_rounds": self.history.num_rejected,
            # Of this process, without selection, and without the first block, which compiles,
            # unless it is the only one.
            "seconds_per_round": float(
                np.median(self.block_seconds[1:] or self.block_seconds or [np.nan])
            ),
            "peak_memory_mib": peak_memory_mib(),
            **self.experiment.engine.statistics(),
        }
        self.folder.write_json("summary.json", summary)
        return summary


def _open_events(folder: RunFolder, rows: Sequence[Row]) -> TensorBoardEvents | None:
    if importlib.util.find_spec("tensorboard") is None:
        logging.warning("tensorboard is not installed: no event files are written")
        return None
    from f3ast_tff.training.tensorboard_events import TensorBoardEvents

    return TensorBoardEvents(folder.path, rows)


def run_experiment(experiment: Experiment, folder: RunFolder, progress: Progress) -> dict[str, Any]:
    """Runs an experiment to its end, from its last checkpoint if it has one.

    Because every draw is a function of (seed, round), a resumed run repeats an uninterrupted one.

    Args:
        experiment: Its parts, new.
        folder: The run's folder; gets `metrics.csv`, `selection.npz`, `summary.json`,
            checkpoints and TensorBoard events.
        progress: Told of every round.

    Returns:
        The content of `summary.json`.

    Raises:
        CheckpointError: If there are checkpoints but none can be used.
        EngineError: If the engine is lost; the last checkpoint stays.
    """
    run = _Run(experiment, folder)
    progress.start(run.round_number + 1)
    try:
        while run.round_number < experiment.rounds:
            progress.advance(*run.next_block())
    finally:
        if run.events is not None:
            run.events.close()
    return run.finish()
