"""The flags of all commands: one per declared `Parameter`; and errors in one line.

A flag such as `--rate_beta=0.1` becomes a setting, `{"rate_beta": 0.1}`: `setting_flags` lists the
parameters of all components, `parse` returns the settings given. `settings/resolve.py` then makes
the component's `Config` of them.
"""

from __future__ import annotations

import contextlib
import os
import re
import sys
import textwrap
from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from absl import flags

from f3ast_tff.campaigns import Options
from f3ast_tff.core.data_files import read_text
from f3ast_tff.core.errors import ParameterError, is_of_a_path
from f3ast_tff.core.messages import one_line
from f3ast_tff.settings import Parameter, Registry, parameters_of
from f3ast_tff.settings.conditions import ValueRefused, integer_range
from f3ast_tff.settings.groups import GROUPS
from f3ast_tff.settings.kinds import KINDS
from f3ast_tff.settings.registry import registry_with

CAMPAIGN = {p.name: p for p in parameters_of(Options)}
PLUGIN, FLAGFILE = "plugin", "flagfile"
PLUGIN_HELP = "FILE.py or package.module with components of your own; may be given several times"
FLAGFILE_HELP = "a file with one flag a line, or the name of a built-in one"
BAD_INPUT, FAILED = 2, 1
_FLAGFILES = Path(__file__).resolve().parent.parent / "flagfiles"
_HELP = ("--help", "-help", "-h", "--helpshort", "--helpfull")
_HELP_ON = ("--help=", "-help=")
_RANGE = re.compile("[0-9]+-[0-9]+")
_WIDTH = 92
_INDENT = " " * 6


class UsageError(ValueError):
    """The command line is wrong; the message explains it in one line."""


@dataclass(frozen=True)
class Parsed:
    """A parsed command line: given settings, flags of `CAMPAIGN`, and known components.

    Several values of a setting are a list; `draw` is among the settings.
    """

    settings: dict[str, Any]
    campaign: dict[str, Any]
    registry: Registry


def parse(arguments: Sequence[str]) -> Parsed:
    """Parses a command line of `run` or `campaign`, without the program's name.

    Raises:
        UsageError: On an unknown flag, a value of another type, or a word that is no flag.
        ParameterError: On a plug-in or flag file that cannot be loaded, or a wrong list of values.
    """
    words = expand_flagfiles(arguments, Path())
    own = {p.name for config in GROUPS.values() for p in parameters_of(config)}
    registry = registry_with(plugins_given(words), {PLUGIN, FLAGFILE, *CAMPAIGN, *own})
    parameters = setting_flags(registry)
    given = parse_flags(words, {**parameters, **CAMPAIGN}, lists=parameters, plugins=True)
    of_campaign = {n: p.checked(given.pop(n)) for n, p in CAMPAIGN.items() if n in given}
    if "draw" in of_campaign:
        draw = replace(parameters["seed"], name="draw")
        draws = [draw.checked(value) for value in _list_of(draw, of_campaign["draw"])]
        given["draw"] = draws if len(draws) > 1 else draws[0]
    return Parsed(given, of_campaign, registry)


def setting_flags(registry: Registry) -> dict[str, Parameter]:
    """Returns every setting that can be given as a flag, by name."""
    found = {
        kind.name: Parameter(kind.name, kind=str, optional=True, default=None, help=kind.text)
        for kind in KINDS.values()
    }
    found.update(registry.parameters())
    for config in GROUPS.values():
        found.update({parameter.name: parameter for parameter in parameters_of(config)})
    return found


def parse_flags(
    words: Sequence[str],
    parameters: Mapping[str, Parameter],
    lists: Container[str] = (),
    plugins: bool = False,
) -> dict[str, Any]:
    """Parses a command line; of a flag given several times the last value counts.

    Args:
        words: The arguments, without the program's name.
        parameters: Parameters by the name of their flag. Ranges and choices are left to
            `Parameter.checked`.
        lists: Names of the flags that take lists of values too, see `_takes_lists`.
        plugins: Whether `--plugin` is a flag too; `plugins_given` returns its values.

    Returns:
        The values given, by name.

    Raises:
        UsageError: On an unknown flag, a value of another type, or a word that is no flag.
        ParameterError: On a list with an empty value, or with a value twice.
    """
    values = flags.FlagValues()
    for name, parameter in parameters.items():
        if parameter.kind is bool:
            flags.DEFINE_bool(name, None, parameter.help, flag_values=values)
        else:
            parser = _Lists(parameter) if name in lists else _PARSERS[parameter.kind]
            flags.DEFINE(parser, name, None, parameter.help, flag_values=values)
    if plugins:
        flags.DEFINE_multi_string(PLUGIN, [], PLUGIN_HELP, flag_values=values)
    try:
        rest = values(["", *words])[1:]
    except (flags.Error, UnicodeDecodeError) as error:
        if isinstance(error.__context__, (ParameterError, UsageError)):
            # Of `_list_of`; absl would name the whole list.
            raise error.__context__ from None
        raise UsageError(str(error)) from error
    if rest:
        raise UsageError(f"{rest[0]!r} is not a flag; see --help")
    for name in _ONCE:
        if name in parameters and values[name].present > 1:
            raise UsageError(f"flag --{name} is given more than once; {_ONCE[name]}")
    given = {name: values[name].value for name in parameters}
    return {name: value for name, value in given.items() if value is not None}


# Flags of which the last value alone would silently be another question, with what to give instead.
_ONCE = {
    "where": "conditions go into one, with commas between",
    "runs": "it is one folder, searched at any depth",
}
_PARSERS: dict[type, flags.ArgumentParser] = {
    str: flags.ArgumentParser(),
    int: flags.IntegerParser(),
    float: flags.FloatParser(),
}


class _Lists(flags.ArgumentParser):
    """absl's parser of a value, or of a list such as `f3ast,fedavg` or `0-4,7`."""

    def __init__(self, parameter: Parameter) -> None:
        self._parameter = parameter

    def parse(self, argument: str) -> Any:
        if _takes_lists(self._parameter, argument):
            return _list_of(self._parameter, argument)
        return _PARSERS[self._parameter.kind].parse(argument)


def _takes_lists(parameter: Parameter, value: str) -> bool:
    """Whether a value is a list.

    Components, numbers and settings with fixed choices take comma lists; a text with a colon, such
    as `cycle:5,10`, is one value. Integers take ranges too.
    """
    if parameter.kind is int and _RANGE.fullmatch(value):
        return True
    if "," not in value or ":" in value:
        return False
    of_kind = parameter.name in KINDS and parameter.name != "constraint"
    return of_kind or bool(parameter.choices) or parameter.kind in (int, float)


def _list_of(parameter: Parameter, text: str) -> list[Any]:
    """Returns the values of a list in the type of their flag."""
    texts = text.split(",")
    if not all(texts):
        raise ParameterError(parameter.name, text, "has an empty value")
    if parameter.kind is int:
        texts = [each for part in texts for each in _integers(parameter.name, part)]
    parser = _PARSERS[parameter.kind]
    found: list[Any] = []
    for each in texts:
        try:
            found.append(parser.parse(each))
        except ValueError as error:
            raise UsageError(f"flag --{parameter.name}={each}: {error}") from error
    if any(value in found[:i] for i, value in enumerate(found)):
        raise ParameterError(parameter.name, ",".join(texts), "names a value twice")
    return found


def _integers(name: str, text: str) -> list[str]:
    """Returns the integers of a range such as `0-9`; any other text unchanged."""
    if not _RANGE.fullmatch(text):
        return [text]
    try:
        return list(map(str, integer_range(text)))
    except ValueRefused as error:
        raise ParameterError(name, text, str(error)) from error


def expand_flagfiles(arguments: Sequence[str], folder: Path) -> list[str]:
    """Returns the arguments with every `--flagfile` replaced by the file's content.

    Paths are relative to `folder`; built-in flag files are found from anywhere.

    Raises:
        ParameterError: If a file is not found, cannot be read, or includes itself.
    """
    return _expand(list(arguments), folder, ())


def _expand(arguments: list[str], folder: Path, outer: tuple[Path, ...]) -> list[str]:
    words: list[str] = []
    while arguments:
        word = arguments.pop(0)
        name, equals, value = word.lstrip("-").partition("=")
        if not word.startswith("-") or name != FLAGFILE:
            words.append(word)
            continue
        if not equals:
            value = arguments.pop(0) if arguments else ""
        path = _flagfile(value, folder)
        if path in outer:
            raise ParameterError(FLAGFILE, value, "includes itself")
        try:
            lines = [line.strip() for line in read_text(path).splitlines()]
        except (OSError, ValueError) as error:
            raise ParameterError(FLAGFILE, value, f"cannot be read: {error}") from error
        inside = [line for line in lines if line and not line.startswith(("#", "//"))]
        words += _expand(inside, path.parent, (*outer, path))
    return words


def _flagfile(value: str, folder: Path) -> Path:
    given = Path(os.path.expanduser(value))
    built_in = _FLAGFILES / (given.name if given.suffix == ".flags" else f"{given.name}.flags")
    for path in (folder / given, given, built_in):
        # Unlike `Path.is_file`, `False` for a name that is too long.
        if value and os.path.isfile(path):
            return path.resolve()
    raise ParameterError(FLAGFILE, value, "not found")


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
