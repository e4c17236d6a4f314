"""One resolved experiment in its folder, without a word to the terminal: all commands share it."""

from __future__ import annotations

import logging
import math
import os
from collections.abc import Mapping, Sequence
from contextlib import closing
from typing import TYPE_CHECKING, Any

from f3ast_tff.configuration.configuration import Configuration
from f3ast_tff.configuration.provenance import cores
from f3ast_tff.errors import RunFolderError

if TYPE_CHECKING:
    from f3ast_tff.training.run import Callback, Progress, RunResult
    from f3ast_tff.training.run_folder import RunFolder
    from f3ast_tff.training.stopping import Stop


def execute(
    configuration: Configuration,
    folder: RunFolder | None,
    progress: Progress | None,
    provenance: Mapping[str, Any],
    callbacks: Sequence[Callback] = (),
    stop: Stop | None = None,
) -> RunResult:
    """Runs an experiment to its end, or goes on with it from its last checkpoint.

    Args:
        configuration: The experiment.
        folder: The run's folder, its lock held; `None` writes no files.
        progress: Told of every block of rounds.
        provenance: What `config.json` says of versions and commit
            (`f3ast_tff.configuration.provenance`).
        callbacks: Called for every round and every evaluation.
        stop: Asked between rounds.

    Raises:
        CheckpointError: If there are checkpoints but none can be used.
        ComponentError: If a component breaks its protocol.
        DataError: If a data file is missing or damaged.
        EngineError: If the engine is lost; the last checkpoint stays.
        Interrupted: If `stop` was requested.
        ParameterError: If the data or this machine contradicts a setting.
        RunFolderError: If the run began with other data.
    """
    # Frameworks read the environment when they are imported.
    configuration.configs["engine"].prepare_environment(os.environ)
    from f3ast_tff.configuration.build import build_experiment
    from f3ast_tff.training.open_loggers import metrics_loggers
    from f3ast_tff.training.run import run_experiment

    experiment = build_experiment(configuration, None if folder is None else folder.path)
    with closing(experiment.engine):
        loggers = []
        if folder is not None:
            write_config(folder, configuration, provenance, experiment.data_sha256)
            settings = configuration.settings
            loggers = metrics_loggers(settings["logger"], folder.path, settings)
        result = run_experiment(experiment, folder, progress, callbacks, loggers, stop)
    warn_of_a_guess(configuration.configs["task"].num_classes, result.summary["final"])
    return result


def warn_of_a_guess(num_classes: int | None, final: Mapping[str, Any]) -> None:
    """Logs a warning if a model is no better than a guess: its sample loss is not below ln C.

    Args:
        num_classes: C; `None` where a task does not say.
        final: The last evaluation of the run.
    """
    # What is not finite is null in a summary that was read.
    loss = math.nan if final["test_sample_loss"] is None else final["test_sample_loss"]
    if num_classes is None or loss < math.log(num_classes):
        return
    logging.warning(
        "round %d: the model is no better than a guess among %d classes: sample loss %s, "
        "ln %d is %.4f",
        *(final["round"], num_classes, f"{loss:.4f}" if math.isfinite(loss) else "not finite"),
        *(num_classes, math.log(num_classes)),
    )


def write_config(
    folder: RunFolder,
    configuration: Configuration,
    provenance: Mapping[str, Any],
    data_sha256: str | None,
) -> None:
    """Writes `config.json`; of a run that has begun before, checks that its data are the same.

    `cores` lists the numbers of cores that the run was executed on: each changes the order of an
    engine's sums. A number that is new to a run is warned of, once.

    Args:
        folder: The run's folder.
        configuration: The experiment.
        provenance: See `execute`.
        data_sha256: `FederatedData.sha256` of the data.

    Raises:
        RunFolderError: If the run began with other data.
    """
    before = folder.config()
    if before is not None:
        if before.get("data_sha256", data_sha256) != data_sha256:
            place = configuration.settings.get("data_dir")
            where = f"the files in {place}" if place else f"task {configuration.settings['task']}"
            raise RunFolderError(
                f"{folder.path} holds a run on other data: the data of {where} have changed. "
                "Give another run_name, or remove the folder"
            )
        _note_cores(folder, before)
        return
    content = {
        "settings": dict(configuration.settings),
        "identity": configuration.identity,
        "data_sha256": data_sha256,
        "cores": [cores()],
        **configuration.describe(),
        **provenance,
    }
    folder.write_json("config.json", content)


def _note_cores(folder: RunFolder, before: Mapping[str, Any]) -> None:
    known, here = before.get("cores"), cores()
    if not isinstance(known, list) or not known or here in known:
        return
    logging.warning(
        "the number of cores was %s and is now %d: weights may differ in the last digits (some "
        "1e-6) from those of a run on one number of cores",
        known[0],
        here,
    )
    folder.write_json("config.json", {**before, "cores": [*known, here]})
