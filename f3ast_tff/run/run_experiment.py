"""Runs an experiment from its configuration to its results; used by all commands."""

from __future__ import annotations

import logging
import math
import os
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, chdir, closing
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from f3ast_tff.files.plugin_errors import plugins_named
from f3ast_tff.records.provenance import cores, provenance
from f3ast_tff.records.results import finished_summary
from f3ast_tff.records.run_folder import RunFolder, run_log
from f3ast_tff.settings.configuration import Configuration

if TYPE_CHECKING:
    from f3ast_tff.core.federated_data import FederatedData
    from f3ast_tff.files.signals import Stop
    from f3ast_tff.records.metrics_loggers import Callback, Progress
    from f3ast_tff.run.round_loop import RunResult

_LOG = logging.getLogger(__name__)


def run_experiment(
    configuration: Configuration,
    folder: Path | None = None,
    *,
    with_model: bool = False,
    progress: Progress | None = None,
    callbacks: Sequence[Callback] = (),
    stop: Stop | None = None,
    origin: Mapping[str, Any] | None = None,
    patience_s: float = 0.0,
    start: Sequence[np.ndarray] | None = None,
    or_so_far: bool = False,
) -> RunResult:
    """Runs one experiment to its end, from its last checkpoint; prints nothing.

    The command line, `simulate` and the workers of a campaign all call this function. If the folder
    holds the same run with fewer rounds, it is made longer, after all other checks.

    Args:
        configuration: The experiment.
        folder: The run's folder; `None` writes no files.
        with_model: Whether the result holds the model; for a finished run it is restored.
        progress: Receiver of the progress after every block of rounds.
        callbacks: Callbacks for every round and every evaluation.
        stop: Request to stop, polled between rounds.
        origin: Versions and commit for `config.json`; by default those of this process.
        patience_s: Seconds to wait for a folder that another process holds.
        start: Weights of round 1 that are given in Python, see the setting `initial_weights`.
        or_so_far: See `round_loop.train`.

    Raises:
        CheckpointError: If there are checkpoints but none can be used.
        ComponentError: If a component breaks its protocol.
        DataError: If a data file is missing or damaged.
        EngineError: If the engine is lost; the last checkpoint stays.
        Interrupted: If `stop` was requested.
        ParameterError: If the data or this machine contradicts a setting.
        PluginError: If a plug-in's code raised an error; its traceback is in the run's log.
        RunFolderError: If the folder is in use, not writable, or of another run.
    """
    shorter = None
    if folder is not None and folder.exists():
        from f3ast_tff.run.begun import as_begun, shorter_run

        configuration = as_begun(configuration, folder)
        shorter = shorter_run(folder, configuration)
    engine = configuration.configs["engine"]
    engine.check_installed()
    # Frameworks read the environment when they are imported.
    engine.prepare_environment(os.environ)
    # Imported here, because it imports all components.
    from f3ast_tff.records.metrics_loggers import metrics_loggers
    from f3ast_tff.run.build import Builder
    from f3ast_tff.run.round_loop import RunResult, train

    settings = configuration.settings
    with ExitStack() as stack:
        if configuration.plugins:
            # One of them may change the folder of the process.
            stack.enter_context(chdir(os.curdir))
            folder = None if folder is None else folder.absolute()
        opened, loggers = None, []
        if folder is not None:
            identity = shorter or configuration.identity
            opened = stack.enter_context(closing(RunFolder(folder, identity, patience_s)))
            stack.enter_context(run_log(folder))
        stack.enter_context(plugins_named())
        if opened is not None and shorter is None:
            summary = None if with_model else finished_summary(opened.path)
            if summary is not None:
                from f3ast_tff.run.begun import finished_again

                left_out = finished_again(opened, configuration, summary)
                return RunResult(summary, finished_before=True, not_added=left_out)
        builder = Builder(configuration, folder, start)
        experiment, data = builder.experiment(), builder.data
        stack.callback(experiment.engine.close)
        scoring = None if builder.scoring is None else builder.scoring.describe()
        if opened is not None:
            origin = provenance() if origin is None else origin
            write_config(opened, configuration, origin, experiment.data_sha256, data, scoring)
            loggers = metrics_loggers(configuration.settings.run.logger, opened.path, settings)
        how = "as given" if "engine" in configuration.given else "by default (auto)"
        _LOG.info("engine %s, %s", settings.engine, how)
        warn_of_unscored(*data.scored_clients())
        result = train(experiment, opened, progress, callbacks, loggers, stop, or_so_far=or_so_far)
        if not result.finished_before and "left_out" in result.summary:
            from f3ast_tff.records.left_out import said

            _LOG.warning("%s", said(result.summary["left_out"]))
        own_loss = scoring is not None and scoring["own_loss"]
        if not result.finished_before:
            warn_of_no_step(result.rows)
            if not own_loss:
                warn_of_a_guess(data.num_classes, result.summary["final"], data)
        if not with_model:
            return result
        trained = builder.trained(experiment.engine)
        if trained.config.in_numpy and not own_loss and trained.private is None:
            from f3ast_tff.run.doubts import warn_of_probabilities

            warn_of_probabilities(experiment.model, trained, data)
        return replace(result, trained=trained, model=experiment.model, scoring=scoring)


def warn_of_a_guess(classes: int, final: Mapping[str, Any], data: FederatedData | None) -> None:
    """Logs a warning, and a cause in the data, if the sample loss is not below ln C, a guess's."""
    # A summary read from a file has null for NaN.
    loss = math.nan if final["test_sample_loss"] is None else final["test_sample_loss"]
    if loss < math.log(classes):
        return
    cause = ""
    if data is not None and data.feature_names:
        from f3ast_tff.run.doubts import large_feature

        cause = large_feature(data)
    found = f"{loss:.4f}" if math.isfinite(loss) else "not finite"
    guess = f"ln {classes} is {math.log(classes):.4f}"
    said = f"the loss is no better than that of a guess among {classes} classes"
    _LOG.warning("round %d: %s: sample loss %s, %s%s", final["round"], said, found, guess, cause)


def warn_of_no_step(rows: Sequence[Mapping[str, float]]) -> None:
    """Logs a warning if updates with shared leaves arrived when evaluated, and none moved it."""
    norms = [row["update_norm"] for row in rows if row["num_delivered"] and row["bytes_up"]]
    if norms and not any(norms):
        _LOG.warning("the model has not moved: all %d evaluated updates were 0", len(norms))


def warn_of_unscored(scored: int, clients: int) -> None:
    """Logs a warning if a mean over users leaves out clients, which have no test example."""
    if scored < clients:
        none = f"{clients - scored} of {clients} clients have no test example"
        _LOG.warning("%s: user scores are of %d", none, scored)


def write_config(
    folder: RunFolder,
    configuration: Configuration,
    origin: Mapping[str, Any],
    data_sha256: str | None,
    data: FederatedData,
    scoring: Mapping[str, Any] | None = None,
) -> None:
    """Writes `config.json`; checks the data of a run that has begun before, then extends it.

    `cores` lists the numbers of cores that have executed the run, since the number changes the
    order of an engine's sums; `continued_with` lists other versions that went on with it. A new
    number or version is logged once, as a warning. `scoring` is `Scoring.describe()` of a model
    that brings a loss or scores.

    Raises:
        CheckpointError: See `extend_run`.
        RunFolderError: If the run began with other data, or cannot be made longer.
    """
    if (before := folder.config()) is not None:
        from f3ast_tff.run.begun import goes_on

        if goes_on(folder, before, configuration, origin=origin, data_sha256=data_sha256):
            return
    content: dict[str, Any] = {
        "settings": dict(configuration.settings),
        "identity": configuration.identity,
        "data_sha256": data_sha256,
        "cores": [cores()],
        **configuration.describe(),
        **origin,
    }
    content["components"]["task"]["num_classes"] = data.num_classes
    if scoring is not None:
        content["scoring"] = scoring
    names = {"features": data.feature_names, "labels": data.label_names}
    if any(names.values()):
        content["columns"] = names
    folder.write_json("config.json", content)
