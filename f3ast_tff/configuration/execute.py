"""One resolved experiment in its folder, without a word to the terminal: all commands share it."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from contextlib import closing
from typing import TYPE_CHECKING, Any

from f3ast_tff.configuration.configuration import Configuration

if TYPE_CHECKING:
    from f3ast_tff.training.run import Callback, Progress, RunResult
    from f3ast_tff.training.run_folder import RunFolder


def execute(
    configuration: Configuration,
    folder: RunFolder | None,
    progress: Progress | None,
    provenance: Mapping[str, Any],
    callbacks: Sequence[Callback] = (),
) -> RunResult:
    """Runs an experiment to its end, or goes on with it from its last checkpoint.

    Args:
        configuration: The experiment.
        folder: The run's folder, its lock held; `None` writes no files.
        progress: Told of every block of rounds.
        provenance: What `config.json` says of versions and commit
            (`f3ast_tff.configuration.provenance`).
        callbacks: Called for every round and every evaluation.

    Raises:
        CheckpointError: If there are checkpoints but none can be used.
        ComponentError: If a component breaks its protocol.
        DataError: If a data file is missing or damaged.
        EngineError: If the engine is lost; the last checkpoint stays.
        ParameterError: If the data or this machine contradicts a setting.
    """
    # Frameworks read the environment when they are imported.
    configuration.configs["engine"].prepare_environment(os.environ)
    from f3ast_tff.configuration.build import build_experiment
    from f3ast_tff.training.run import run_experiment

    experiment = build_experiment(configuration, None if folder is None else folder.path)
    with closing(experiment.engine):
        if folder is not None:
            write_config(folder, configuration, provenance)
        return run_experiment(experiment, folder, progress, callbacks)


def write_config(
    folder: RunFolder, configuration: Configuration, provenance: Mapping[str, Any]
) -> None:
    """Writes `config.json`, unless the run has begun before."""
    if folder.file("config.json").exists():
        return
    content = {
        "settings": dict(configuration.settings),
        "identity": configuration.identity,
        **configuration.describe(),
        **provenance,
    }
    folder.write_json("config.json", content)
