"""All runs below a folder, read once; what cannot be used is listed, not fatal."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from f3ast_tff.analysis.run_groups import RunGroup, group_runs
from f3ast_tff.analysis.runs import RunsError, load_run, run_folders, unfinished_line


@dataclass(frozen=True)
class Collected:
    """What a folder holds.

    Attributes:
        groups: The finished runs, those that differ by data draw and seed alone together.
        unfinished: A line for each run without a summary.
        damaged: A line for each run that cannot be read.
        repeated: A line for each run that is there again, of the same settings, data draw and
            seed; left out.
    """

    groups: list[RunGroup]
    unfinished: list[str]
    damaged: list[str]
    repeated: list[str]

    @property
    def num_finished(self) -> int:
        """Runs that the report is made of."""
        return sum(len(group.runs) for group in self.groups)


def collect(folder: Path | str) -> Collected:
    """Reads every run at or below a folder.

    Raises:
        RunsError: If it is not a folder, or holds no run at all.
    """
    finished, unfinished, damaged = [], [], []
    for path in run_folders(folder):
        try:
            run = load_run(path)
        except RunsError as error:
            damaged.append(str(error))
            continue
        if run.summary is None:
            unfinished.append(unfinished_line(run))
        else:
            finished.append(run)
    groups, repeated = group_runs(finished)
    return Collected(groups, unfinished, damaged, repeated)
