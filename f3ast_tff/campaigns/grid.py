"""From a campaign's file to its runs, each resolved and checked before anything starts."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from f3ast_tff.campaigns import run_names, values
from f3ast_tff.campaigns.errors import CampaignError
from f3ast_tff.campaigns.grid_file import LABEL, GridFile, read_grid_file
from f3ast_tff.configuration.framework_environment import check_framework
from f3ast_tff.configuration.resolve import resolve
from f3ast_tff.configuration.settings import Settings
from f3ast_tff.errors import SettingError


@dataclass(frozen=True)
class PlannedRun:
    """One run of a campaign.

    Attributes:
        name: Unique in the campaign; of its folder.
        settings: Resolved.
    """

    name: str
    settings: Settings

    @property
    def folder(self) -> Path:
        """Its folder."""
        return Path(self.settings.output_dir) / self.name

    @property
    def environment(self) -> tuple[str, str]:
        """Runs that differ in this cannot share a process: frameworks are set up once."""
        return self.settings.engine, self.settings.device


@dataclass(frozen=True)
class Campaign:
    """A campaign that can be run.

    Attributes:
        name: Its name.
        about: What it is for.
        folder: Its folder; holds `runs/` and `manifest.json`.
        runs: In the order of its file.
    """

    name: str
    about: str
    folder: Path
    runs: tuple[PlannedRun, ...]


@dataclass(frozen=True)
class _Point:
    """One combination: what its name is made of, its settings, and where each was said."""

    parts: list[str]
    given: dict[str, Any]
    places: dict[str, str]


def plan(path: Path, overrides: Mapping[str, Any], seeds: str | None = None) -> Campaign:
    """Plans a campaign.

    Args:
        path: Its file.
        overrides: Settings of every run, in place of what the file says of them. `output_dir`
            is where the campaign's folder is.
        seeds: A range such as `"0-9"` in place of the file's seeds.

    Returns:
        The campaign, every run resolved.

    Raises:
        CampaignError: On the first thing that is wrong in the file.
        SettingError: On an override that is wrong.
    """
    content = read_grid_file(path)
    overrides = dict(overrides)
    if "run_name" in overrides:
        allowed = "runs of a campaign are named by what varies"
        raise SettingError("run_name", overrides["run_name"], allowed)
    folder = Path(overrides.pop("output_dir", "runs")) / content.name
    if seeds is not None:
        content = _with_seeds(content, overrides, seeds)
    runs: dict[str, PlannedRun] = {}
    for point in _points(content, overrides):
        run = _resolve(content, point, overrides, folder / "runs")
        # A setting given for every run makes one point of those that differed in it alone.
        if runs.setdefault(run.name, run).settings != run.settings:
            raise CampaignError(f"{path}: two runs would be named {run.name}; label [[variants]]")
    _refuse_twins(path, runs)
    return Campaign(content.name, content.about, folder, tuple(runs.values()))


def _with_seeds(content: GridFile, overrides: Mapping[str, Any], seeds: str) -> GridFile:
    if "seed" in overrides:
        raise SettingError("seeds", seeds, "--seed is given too")
    try:
        wanted = values.integer_range(seeds)
    except values.ValueRefused as error:
        raise SettingError("seeds", seeds, str(error)) from error
    settings = {name: value for name, value in content.settings.items() if name != "seed"}
    # In its place, so that names stay.
    grid = {**content.grid, "seed": wanted}
    return GridFile(content.name, content.path, content.about, settings, grid, content.variants)


def _points(content: GridFile, overrides: Mapping[str, Any]) -> Iterator[_Point]:
    common = {
        name: _checked(content.path, "[settings]", name, value, values.one)
        for name, value in content.settings.items()
    }
    grid = _axes(content, "[grid]", content.grid, overrides)
    _refuse_overlap(content.path, "[grid]", grid, common)
    for variant in content.variants or ({},):
        label = variant.get(LABEL)
        if label is not None and not isinstance(label, str):
            raise CampaignError(f"{content.path}: [[variants]] name = {label!r}: must be a text")
        table = {name: value for name, value in variant.items() if name != LABEL}
        axes = _axes(content, "[[variants]]", table, overrides)
        _refuse_overlap(content.path, "[[variants]]", axes, {**common, **grid})
        # What a label stands for need not be said again.
        silent = {n for n, v in table.items() if label is not None and not isinstance(v, list)}
        places = {
            **dict.fromkeys(common, "[settings]"),
            **dict.fromkeys(grid, "[grid]"),
            **dict.fromkeys(axes, "[[variants]]"),
        }
        every = {**axes, **grid}
        for combination in itertools.product(*every.values()):
            chosen = dict(zip(every, combination))
            parts = [run_names.part(n, v) for n, v in chosen.items() if n not in silent]
            head = [label] if label is not None else []
            yield _Point([*head, *parts], {**common, **chosen}, places)


def _axes(
    content: GridFile, section: str, table: Mapping[str, Any], overrides: Mapping[str, Any]
) -> dict[str, list[Any]]:
    axes = {
        name: _checked(content.path, section, name, value, values.several)
        for name, value in table.items()
    }
    return {name: [overrides[name]] if name in overrides else axes[name] for name in axes}


def _checked(
    path: Path, section: str, name: str, value: Any, check: Callable[[str, Any], Any]
) -> Any:
    try:
        return check(name, value)
    except values.ValueRefused as error:
        raise CampaignError(f"{path}: {section} {name} = {value!r}: {error}") from error


def _refuse_overlap(
    path: Path, section: str, table: Mapping[str, Any], before: Mapping[str, Any]
) -> None:
    for name in table:
        if name in before:
            raise CampaignError(
                f"{path}: {section} {name}: is in another table too; a setting must be in one"
            )


def _resolve(
    content: GridFile, point: _Point, overrides: Mapping[str, Any], output_dir: Path
) -> PlannedRun:
    name = run_names.run_name(point.parts)
    where = {"output_dir": str(output_dir), "run_name": name}
    try:
        settings = resolve({**point.given, **overrides, **where})
        check_framework(settings)
    except SettingError as error:
        if error.setting in overrides:
            raise
        place = point.places.get(error.setting, f"run {name}:")
        raise CampaignError(
            f"{content.path}: {place} {error.setting} = {error.value!r}: {error.allowed}"
        ) from error
    return PlannedRun(name, settings)


def _refuse_twins(path: Path, runs: Mapping[str, PlannedRun]) -> None:
    """Two names for one experiment would be averaged as if they were two."""
    seen: dict[tuple[Any, ...], str] = {}
    for name, run in runs.items():
        key = tuple(run.settings.identity.values())
        other = seen.setdefault(key, name)
        if other != name:
            raise CampaignError(f"{path}: {other} and {name} have the same settings")
