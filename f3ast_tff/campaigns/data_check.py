"""The data files of a campaign, looked for before its first run."""

from __future__ import annotations

import json
from collections.abc import Sequence

from f3ast_tff.campaigns.runs import PlannedRun
from f3ast_tff.datasets.task import DownloadedTaskConfig
from f3ast_tff.settings import parameters_of

# Other seeds draw other clients from the same files.
_SAME_FILES = "data_seed"


def check_data(runs: Sequence[PlannedRun]) -> None:
    """Opens the data of every task with files of its own, which prepares or fetches what can be.

    Args:
        runs: Those that are to be executed.

    Raises:
        DataError: If a file is missing or damaged; names it.
        ParameterError: If a file contradicts a setting.
    """
    checked = set()
    for run in runs:
        task = run.configuration.configs["task"]
        if not isinstance(task, DownloadedTaskConfig):
            continue
        names = [p.name for p in parameters_of(type(task)) if p.name != _SAME_FILES]
        key = json.dumps([run.settings["task"], {name: run.settings[name] for name in names}])
        if key not in checked:
            checked.add(key)
            task.build()
