"""One resolved experiment in its folder, without a word to the terminal: all commands share it."""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

from f3ast_tff.configuration.framework_environment import prepare_environment
from f3ast_tff.configuration.settings import Settings
from f3ast_tff.training.run_folder import RunFolder

if TYPE_CHECKING:
    from f3ast_tff.training.run import Progress


def execute(
    settings: Settings, folder: RunFolder, progress: Progress, provenance: Mapping[str, Any]
) -> dict[str, Any]:
    """Runs an experiment to its end, or goes on with it from its last checkpoint.

    Args:
        settings: Resolved settings.
        folder: The run's folder, its lock held.
        progress: Told of every round.
        provenance: What `config.json` says besides the settings (`f3ast_tff.configuration.provenance`).

    Returns:
        The content of `summary.json`.

    Raises:
        CheckpointError: If there are checkpoints but none can be used.
        DataError: If a data file is missing or damaged.
        EngineError: If the engine is lost; the last checkpoint stays.
        SettingError: If the data or this machine contradicts a setting.
    """
    # Frameworks read the environment when they are imported.
    prepare_environment(settings, os.environ)
    from f3ast_tff.configuration.build import build_experiment
    from f3ast_tff.training.run import run_experiment

    with ExitStack() as stack:
        experiment = build_experiment(settings, folder.path)
        stack.callback(experiment.engine.close)
        if not folder.file("config.json").exists():
            folder.write_json("config.json", {"settings": settings.as_dict(), **provenance})
        return run_experiment(experiment, folder, progress)
