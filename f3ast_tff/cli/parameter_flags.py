"""The parser of all commands: absl flags from declared parameters, help lines, one-line errors."""

from __future__ import annotations

import contextlib
import sys
import textwrap
from collections.abc import Container, Mapping, Sequence
from typing import Any

from absl import flags

from f3ast_tff.core.errors import ParameterError, is_of_a_path
from f3ast_tff.core.messages import one_line
from f3ast_tff.settings import Parameter

PLUGIN = "plugin"
PLUGIN_HELP = "FILE.py or package.module with components of your own; may be given several times"
_HELP = ("--help", "-help", "-h", "--helpshort", "--helpfull")
_HELP_ON = ("--help=", "-help=")
_WIDTH = 92
_INDENT = " " * 6


class UsageError(ValueError):
    """The command line is wrong; the message explains it in one line."""


def parse_flags(
    words: Sequence[str], parameters: Mapping[str, Parameter], plugins: bool = False
) -> dict[str, Any]:
    """Parses a command line.

    Args:
        words: The arguments, without the program's name.
        parameters: Parameters by the name of their flag. Ranges and choices are left to
            `Parameter.checked`.
        plugins: Whether `--plugin` is a flag too; `plugins_given` returns its values.

    Returns:
        The values given, by name.

    Raises:
        UsageError: On an unknown flag, a value of another type, or a word that is no flag.
    """
    define = {
        str: flags.DEFINE_string,
        int: flags.DEFINE_integer,
        float: flags.DEFINE_float,
        bool: flags.DEFINE_bool,
    }
    values = flags.FlagValues()
    for name, parameter in parameters.items():
        define[parameter.kind](name, None, parameter.help, flag_values=values)
    if plugins:
        flags.DEFINE_multi_string(PLUGIN, [], PLUGIN_HELP, flag_values=values)
    try:
        rest = values(["", *words])[1:]
    except (flags.Error, UnicodeDecodeError) as error:
        raise UsageError(str(error)) from error
    if rest:
        raise UsageError(f"{rest[0]!r} is not a flag; see --help")
    given = {name: values[name].value for name in parameters}
    return {name: value for name, value in given.items() if value is not None}


def wants_help(words: Sequence[str]) -> bool:
    """Returns whether a command line asks for a help page."""
    return any(word in _HELP or word.startswith(_HELP_ON) for word in words)


def help_topic(words: Sequence[str]) -> str | None:
    """Returns the topic of the help asked for: `"all"` or a name; `None` for the short page."""
    named = [word.partition("=")[2] for word in words if word.startswith(_HELP_ON)]
    return "all" if "--helpfull" in words else next(iter(named), None)


def plugins_given(words: Sequence[str]) -> list[str]:
    """Returns the values of `--plugin`: plug-ins are loaded before their flags are defined."""
    found = []
    for word, following in zip(words, [*words[1:], ""]):
        name, equals, value = word.lstrip("-").partition("=")
        if word.startswith("-") and name == PLUGIN:
            found.append(value if equals else following)
    return found


def flag_lines(name: str, text: str) -> list[str]:
    """Returns the lines of a flag in a help page."""
    lines = textwrap.wrap(text, _WIDTH, initial_indent=_INDENT, subsequent_indent=_INDENT)
    return [f"  --{name}", *lines]


BAD_INPUT = 2
FAILED = 1


def fail(error: Exception | str, code: int = BAD_INPUT, names: Container[str] | None = None) -> int:
    """Prints an error in one line and returns the exit code.

    A `ParameterError` of a parameter in `names` is printed as a flag; with `None`, of any
    parameter.
    """
    text = str(error)
    if isinstance(error, ParameterError) and (names is None or error.name in names):
        text = f"--{error.name}={error.value}: {error.allowed}"
    # The terminal may be gone.
    with contextlib.suppress(OSError):
        print(f"error: {one_line(text)}", file=sys.stderr)
    return code


def fail_of_machine(error: OSError | MemoryError) -> int:
    """Prints an error of the machine (files, memory) in one line; returns the exit code."""
    if isinstance(error, MemoryError):
        return fail(f"not enough memory: {error}", FAILED)
    path = error.filename2 or error.filename
    code = BAD_INPUT if is_of_a_path(error) else FAILED
    return fail(f"{path}: {error.strerror}" if path else str(error), code)
