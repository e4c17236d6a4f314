"""The flags of `run` and `campaign`: one per kind and parameter, also of plug-ins.

`f3ast_tff.settings` describes how a flag reaches its component.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from f3ast_tff.campaigns import Options
from f3ast_tff.cli.parameter_flags import (
    PLUGIN,
    parse_flags,
    plugins_given,
)
from f3ast_tff.core.data_files import read_text
from f3ast_tff.core.errors import ParameterError
from f3ast_tff.settings import Parameter, Registry, parameters_of
from f3ast_tff.settings.conditions import ValueRefused, integer_range
from f3ast_tff.settings.describe import kind_text
from f3ast_tff.settings.groups import GROUPS
from f3ast_tff.settings.kinds import KINDS
from f3ast_tff.settings.registry import registry_with

CAMPAIGN = {p.name: p for p in parameters_of(Options)}
FLAGFILE_HELP = "a file with one flag a line, or the name of a built-in one"
_RANGE = re.compile("[0-9]+-[0-9]+")
_FLAGFILES = Path(__file__).resolve().parent.parent / "flagfiles"


@dataclass(frozen=True)
class Parsed:
    """A parsed command line: given settings, flags of `CAMPAIGN`, and known components.

    Several values of a setting are a list; `draw` is among the settings.
    """

    settings: dict[str, Any]
    campaign: dict[str, Any]
    registry: Registry


def parse(arguments: Sequence[str]) -> Parsed:
    """Parses a command line, without the program's name.

    Raises:
        UsageError: On an unknown flag, a value of another type, or a word that is no flag.
        ParameterError: On a plug-in or flag file that cannot be loaded.
    """
    words = expand_flagfiles(arguments, Path())
    registry = registry_with(plugins_given(words), {PLUGIN, "flagfile", *CAMPAIGN, *_own_names()})
    parameters = setting_flags(registry)
    words, lists = split_lists(words, parameters)
    given = parse_flags(words, {**parameters, **CAMPAIGN}, plugins=True)
    of_campaign = {n: p.checked(given.pop(n)) for n, p in CAMPAIGN.items() if n in given}
    given.update({name: _typed(parameters[name], texts) for name, texts in lists.items()})
    if "draw" in of_campaign:
        draws = _typed(replace(parameters["seed"], name="draw"), of_campaign["draw"].split(","))
        given["draw"] = draws if len(draws) > 1 else draws[0]
    return Parsed(given, of_campaign, registry)


def _typed(parameter: Parameter, texts: Sequence[str]) -> list[Any]:
    """Returns the values of a list in the type of their flag."""
    found: list[Any] = []
    if not all(texts):
        raise ParameterError(parameter.name, ",".join(texts), "has an empty value")
    if parameter.kind is int:
        texts = [each for text in texts for each in _integers(parameter.name, text)]
    for text in texts:
        given = parse_flags([f"--{parameter.name}={text}"], {parameter.name: parameter})
        found.append(given[parameter.name])
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


def split_lists(
    words: Sequence[str], parameters: Mapping[str, Parameter]
) -> tuple[list[str], dict[str, list[str]]]:
    """Separates lists such as `--algorithm=f3ast,fedavg` and `--seed=0-4` from other arguments.

    Args:
        words: The arguments; a value may follow its flag as a separate word.
        parameters: Every setting by the name of its flag. Components, numbers and settings with
            fixed choices take comma lists; a text with a colon, such as `cycle:5,10`, is one
            value. Integers take ranges too.

    Returns:
        The other words, and the values of each list by name. If a setting is given several times,
        its last value or list counts.
    """
    rest: list[str] = []
    lists: dict[str, list[str]] = {}
    left = list(words)
    while left:
        word = left.pop(0)
        name, equals, value = word.lstrip("-").partition("=")
        if name not in parameters or not word.startswith("-"):
            rest.append(word)
            continue
        words = [word]
        if not equals and left and parameters[name].kind is not bool:
            value = left.pop(0)
            words.append(value)
        if _takes_lists(parameters[name], value):
            lists[name] = value.split(",")
        else:
            lists.pop(name, None)
            rest += words
    return rest, lists


def _takes_lists(parameter: Parameter, value: str) -> bool:
    if parameter.kind is int and _RANGE.fullmatch(value):
        return True
    if "," not in value or ":" in value:
        return False
    of_kind = parameter.name in KINDS and parameter.name != "constraint"
    return of_kind or bool(parameter.choices) or parameter.kind in (int, float)


def setting_flags(registry: Registry) -> dict[str, Parameter]:
    """Returns every setting that can be given as a flag, by name."""
    found = {
        kind: Parameter(name=kind, kind=str, optional=True, default=None, help=kind_text(kind))
        for kind in KINDS
    }
    found.update(registry.parameters())
    for config in GROUPS.values():
        found.update({parameter.name: parameter for parameter in parameters_of(config)})
    return found


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
        if not word.startswith("-") or name != "flagfile":
            words.append(word)
            continue
        if not equals:
            value = arguments.pop(0) if arguments else ""
        path = _flagfile(value, folder)
        if path in outer:
            raise ParameterError("flagfile", value, "includes itself")
        try:
            lines = [line.strip() for line in read_text(path).splitlines()]
        except (OSError, ValueError) as error:
            raise ParameterError("flagfile", value, f"cannot be read: {error}") from error
        inside = [line for line in lines if line and not line.startswith(("#", "//"))]
        words += _expand(inside, path.parent, (*outer, path))
    return words


def _flagfile(value: str, folder: Path) -> Path:
    given = Path(value).expanduser()
    built_in = _FLAGFILES / (given.name if given.suffix == ".flags" else f"{given.name}.flags")
    for path in (folder / given, given, built_in):
        # Unlike `Path.is_file`, `False` for a name that is too long.
        if value and os.path.isfile(path):
            return path.resolve()
    raise ParameterError("flagfile", value, "not found")


def _own_names() -> set[str]:
    return {p.name for config in GROUPS.values() for p in parameters_of(config)}
