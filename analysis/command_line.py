"""The command lines of the analysis commands: flags, `--help`, and errors in one line."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import wraps
from pathlib import Path
from typing import Any, TypeVar

from f3ast_tff.analysis.compare.scored import RunsError
from f3ast_tff.analysis.runs import Run, finished_runs, load_runs, not_begun, unfinished_line
from f3ast_tff.core.errors import ParameterError, is_of_a_path
from f3ast_tff.files.exit_codes import BAD_INPUT, FAILED, fail
from f3ast_tff.files.messages import NO_READER, discard_output, print_any_character, show
from f3ast_tff.files.progress import say
from f3ast_tff.settings import REQUIRED, Parameter, parameter, parameters_of
from f3ast_tff.settings.flag_help import flag_lines
from f3ast_tff.settings.flags import UsageError, parse_flags, wants_help

_Flags = TypeVar("_Flags")
# Flags whose names may be left out before the first value.
_FIRST = {"runs": "a folder of runs", "scores": "a table of scores", "target": "a target"}


def command(
    flags: type[_Flags], about: str | None
) -> Callable[[Callable[[_Flags], int | None]], Callable[[Sequence[str]], int]]:
    """Turns a function of flags into the `main` of a command, which takes a command line.

    The function's result is the exit code, `None` for 0. It raises `OSError` only if `flags.out`
    cannot be written. `main` prints errors in one line on stderr, with exit code `BAD_INPUT`, or
    `FAILED` if the disk is full. If nobody reads its output any more, the code is `NO_READER`.

    Args:
        flags: A dataclass with a field made by `f3ast_tff.settings.parameter` for each flag.
        about: The first lines of `--help`.
    """

    def decorate(execute: Callable[[_Flags], int | None]) -> Callable[[Sequence[str]], int]:
        @wraps(execute)
        def main(argv: Sequence[str]) -> int:
            print_any_character()
            out = None
            try:
                values = _parse(argv, about or "", flags)
                if values is None:
                    return 0
                out = getattr(values, "out", None)
                code = execute(values) or 0
                show(end="", flush=True)
                return code
            except BrokenPipeError:
                discard_output()
                return NO_READER
            except (ParameterError, RunsError, UsageError) as error:
                return fail(error)
            except OSError as error:
                if out is None:
                    raise
                code = BAD_INPUT if is_of_a_path(error) else FAILED
                return fail(f"--out={out}: cannot write: {error.strerror or error}", code)

        return main

    return decorate


def runs_flag() -> Any:
    """Declares the flag of the runs to read."""
    return parameter(
        REQUIRED,
        "folder of runs, searched at any depth; --runs= may be left out before it",
        is_path=True,
    )


def may_differ_flag() -> Any:
    """Declares the flag of further settings in which methods may differ; see `names_in`."""
    about = "further settings in which compared methods may differ, with commas between"
    return parameter("", about)


def names_in(text: str) -> list[str]:
    """Returns the names of a text with commas between them."""
    return [each.strip() for each in text.split(",") if each.strip()]


def out_flag(kind: str = "PNG") -> Any:
    """Declares the flag of the file to write; `kind` names its format."""
    return parameter(
        REQUIRED, f"{kind} file to write or replace; its folder must exist", is_path=True
    )


def read_finished(folder: str) -> list[Run]:
    """Reads the finished runs of a folder, and reports runs that are left out.

    Raises:
        RunsError: If there is no finished run, or a run is damaged.
    """
    runs = load_runs(folder)
    finished = finished_runs(runs)
    say_left_out([unfinished_line(run) for run in runs if run.summary is None] + not_begun(folder))
    return finished


def say_left_out(lines: Iterable[str]) -> None:
    """Prints the runs that a command leaves out on stderr, one per line."""
    for line in lines:
        say(f"left out: {line}")


def require_ending(flag: str, path: str | Path, *allowed: str) -> None:
    """Checks the ending of a file's name.

    Raises:
        ParameterError: If the ending is not allowed.
    """
    if Path(path).suffix.lower() not in allowed:
        raise ParameterError(flag, str(path), f"must end in {' or '.join(allowed)}")


def _parse(argv: Sequence[str], about: str, flags: type[_Flags]) -> _Flags | None:
    """Returns the flags; `None` after `--help`."""
    words, parameters = list(argv[1:]), {p.name: p for p in parameters_of(flags)}
    if wants_help(words):
        lines = [about.strip(), ""]
        for p in parameters.values():
            lines += flag_lines(p.name, _help(p))
        show("\n".join(lines))
        return None
    if named := next((name for name in _FIRST if name in parameters), None):
        first = next((n for n, word in enumerate(words) if word.startswith("-")), len(words))
        words[:first] = [f"--{named}={word}" for word in words[:first]]
    given = parse_flags(words, parameters)
    required = [name for name, p in parameters.items() if p.default is REQUIRED]
    missing = [
        f"{_FIRST[name]} (or --{name})" if name in _FIRST else f"--{name}"
        for name in required
        if not given.get(name)
    ]
    if missing:
        raise UsageError(f"{' and '.join(missing)} must be given; see --help")
    return flags(**{name: p.checked(given.get(name, p.default)) for name, p in parameters.items()})


def _help(p: Parameter) -> str:
    parts = [p.help]
    if p.choices:
        parts.append(f"one of {', '.join(p.choices)}")
    if p.default is not REQUIRED and p.default is not None:
        parts.append(f"default: {p.default}")
    return "; ".join(parts)
