"""The command `f3ast-tff`, and `run_experiments.py`, which is the same."""

from __future__ import annotations

import importlib
import os
import sys
import threading
import time
from collections.abc import Sequence

import f3ast_tff
from f3ast_tff.core.errors import PluginError
from f3ast_tff.files.messages import NO_READER, discard_output, print_any_character, show
from f3ast_tff.files.plugin_errors import plugins_named
from f3ast_tff.files.signals import Signals

# Time for threads to end after the command.
_GRACE_S = 5.0
SHORT_HELP = ("--help", "-help", "-h", "--helpshort")
# Each command with its line in the help.
COMMANDS = {
    "demo": "half a minute from nothing to a verdict: F3AST and three forms of FedAvg",
    "run": "one experiment, or several: its folder has scores, selections and weights",
    "campaign": "a grid of runs, one of the papers' or your own",
    "report": "tables, figures and verdicts from a folder of runs",
    "compare": "a table and a picture of a folder of runs",
    "judge": "verdicts on anybody's table of scores",
    "audit": "whom the model of your own server is of when clients come and go",
    "verify": "plays kept runs again, and says whether they are equal",
    "example": "writes an example file into this folder, or lists them",
    "test": "a plug-in's components against what a run needs of them",
    "try": "a method of your own against others, from its file to a verdict",
    "leaderboard": "kept methods of each task and regime in order, and your own among them",
    "export": "a folder of runs as one table, CSV or parquet",
    "availability": "who is available when, as numbers and a picture",
    "advise": "which method and how many clients for a log of who was online",
    "cite": "what to cite: this suite, and the papers of methods, runs and campaigns",
    "completion": "completes these commands and their flags in bash or zsh",
}
USAGE = f"""
Federated learning when clients come and go.
{chr(10).join(f"  f3ast-tff {name:<13} {about}" for name, about in COMMANDS.items())}
Begin with `demo`; `f3ast-tff COMMAND --help` lists flags; given again, an ended command goes on.
"""


def main(argv: Sequence[str] | None = None) -> int:
    """Runs a command.

    Args:
        argv: The program's name and its arguments; by default the process's, and then signals
            are handled.

    Returns:
        The exit code: 0, `BAD_INPUT` for errors of the user, 1 for a failure, 128 plus the
        number of a signal, 141 if the reader of the output is gone.
    """
    for name in ("stdout", "stderr"):
        # Python's stream is `None` if the process was started with it closed.
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, "w", errors="replace"))  # noqa: SIM115
    signals = Signals()
    if argv is None:
        print_any_character()
        # Before slow imports.
        signals.install()
    try:
        with plugins_named():
            code = _main(sys.argv if argv is None else argv, signals)
        sys.stdout.flush()
    except BrokenPipeError:
        # For example after `| head`.
        discard_output()
        code = NO_READER
    except (MemoryError, OSError) as error:
        from f3ast_tff.files.exit_codes import fail_of_machine

        # Commands report unwritable files themselves, so this is stdout on a full disk.
        discard_output()
        code = fail_of_machine(error)
    except PluginError as error:
        from f3ast_tff.files.exit_codes import FAILED, fail

        code = fail(error, FAILED)
    signals.ignore()
    if argv is None:
        threading.Thread(target=_end, args=(code,), name="end", daemon=True).start()
    return code


def _end(code: int) -> None:
    """Ends the process if it outlives the command, since Python waits for what a plug-in began.

    These are threads, processes of `multiprocessing` and functions of `atexit`. Nobody else could
    end it: the command is done, and signals are ignored.
    """
    time.sleep(_GRACE_S)
    import multiprocessing

    main_thread = threading.main_thread()
    names = [t.name for t in threading.enumerate() if not t.daemon and t is not main_thread]
    children = multiprocessing.active_children()
    names += [child.name for child in children]
    from f3ast_tff.files.messages import one_line
    from f3ast_tff.files.progress import say

    what = ", ".join(names) or "a function of atexit"
    say(one_line(f"WARNING: the process ends without what did not: {what}"))
    for child in children:
        child.kill()
    os._exit(code)


def _main(argv: Sequence[str], signals: Signals) -> int:
    program, *arguments = argv
    if arguments[:1] == ["--version"]:
        show(f"f3ast-tff {f3ast_tff.__version__}")
        return 0
    if not arguments or len(arguments) == 1 and arguments[0] in SHORT_HELP:
        show(USAGE.strip())
        return 0
    command = "run"
    if not arguments[0].startswith("-"):
        command, *arguments = arguments
    if command not in COMMANDS:
        from f3ast_tff.files.exit_codes import fail

        allowed = f"must be one of {', '.join(COMMANDS)}"
        return fail(f"{command!r} is no command; {allowed}")
    # Imports only this command.
    if command in ("run", "campaign"):
        from f3ast_tff.cli.run import run_or_campaign

        return run_or_campaign(command, arguments, signals)
    if command == "try":
        from f3ast_tff.cli.try_method import try_method

        return try_method([program, *arguments], signals)
    if command == "demo":
        from f3ast_tff.cli.demo import demo

        return demo([program, *arguments], signals)
    if command == "compare" and arguments[:1] == ["--kept"]:
        command = "kept"
    more = {"signals": signals} if command == "verify" else {}
    return importlib.import_module(f"f3ast_tff.cli.{command}").main([program, *arguments], **more)


if __name__ == "__main__":
    sys.exit(main())
