"""The command `f3ast-tff`, and `run_experiments.py`, which is the same."""

from __future__ import annotations

import importlib
import os
import signal
import sys
from collections.abc import Sequence
from pathlib import Path

import f3ast_tff
from f3ast_tff.core.messages import print_any_character
from f3ast_tff.core.signals import Signals

USAGE = """
Federated learning when clients come and go.

f3ast-tff run --algorithm=f3ast --availability=home_devices --rounds=100
f3ast-tff campaign table3_synthetic
f3ast-tff report --runs=runs --out=report
f3ast-tff compare --runs=runs --out=accuracy.png
f3ast-tff export --runs=runs --out=runs.parquet
f3ast-tff availability --availability=smartphones --plot=smartphones.png

A run writes <output_dir>/<run_name>/: config.json, metrics.csv, selection.npz, summary.json,
checkpoints/ and TensorBoard events. A campaign writes <output_dir>/<campaign>/: manifest.json and
runs/<run>/ for each. The same command goes on with what was interrupted.
`f3ast-tff COMMAND --help` lists the flags of a command; `run` is the command where none is named.
"""
COMMANDS = ("run", "campaign", "report", "compare", "export", "availability")


def main(argv: Sequence[str] | None = None) -> int:
    """Runs a command.

    Args:
        argv: The program's name and its arguments; by default of the process, with signals
            handled.

    Returns:
        The exit code: 0, `BAD_INPUT` for errors of the user, 1 for a failure, 128 plus the
        number of a signal, 141 if nobody reads the output any more.
    """
    signals = Signals()
    if argv is None:
        print_any_character()
        # Before anything slow is imported.
        signals.install()
    try:
        code = _main(sys.argv if argv is None else argv, signals)
        sys.stdout.flush()
    except BrokenPipeError:
        # For example after `| head`.
        _discard_output()
        code = 128 + signal.SIGPIPE
    except (MemoryError, OSError) as error:
        from f3ast_tff.cli.failures import fail_of_machine

        # Commands report files that they cannot write; this is stdout on a full disk.
        _discard_output()
        code = fail_of_machine(error)
    signals.ignore()
    return code


def _discard_output() -> None:
    """Discards output that is not yet flushed."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _main(argv: Sequence[str], signals: Signals) -> int:
    program, *arguments = argv
    if arguments[:1] == ["--version"]:
        print(f"f3ast-tff {f3ast_tff.__version__}")
        return 0
    if not arguments:
        print(USAGE.strip())
        return 0
    command = "run"
    if not arguments[0].startswith("-"):
        command, *arguments = arguments
    if command not in COMMANDS:
        from f3ast_tff.cli.failures import fail

        allowed = f"must be one of {', '.join(COMMANDS)}"
        return fail(f"{command!r} is no command; {allowed}")
    if command in ("run", "campaign"):
        return _run(arguments, command, signals)
    # The other commands are not imported.
    return importlib.import_module(f"f3ast_tff.cli.{command}").main([program, *arguments])


def _run(arguments: Sequence[str], command: str, signals: Signals) -> int:
    from f3ast_tff.cli.failures import fail
    from f3ast_tff.cli.flags import expand_flagfiles, help_text, parse
    from f3ast_tff.cli.parameter_flags import UsageError, plugins_given, wants_help
    from f3ast_tff.core.errors import ParameterError

    words = list(arguments)
    if command == "campaign" and words and not words[0].startswith("-"):
        words[0] = f"--campaign={words[0]}"
    try:
        if wants_help(words):
            plugins = plugins_given(expand_flagfiles(words, Path()))
            print(help_text(USAGE, parse([f"--plugin={each}" for each in plugins]).registry))
            return 0
        parsed = parse(words)
    except (ParameterError, UsageError) as error:
        return fail(error)
    if "campaign" in parsed.campaign:
        # Here, so that a single run does without it.
        from f3ast_tff.cli.campaign import campaign

        return campaign(parsed, signals)
    if command == "campaign" or parsed.campaign:
        given = next(iter(parsed.campaign), None)
        return fail(f"--{given} needs --campaign" if given else "a campaign must be named")
    from f3ast_tff.cli.run import run

    return run(parsed.settings, parsed.registry, signals)


if __name__ == "__main__":
    sys.exit(main())
