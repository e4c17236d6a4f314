"""Reads the TOML files that describe campaigns and checks their form, not their values."""

from __future__ import annotations

import difflib
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from f3ast_tff.campaigns.study_folders import grid_files, name_of
from f3ast_tff.core.errors import ParameterError
from f3ast_tff.files.data_files import read_toml

_TEXTS = ("about", "plugins")
_TABLES = ("settings", "grid", "variants", "value", "plan")
LABEL = "name"
_ALIAS = "same_runs_as"
_CAMPAIGN = re.compile(r"[A-Za-z0-9_+-][A-Za-z0-9_.+-]{0,99}")


class CampaignError(ValueError):
    """An error in a campaign's file; names the place, the value and the allowed values."""


@dataclass(frozen=True)
class GridFile:
    """Content of a campaign's file; `f3ast_tff.campaigns.grid` interprets it.

    Attributes:
        name: The campaign's name: the study's, or the file's without `.toml`.
        path: The file.
        about: Purpose.
        settings: Settings of all runs, by name.
        grid: Lists of values, or a range such as `"0-9"`, by setting; every combination is run.
        variants: Tables of settings; the grid is run with each table. `name` is a label.
        plugins: Plug-ins of the runs: files, whose paths are relative to this one, or modules.
        plan: Questions that were fixed for the runs; `f3ast_tff.analysis.compare.plan` reads them.
        value: Tables of settings with a value or a list of values. Runs that match the first table
            are executed first, then runs that match the second, and so on, then all other runs.
    """

    name: str
    path: Path
    about: str
    settings: Mapping[str, Any]
    grid: Mapping[str, Any]
    variants: tuple[Mapping[str, Any], ...]
    value: tuple[Mapping[str, Any], ...] = ()
    plugins: tuple[str, ...] = ()
    plan: Mapping[str, Any] = field(default_factory=dict)


def built_in_campaigns() -> list[str]:
    """Returns the names of the campaigns that come with the package, sorted."""
    return [*grid_files()]


def find_grid_file(name_or_file: str) -> Path:
    """Returns the file of a built-in campaign, by its name, or of a path that ends in `.toml`.

    Raises:
        ParameterError: If there is neither.
    """
    built_in = grid_files()
    if name_or_file.lower() in built_in:
        return built_in[name_or_file.lower()]
    path = Path(os.path.expanduser(name_or_file))
    if path.suffix == ".toml" and path.stem in (".", ".."):
        # The stem names the campaign's folder.
        raise ParameterError("campaign", name_or_file, "must have a name before .toml")
    if path.suffix == ".toml" and os.path.isfile(path):
        return path
    if path.suffix == ".toml":
        raise ParameterError("campaign", name_or_file, "not found")
    nearest = difflib.get_close_matches(name_or_file.lower(), built_in, 1)
    hint = f"did you mean {nearest[0]}? It " if nearest else ""
    allowed = f"{hint}must be a file that ends in .toml, or one of {', '.join(built_in)}"
    raise ParameterError("campaign", name_or_file, allowed)


def read_grid_file(path: Path, *, may_refer: bool = True) -> GridFile:
    """Reads a campaign's file; with `may_refer` it may refer to another file for its runs.

    Raises:
        CampaignError: If it cannot be read, is not TOML, or has other content.
    """
    try:
        content = read_toml(path)
    except OSError as error:
        raise CampaignError(f"{path}: cannot be read: {error.strerror}") from error
    except ValueError as error:
        raise CampaignError(f"{path}: is not TOML: {' '.join(str(error).split())}") from error
    if may_refer and set(content) == {"about", _ALIAS}:
        # Campaigns of the same runs share a file.
        shared = read_grid_file(_beside(path, content[_ALIAS]), may_refer=False)
        return replace(shared, about=str(content["about"]).strip())
    for key, value in content.items():
        if key not in (*_TEXTS, *_TABLES):
            allowed = ", ".join((*_TEXTS, *_TABLES)) + f", or about and {_ALIAS} alone"
            raise CampaignError(f"{path}: {key} = {value!r}: must be one of {allowed}")
    about = content.get("about", "")
    if not isinstance(about, str):
        raise CampaignError(f"{path}: about = {about!r}: must be a text")
    settings, grid, plan = (_table(path, content, key) for key in ("settings", "grid", "plan"))
    variants, value = (_tables(path, content, key) for key in ("variants", "value"))
    return GridFile(
        name=name_of(path),
        path=path,
        about=about.strip(),
        settings=settings,
        grid=grid,
        variants=variants,
        value=value,
        plugins=_plugins(path, content.get("plugins", [])),
        plan=plan,
    )


def _plugins(path: Path, names: Any) -> tuple[str, ...]:
    if not isinstance(names, list) or not all(isinstance(name, str) and name for name in names):
        raise CampaignError(f"{path}: plugins = {names!r}: must be a list of files or modules")
    of_file = [name.endswith(".py") or "/" in name for name in names]
    beside = [str(path.parent / os.path.expanduser(name)) for name in names]
    return tuple(file if is_file else name for name, file, is_file in zip(names, beside, of_file))


def _beside(path: Path, name: Any) -> Path:
    """The file of another campaign in the same folder."""
    if not isinstance(name, str) or not _CAMPAIGN.fullmatch(name):
        allowed = "must be the name of a file beside it, without .toml"
        raise CampaignError(f"{path}: {_ALIAS} = {name!r}: {allowed}")
    return path.with_name(f"{name}.toml")


def _table(path: Path, content: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    table = content.get(key, {})
    if not isinstance(table, dict):
        raise CampaignError(f"{path}: {key} = {table!r}: must be a table, [{key}]")
    return table


def _tables(path: Path, content: Mapping[str, Any], key: str) -> tuple[Mapping[str, Any], ...]:
    tables = content.get(key, [])
    if not isinstance(tables, list) or not all(isinstance(item, dict) for item in tables):
        raise CampaignError(f"{path}: {key} = {tables!r}: must be tables, [[{key}]] each")
    return tuple(tables)
