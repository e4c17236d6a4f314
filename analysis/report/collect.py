"""All runs below a folder, read once; what cannot be used is listed, not fatal."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from f3ast_tff.analysis.report.samples import Sample, samples_of
from f3ast_tff.analysis.runs import Run, RunsError, load_runs


@dataclass(frozen=True)
class Collected:
    """What a folder holds.

    Attributes:
        folder: The folder.
        samples: The finished runs, those that differ by the seed alone together.
        unfinished: A line for each run without a summary.
        damaged: A line for each run that cannot be read.
        repeated: A line for each run that is there again, same settings and seed; left out.
    """

    folder: Path
    samples: list[Sample]
    unfinished: list[str]
    damaged: list[str]
    repeated: list[str]

    @property
    def num_finished(self) -> int:
        """Runs that the report is made of."""
        return sum(len(sample.runs) for sample in self.samples)


def collect(folder: Path) -> Collected:
    """Reads every run at or below a folder.

    Raises:
        RunsError: If it is not a folder, or holds no run at all.
    """
    if not folder.is_dir():
        raise RunsError(f"{folder} is not a folder; a folder of runs is needed")
    paths = sorted(config.parent for config in folder.rglob("config.json"))
    if not paths:
        raise RunsError(f"no run in {folder}: no folder at or below it holds a config.json")
    finished, unfinished, damaged = [], [], []
    for path in paths:
        try:
            run = _only(path)
        except RunsError as error:
            damaged.append(str(error))
            continue
        if run.summary is None:
            last = int(run.metrics["round"].iloc[-1]) if len(run.metrics) else 0
            unfinished.append(f"{run.path}: {last} of {run.settings['rounds']} rounds evaluated")
        else:
            finished.append(run)
    samples, repeated = samples_of(finished)
    return Collected(folder, samples, unfinished, damaged, repeated)


def _only(path: Path) -> Run:
    """A run folder may hold others; those are read on their own."""
    return next(run for run in load_runs(path) if run.path == path)
