"""`f3ast-tff run`: one experiment from its settings; folder, resume, run, exit codes."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

from f3ast_tff.command_line.comma_lists import combinations
from f3ast_tff.command_line.failures import BAD_INPUT, FAILED, fail, fail_of_machine
from f3ast_tff.command_line.flags import setting_flags
from f3ast_tff.command_line.progress import ProgressBar
from f3ast_tff.components import Registry
from f3ast_tff.configuration.resolve import resolve
from f3ast_tff.errors import (
    CheckpointError,
    ComponentError,
    DataError,
    EngineError,
    Interrupted,
    ParameterError,
    RunFolderError,
)
from f3ast_tff.progress import say, warnings_said
from f3ast_tff.signals import Signals
from f3ast_tff.training.results import RunResult
from f3ast_tff.training.run_experiment import run_experiment

_AT_START = "interrupted before a round was done: the same command starts or goes on with the run"


def run_all(given: Mapping[str, Any], registry: Registry, signals: Signals) -> int:
    """Runs every combination of the values that are lists, one after the other.

    Args:
        given: As for `run`; a value may be a list.
        registry: The components at hand.
        signals: As for `run`.

    Returns:
        The exit code of the first that is not 0; later ones run all the same, but after a signal.
    """
    lists = {name: values for name, values in given.items() if isinstance(values, list)}
    if lists and "run_name" in given:
        allowed = f"must not be given with several values of {', '.join(lists)}"
        return fail(ParameterError("run_name", given["run_name"], allowed))
    try:
        # Before the first starts: another may be refused.
        for chosen in combinations(lists):
            resolve({**given, **chosen}, registry)
    except ParameterError as error:
        return fail(error, BAD_INPUT, setting_flags(registry))
    code = 0
    for chosen in combinations(lists):
        code_of_run = run({**given, **chosen}, registry, signals)
        code = code or code_of_run
        if signals.requested():
            return code_of_run
    return code


def run(given: Mapping[str, Any], registry: Registry, signals: Signals | None = None) -> int:
    """Runs the experiment that the settings describe, or goes on with it.

    Args:
        given: Settings given, by name.
        registry: The components at hand.
        signals: Asked between rounds whether to stop; by default nothing asks for that.

    Returns:
        The exit code: 0, `BAD_INPUT` for what the user can put right, 128 and the number of a
        signal, `FAILED` otherwise.
    """
    with warnings_said():
        return _run(given, registry, signals or Signals())


def _run(given: Mapping[str, Any], registry: Registry, signals: Signals) -> int:
    names = setting_flags(registry)
    try:
        configuration = resolve(given, registry)
    except ParameterError as error:
        return fail(error, BAD_INPUT, names)
    settings = configuration.settings
    progress = ProgressBar(settings["run_name"], settings["rounds"])
    signals.message, signals.say = _AT_START, say
    with closing(progress):
        try:
            result = run_experiment(
                configuration, configuration.folder, progress=progress, stop=signals
            )
        except (
            *(CheckpointError, ComponentError, DataError, ParameterError, RunFolderError),
        ) as error:
            progress.close()
            return fail(error, BAD_INPUT, names)
        except EngineError as error:
            progress.close()
            return fail(error, FAILED)
        except BrokenPipeError:
            raise
        except (MemoryError, OSError) as error:
            progress.close()
            return fail_of_machine(error)
        except Interrupted as error:
            progress.close()
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
    return f"{'?' if seconds is None else format(seconds, '.3g')} s a round, at most {memory}"
