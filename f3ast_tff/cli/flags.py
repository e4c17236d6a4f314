"""Command lines of experiments: settings, campaign, plug-ins and flag files.

`setting_flags` lists parameters of the components, `parse` returns the settings given. Only the
components whose flags are given are imported.
`settings/resolve.py` then makes the components' `Config`s of them.
"""

from __future__ import annotations

import os
from collections.abc import Container, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from f3ast_tff.campaigns import Options
from f3ast_tff.core.errors import ParameterError
from f3ast_tff.files.data_files import MAX_TOML_BYTES, read_text
from f3ast_tff.settings import Parameter, Registry, parameters_of
from f3ast_tff.settings.flags import PLUGIN, UsageError, list_of, parse_flags
from f3ast_tff.settings.groups import GROUPS
from f3ast_tff.settings.kinds import KINDS
from f3ast_tff.settings.registry import registry_with

CAMPAIGN = {p.name: p for p in parameters_of(Options)}
FLAGFILE = "flagfile"
FLAGFILE_HELP = "a file with one flag a line, or the name of a built-in one"
# Far more than any experiment has: files that name each other multiply.
_MAX_DEPTH, _MAX_WORDS = 20, 10_000
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
    """Parses a command line of `run` or `campaign`, without the program's name.

    Raises:
        UsageError: On an unknown flag, a value of another type, or a word that is no flag.
        ParameterError: On a plug-in or flag file that cannot be loaded, or a wrong list of values.
    """
    words = expand_flagfiles(arguments, Path())
    own = {p.name for config in GROUPS.values() for p in parameters_of(config)}
    registry = registry_with(plugins_given(words), {PLUGIN, FLAGFILE, *CAMPAIGN, *own})
    try:
        given = _given(words, set(_flags_named(words)), registry)
    except UsageError:
        # With every flag known, the message names the nearest.
        given = _given(words, flag_names(registry), registry)
    of_campaign = {n: p.checked(given.pop(n)) for n, p in CAMPAIGN.items() if n in given}
    if "draw" in of_campaign:
        draw = replace(setting_flags(registry, ())["seed"], name="draw")
        draws = [draw.checked(value) for value in list_of(draw, of_campaign["draw"])]
        given["draw"] = draws if len(draws) > 1 else draws[0]
    return Parsed(given, of_campaign, registry)


def _given(words: Sequence[str], names: Container[str], registry: Registry) -> dict[str, Any]:
    parameters = setting_flags(registry, names)
    return parse_flags(words, {**parameters, **CAMPAIGN}, lists=parameters, plugins=True)


def _flags_named(words: Sequence[str]) -> Iterator[str]:
    """What may be a flag's name in these words: `--name=value`, `--name value`, `--noname`."""
    for word in words:
        name = word.lstrip("-").partition("=")[0]
        yield name
        yield name.removeprefix("no")


def flag_names(registry: Registry) -> set[str]:
    """Returns the names of the settings that can be given as flags."""
    own = (parameter.name for config in GROUPS.values() for parameter in parameters_of(config))
    return {*KINDS, *registry.parameter_names, *own}


def setting_flags(registry: Registry, names: Container[str] | None = None) -> dict[str, Parameter]:
    """Returns the settings that can be given as flags, by name.

    Args:
        registry: Known components.
        names: Which of them; by default all, whose components are imported.
    """
    found = {
        kind.name: Parameter(kind.name, kind=str, optional=True, default=None, help=kind.text)
        for kind in KINDS.values()
    }
    of_components = registry.parameter_names
    found.update({n: registry.parameter(n) for n in of_components if names is None or n in names})
    for config in GROUPS.values():
        found.update({parameter.name: parameter for parameter in parameters_of(config)})
    return found


def expand_flagfiles(arguments: Sequence[str], folder: Path) -> list[str]:
    """Returns the arguments with every `--flagfile` replaced by the file's content.

    Paths are relative to `folder`; built-in flag files are found from anywhere.

    Raises:
        ParameterError: If a file is not found, cannot be read, or includes itself; also if files
            are nested too deeply or hold too many flags.
    """
    words: list[str] = []
    _expand(arguments, folder, (), words)
    return words


def _expand(
    arguments: Sequence[str], folder: Path, outer: tuple[Path, ...], words: list[str]
) -> None:
    """Appends the arguments to the words, those of flag files in their place."""
    left = iter(arguments)
    for word in left:
        name, equals, value = word.lstrip("-").partition("=")
        if not word.startswith("-") or name != FLAGFILE:
            words.append(word)
            continue
        if not equals:
            value = next(left, "")
        path = _flagfile(value, folder)
        if path in outer:
            raise ParameterError(FLAGFILE, value, "includes itself")
        if len(outer) == _MAX_DEPTH:
            allowed = f"flag files may be nested {_MAX_DEPTH} deep"
            raise ParameterError(FLAGFILE, value, allowed)
        try:
            lines = [line.strip() for line in read_text(path, MAX_TOML_BYTES).splitlines()]
        except (OSError, ValueError) as error:
            raise ParameterError(FLAGFILE, value, f"cannot be read: {error}") from error
        inside = [line for line in lines if line and not line.startswith(("#", "//"))]
        _expand(inside, path.parent, (*outer, path), words)
        if len(words) > _MAX_WORDS:
            allowed = f"with the files that it names it has more than {_MAX_WORDS} flags"
            raise ParameterError(FLAGFILE, value, allowed)


def _flagfile(value: str, folder: Path) -> Path:
    given = Path(os.path.expanduser(value))
    built_in = _FLAGFILES / (given.name if given.suffix == ".flags" else f"{given.name}.flags")
    for path in (folder / given, given, built_in):
        # Unlike `Path.is_file`, `False` for a name that is too long.
        if value and os.path.isfile(path):
            return path.resolve()
    raise ParameterError(FLAGFILE, value, "not found")


def plugins_given(words: Sequence[str]) -> list[str]:
    """Returns the values of `--plugin`: plug-ins are loaded before their flags are defined."""
    found = []
    for word, following in zip(words, [*words[1:], ""]):
        name, equals, value = word.lstrip("-").partition("=")
        if word.startswith("-") and name == PLUGIN:
            found.append(value if equals else following)
    return found
