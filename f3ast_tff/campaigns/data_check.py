"""The data files of a campaign, looked for before its first run."""

from __future__ import annotations

import json
from collections.abc import Sequence

from f3ast_tff.campaigns.runs import PlannedRun
from f3ast_tff.core.errors import DataError
from f3ast_tff.datasets.task import DownloadedTaskConfig
from f3ast_tff.settings import parameters_of
from f3ast_tff.settings.component import component_of

# Other seeds draw other clients from the same files.
_SAME_FILES = "data_seed"


def check_data(runs: Sequence[PlannedRun]) -> None:
    """Opens the data of every task with files of its own, which prepares or fetches what can be.

    Args:
        runs: The runs to execute.

    Raises:
        DataError: If a file is missing or damaged; names it, and the missing files of all tasks.
        ParameterError: If a file contradicts a setting.
    """
    for task in _tasks(runs).values():
        try:
            task.build()
        except DataError as error:
            others = [
                line for line in missing_files(runs) if line.partition(" ")[0] not in str(error)
            ]
            more = f"; also missing: {'; '.join(others)}" if others else ""
            raise DataError(f"{error}{more}") from error


def missing_files(runs: Sequence[PlannedRun]) -> list[str]:
    """Returns a line for each file that the runs read and that is not there yet.

    Each names the file, its size, the folder that it belongs into, and its address.
    """
    lines = []
    for task in _tasks(runs).values():
        for source in task.sources:
            if not source.is_in(task.folder):
                place = (task.folder / source.names[-1]).parent
                lines.append(f"{source.size} into {place} from {source.download.url}")
    return list(dict.fromkeys(lines))


def tasks_without_data(runs: Sequence[PlannedRun]) -> list[str]:
    """Returns the names of the tasks of which a file is missing."""
    tasks = _tasks(runs).values()
    lacking = (t for t in tasks if not all(source.is_in(t.folder) for source in t.sources))
    return list(dict.fromkeys(component_of(task).name for task in lacking))


def _tasks(runs: Sequence[PlannedRun]) -> dict[str, DownloadedTaskConfig]:
    """The tasks that are read from files, once each."""
    found: dict[str, DownloadedTaskConfig] = {}
    for run in runs:
        task = run.configuration.configs["task"]
        if isinstance(task, DownloadedTaskConfig):
            names = [p.name for p in parameters_of(type(task)) if p.name != _SAME_FILES]
            key = [run.settings["task"], {name: run.settings[name] for name in names}]
            found.setdefault(json.dumps(key), task)
    return found
