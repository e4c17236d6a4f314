"""The TOML files that describe campaigns, read and checked in shape, not in values."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from f3ast_tff.errors import ParameterError

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

_FOLDER = Path(__file__).parent / "grids"
_TABLES = ("settings", "grid", "variants")
LABEL = "name"
_ALIAS = "same_runs_as"


class CampaignError(ValueError):
    """A campaign cannot be run as it is described; names the place, the value, what is allowed."""


@dataclass(frozen=True)
class GridFile:
    """What a file says; `f3ast_tff.campaigns.grid` says what it means.

    Attributes:
        name: The campaign's name: the file's, without `.toml`.
        path: The file.
        about: What it is for.
        settings: Of all runs, by name.
        grid: Lists of values, or a range such as `"0-9"`, by setting: every combination is run.
        variants: Tables of settings; the grid is run with each. `name` is a label.
    """

    name: str
    path: Path
    about: str
    settings: Mapping[str, Any]
    grid: Mapping[str, Any]
    variants: tuple[Mapping[str, Any], ...]


def built_in_campaigns() -> list[str]:
    """Returns the names of the campaigns that come with the package, sorted."""
    return sorted(path.stem for path in _FOLDER.glob("*.toml"))


def find_grid_file(name_or_file: str) -> Path:
    """Returns the file of a campaign.

    Args:
        name_or_file: Name of a built-in campaign, or the path of a file that ends in `.toml`.

    Raises:
        ParameterError: If there is neither.
    """
    built_in = built_in_campaigns()
    if name_or_file.lower() in built_in:
        return _FOLDER / f"{name_or_file.lower()}.toml"
    path = Path(name_or_file).expanduser()
    if path.suffix == ".toml" and path.is_file():
        return path
    allowed = f"must be one of {', '.join(built_in)}, or a file that ends in .toml"
    raise ParameterError("campaign", name_or_file, allowed)


def read_grid_file(path: Path, *, may_refer: bool = True) -> GridFile:
    """Reads a campaign's file.

    Args:
        path: The file.
        may_refer: Whether it may say that its runs are those of another file beside it.

    Raises:
        CampaignError: If it cannot be read, is not TOML, or has something else in it.
    """
    try:
        content = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise CampaignError(f"{path}: cannot be read: {error.strerror}") from error
    except ValueError as error:
        raise CampaignError(f"{path}: is not TOML: {' '.join(str(error).split())}") from error
    if may_refer and set(content) == {"about", _ALIAS}:
        # Tables of the same runs share them.
        return read_grid_file(path.with_name(f"{content[_ALIAS]}.toml"), may_refer=False)
    for key, value in content.items():
        if key not in ("about", *_TABLES):
            allowed = ", ".join(("about", *_TABLES)) + f", or about and {_ALIAS} alone"
            raise CampaignError(f"{path}: {key} = {value!r}: must be one of {allowed}")
    about = content.get("about", "")
    if not isinstance(about, str):
        raise CampaignError(f"{path}: about = {about!r}: must be a text")
    settings, grid = (_table(path, content, key) for key in ("settings", "grid"))
    variants = content.get("variants", [])
    if not isinstance(variants, list) or not all(isinstance(item, dict) for item in variants):
        raise CampaignError(f"{path}: variants = {variants!r}: must be tables, [[variants]] each")
    return GridFile(path.stem, path, about.strip(), settings, grid, tuple(variants))


def _table(path: Path, content: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    table = content.get(key, {})
    if not isinstance(table, dict):
        raise CampaignError(f"{path}: {key} = {table!r}: must be a table, [{key}]")
    return table
