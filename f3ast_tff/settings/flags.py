"""Flags of declared parameters: `--rate_beta=0.1` becomes `{"rate_beta": 0.1}`."""

from __future__ import annotations

import re
from collections.abc import Container, Mapping, Sequence
from typing import Any

from absl import flags

from f3ast_tff.core.errors import ParameterError
from f3ast_tff.files.data_files import first_twice
from f3ast_tff.settings.kinds import KINDS
from f3ast_tff.settings.parameter import Parameter, nearest
from f3ast_tff.settings.text_values import ValueRefused, integer_in, integer_range, number_in

PLUGIN = "plugin"
PLUGIN_HELP = "FILE.py or package.module with components of your own; may be given several times"
_HELP = ("--help", "-help", "-h", "--helpshort", "--helpfull")
HELP_ON = ("--help=", "-help=")
_RANGE = re.compile("[0-9]+-[0-9]+")


class UsageError(ValueError):
    """The command line is wrong; the message explains it in one line."""


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
    except flags.UnrecognizedFlagError as error:
        near = nearest(error.flagname, parameters)
        hint = f"; did you mean --{near}?" if near else ""
        raise UsageError(f"Unknown command line flag {error.flagname!r}{hint}") from error
    except (flags.Error, UnicodeDecodeError) as error:
        if isinstance(error.__context__, (ParameterError, UsageError)):
            # Of `list_of`; absl would name the whole list.
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
    "claim": "claims go into one, with ; between",
    "runs": "it is one folder, searched at any depth",
}


class _Integers(flags.IntegerParser):
    """Integers, see `integer_in`."""

    def convert(self, argument: Any) -> int:
        return integer_in(argument) if isinstance(argument, str) else int(argument)


class _Floats(flags.FloatParser):
    """Numbers, see `number_in`."""

    def convert(self, argument: Any) -> float:
        return number_in(argument) if isinstance(argument, str) else float(argument)


_PARSERS: dict[type, flags.ArgumentParser] = {
    str: flags.ArgumentParser(),
    int: _Integers(),
    float: _Floats(),
}


class _Lists(flags.ArgumentParser):
    """absl's parser of a value, or of a list such as `f3ast,fedavg` or `0-4,7`."""

    def __init__(self, parameter: Parameter) -> None:
        self._parameter = parameter

    def parse(self, argument: str) -> Any:
        if _takes_lists(self._parameter, argument):
            return list_of(self._parameter, argument)
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


def list_of(parameter: Parameter, text: str) -> list[Any]:
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
    if first_twice(found) is not None:
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


def wants_help(words: Sequence[str]) -> bool:
    """Returns whether a command line asks for a help page."""
    return any(word in _HELP or word.startswith(HELP_ON) for word in words)
