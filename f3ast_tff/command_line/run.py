"""`f3ast-tff run`: one experiment from its settings; folder, resume, run, exit codes."""

from __future__ import annotations

import logging
import signal
import sys
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from f3ast_tff.command_line.failures import BAD_INPUT, FAILED, INTERRUPTED, fail
from f3ast_tff.command_line.flags import setting_flags
from f3ast_tff.command_line.progress import ProgressBar
from f3ast_tff.components import Registry
from f3ast_tff.configuration.configuration import Configuration
from f3ast_tff.configuration.execute import execute
from f3ast_tff.configuration.provenance import provenance
from f3ast_tff.configuration.resolve import resolve
from f3ast_tff.errors import (
    CheckpointError,
    ComponentError,
    DataError,
    EngineError,
    ParameterError,
    RunFolderError,
)
from f3ast_tff.training.run_folder import RunFolder


def run(given: Mapping[str, Any], registry: Registry) -> int:
    """Runs the experiment that the settings describe, or goes on with it.

    Args:
        given: Settings given, by name.
        registry: The components at hand.

    Returns:
        The exit code: 0, `BAD_INPUT` for what the user can put right, `INTERRUPTED` after
        Ctrl-C, `FAILED` otherwise.
    """
    logging.basicConfig(format="%(levelname)s: %(message)s", level=logging.WARNING)
    names = setting_flags(registry)
    try:
        configuration = resolve(given, registry)
        configuration.configs["engine"].check_installed()
        settings = configuration.settings
        path = Path(settings["output_dir"]) / settings["run_name"]
        folder = RunFolder(path, configuration.identity)
    except (ParameterError, RunFolderError) as error:
        return fail(error, BAD_INPUT, names)
    with ExitStack() as stack:
        stack.callback(folder.close)
        finished = folder.read_json("summary.json")
        if finished is not None:
            _report(folder, finished, "already finished")
            return 0
        try:
            summary = _execute(configuration, folder, stack)
        except (CheckpointError, ComponentError, DataError, ParameterError) as error:
            return fail(error, BAD_INPUT, names)
        except EngineError as error:
            return fail(error, FAILED)
        except KeyboardInterrupt:
            print("interrupted: the same command goes on from the last checkpoint", file=sys.stderr)
            return INTERRUPTED
        _report(folder, summary, "finished")
    return 0


def _execute(configuration: Configuration, folder: RunFolder, stack: ExitStack) -> dict[str, Any]:
    # A termination must unwind like Ctrl-C, so that what was started is ended.
    signal.signal(signal.SIGTERM, terminate)
    settings = configuration.settings
    progress = ProgressBar(settings["run_name"], settings["rounds"])
    stack.callback(progress.close)
    return execute(configuration, folder, progress, provenance()).summary


def terminate(signum: int, frame: Any) -> None:
    """Signal handler that unwinds the stack."""
    sys.exit(128 + signum)


def _report(folder: RunFolder, summary: Mapping[str, Any], state: str) -> None:
    # JSON has no NaN: a summary read back holds null.
    final = {k: float("nan") if v is None else v for k, v in summary["final"].items()}
    print(
        f"{folder.path} {state}: round {final['round']}, "
        f"sample accuracy {final['test_sample_accuracy']:.4f}, "
        f"user accuracy {final['test_user_accuracy']:.4f}, "
        f"sample loss {final['test_sample_loss']:.4f}, "
        f"user loss {final['test_user_loss']:.4f}; {_cost(summary)}"
    )


def _cost(summary: Mapping[str, Any]) -> str:
    memory = f"{summary['peak_memory_mib']:.0f} MiB"
    if "worker_peak_memory_mib" in summary:
        memory += f" and {summary['worker_peak_memory_mib']:.0f} MiB in TFF's worker"
    seconds = summary["seconds_per_round"]
    return f"{'?' if seconds is None else format(seconds, '.3g')} s a round, at most {memory}"
