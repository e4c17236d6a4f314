"""`f3ast-tff run`: experiments from their settings, one line each, exit codes."""

from __future__ import annotations

import itertools
from collections.abc import Container, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

from f3ast_tff.cli.failures import BAD_INPUT, FAILED, fail, fail_of_machine
from f3ast_tff.cli.flags import setting_flags
from f3ast_tff.cli.progress import ProgressBar
from f3ast_tff.core.errors import (
    CheckpointError,
    ComponentError,
    DataError,
    EngineError,
    Interrupted,
    ParameterError,
    PluginError,
    RunFolderError,
)
from f3ast_tff.core.progress import say, warnings_said
from f3ast_tff.core.signals import Signals
from f3ast_tff.run.results import RunResult
from f3ast_tff.run.run_experiment import run_experiment
from f3ast_tff.settings import Registry
from f3ast_tff.settings.configuration import Configuration
from f3ast_tff.settings.resolve import resolve

_AT_START = "interrupted before a round was done: the same command starts or goes on with the run"


def run(given: Mapping[str, Any], registry: Registry, signals: Signals | None = None) -> int:
    """Runs the experiment that the settings describe, or goes on with it.

    Args:
        given: Settings by name. Several values in a list are several runs: every combination, one
            after the other.
        registry: The components at hand.
        signals: Asked between rounds whether to stop; by default nothing asks for that.

    Returns:
        The exit code: 0, `BAD_INPUT` for errors of the user, 128 plus the number of a signal,
        `FAILED` otherwise. Several runs return their first code other than 0; after a signal
        no further run starts.
    """
    signals = signals or Signals()
    names = setting_flags(registry)
    lists = {name: values for name, values in given.items() if isinstance(values, list)}
    if lists and "run_name" in given:
        allowed = f"must not be given with several values of {', '.join(lists)}"
        return fail(ParameterError("run_name", given["run_name"], allowed))
    code = 0
    with warnings_said():
        try:
            # All, before the first starts: another may be refused.
            configurations = [
                resolve({**given, **dict(zip(lists, values))}, registry)
                for values in itertools.product(*lists.values())
            ]
        except ParameterError as error:
            return fail(error, BAD_INPUT, names)
        for configuration in configurations:
            code_of_run = _run(configuration, names, signals)
            code = code or code_of_run
            if signals.requested():
                return code_of_run
    return code


def _run(configuration: Configuration, names: Container[str], signals: Signals) -> int:
    settings = configuration.settings
    progress = ProgressBar(settings["run_name"], settings["rounds"])
    signals.message, signals.say = _AT_START, say
    try:
        with closing(progress):
            result = run_experiment(
                configuration, configuration.folder, progress=progress, stop=signals
            )
    except (CheckpointError, ComponentError, DataError, ParameterError, RunFolderError) as error:
        return fail(error, BAD_INPUT, names)
    except (EngineError, PluginError) as error:
        return fail(error, FAILED)
    except BrokenPipeError:
        raise
    except (MemoryError, OSError) as error:
        return fail_of_machine(error)
    except Interrupted as error:
        done = error.round_number
        say(
            f"interrupted: checkpoint at round {done}, the same command goes on from there"
            if done
            else _AT_START
        )
        return signals.exit_code
    _report(configuration.folder, result)
    return 0


def _report(folder: Path, result: RunResult) -> None:
    if result.not_added:
        say(f"{folder}: {', '.join(result.not_added)}: not added to a finished run")
    summary = result.summary
    # JSON has no NaN: a summary read back holds null.
    final = {k: float("nan") if v is None else v for k, v in summary["final"].items()}
    print(
        f"{folder} {'already finished' if result.finished_before else 'finished'}: "
        f"round {final['round']}, "
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
    shown = "?" if seconds is None else format(seconds, ".3g")
    return f"{shown} s per round (median, without scoring), at most {memory}"
