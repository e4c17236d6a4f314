"""Plans a campaign: from its file to runs, all resolved before the first run starts."""

from __future__ import annotations

import itertools
import json
import math
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from f3ast_tff.campaigns.grid_file import LABEL, CampaignError, GridFile, read_grid_file
from f3ast_tff.campaigns.planned import Campaign
from f3ast_tff.campaigns.runs import DRAW, PlannedRun, runs_where, with_own_draw
from f3ast_tff.core.errors import ParameterError
from f3ast_tff.run.begun import as_begun
from f3ast_tff.settings import Registry, builtin_registry, parameters_of
from f3ast_tff.settings.groups import GROUPS
from f3ast_tff.settings.kinds import AUTO, KINDS, NONE
from f3ast_tff.settings.plugin_files import load_plugin
from f3ast_tff.settings.resolve import applicable, halves, resolve
from f3ast_tff.settings.run_names import name_part, run_name
from f3ast_tff.settings.text_values import MAX_VALUES, ValueRefused, integer_range

_SETTINGS, _GRID, _VARIANTS, _VALUE = "[settings]", "[grid]", "[[variants]]", "[[value]]"
# Limit on the runs, all of which are resolved before the first run starts.
_MAX_RUNS = 20_000
_SEEDS = ("data_seed", "seed")
_NOWHERE = "applies to no run of this campaign"


# Settings that the campaign decides, not its runs.
_NOT_OF_A_RUN = ("output_dir", "run_name")
_WORDS = {str: "a text", int: "an integer", float: "a number", bool: "true or false"}


def setting_types(registry: Registry) -> dict[str, type]:
    """Returns the type of every setting by name; settings that choose components are texts."""
    of_all = [parameter for group in GROUPS.values() for parameter in parameters_of(group)]
    parameters = [*of_all, *registry.parameters().values()]
    return {DRAW: int, **dict.fromkeys(KINDS, str), **{p.name: p.kind for p in parameters}}


def with_draw(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the settings with a draw replaced by the seeds that it stands for.

    Raises:
        ParameterError: If there are both a draw and a seed.
    """
    found = dict(settings)
    if DRAW in found:
        draw = found.pop(DRAW)
        for name in _SEEDS:
            if name in found:
                raise ParameterError(name, found[name], f"must not be given with {DRAW}")
            found[name] = draw
    return found


def one(types: Mapping[str, type], name: str, value: Any) -> Any:
    """Returns a value in its setting's type; for an unknown setting, unchanged.

    Raises:
        ValueRefused: If the value has another type, or only the campaign decides the setting.
    """
    if name in _NOT_OF_A_RUN:
        raise ValueRefused("is the campaign's to say")
    kind = types.get(name, type(value))
    if kind is float and type(value) is int:
        try:
            return float(value)
        except OverflowError:
            raise ValueRefused("must be finite") from None
    if type(value) is not kind:
        raise ValueRefused(f"must be {_WORDS[kind]}")
    return value


def several(types: Mapping[str, type], name: str, value: Any) -> list[Any]:
    """Returns the values along an axis.

    Raises:
        ValueRefused: If there is no value, a value twice, or a value that `one` refuses.
    """
    if isinstance(value, str) and types.get(name) is int:
        value = integer_range(value)
    if not isinstance(value, list):
        return [one(types, name, value)]
    if not 1 <= len(value) <= MAX_VALUES:
        raise ValueRefused(f"must name at least one value and at most {MAX_VALUES}")
    values = [one(types, name, item) for item in value]
    # By `repr`, because a value of an unknown setting may have any type.
    if len({repr(value) for value in values}) < len(values):
        raise ValueRefused("names a value twice")
    return values


@dataclass(frozen=True)
class _Point:
    """A combination of the grid's values.

    Attributes:
        label: Label of the variant, if any.
        given: All settings, including `[settings]`.
        varying: Settings in the run's name, in order.
        places: Table of each setting.
        variant: Number of the variant.
    """

    label: str | None
    given: dict[str, Any]
    varying: list[str]
    places: dict[str, str]
    variant: int


def plan(
    path: Path,
    overrides: Mapping[str, Any],
    where: str | None = None,
    registry: Registry | None = None,
    *,
    to_run: bool = True,
) -> Campaign:
    """Plans a campaign.

    A setting applies to the runs whose components have it. It must apply to at least one run.

    Args:
        path: File of the campaign.
        overrides: Settings for all runs, and `DRAW`, that replace the file's; a list of
            values is an axis. `output_dir` is the parent of the campaign's folder.
        where: Conditions on the runs, see `runs_where`.
        registry: Known components; by default this package's.
        to_run: Whether the runs' engines must be installed.

    Returns:
        The campaign with resolved runs.

    Raises:
        CampaignError: On the first error in the file.
        ParameterError: On a wrong override.
    """
    overrides = dict(overrides)
    content = _without_overridden_seeds(read_grid_file(path), overrides)
    registry = _with_plugins(registry or builtin_registry(), content)
    if "run_name" in overrides:
        allowed = "runs of a campaign are named by what varies"
        raise ParameterError("run_name", overrides["run_name"], allowed)
    folder = Path(os.path.expanduser(overrides.pop("output_dir", "runs"))) / content.name
    planner = _Planner(content, overrides, registry, folder / "runs", to_run)
    runs: dict[str, PlannedRun] = {}
    for point in _points(content, overrides, setting_types(registry)):
        run = planner.run(point)
        # Points that differ only in inapplicable or overridden settings are one run.
        if runs.setdefault(run.name, run).settings != run.settings:
            raise CampaignError(f"{path}: two runs would be named {run.name}; label [[variants]]")
    planner.refuse_idle()
    distinct = _distinct(path, runs, overrides)
    types = setting_types(registry)
    ordered = by_value(content, distinct, types)
    if where is not None:
        ordered = runs_where(ordered, where, types)
    return Campaign(content.name, content.about, folder, ordered)


def _with_plugins(registry: Registry, content: GridFile) -> Registry:
    common = [parameter.name for group in GROUPS.values() for parameter in parameters_of(group)]
    try:
        return registry.with_plugins([*map(load_plugin, content.plugins)], common)
    except ParameterError as error:
        raise CampaignError(f"{content.path}: {error}") from error


def _without_overridden_seeds(content: GridFile, overrides: Mapping[str, Any]) -> GridFile:
    """The file for overrides of seeds: `draw` replaces its seeds, a seed its part of `draw`."""
    kept = [name for name in _SEEDS if name not in overrides]

    def left(table: Mapping[str, Any]) -> dict[str, Any]:
        if DRAW in overrides:
            return {name: value for name, value in table.items() if name not in _SEEDS}
        if DRAW not in table or len(kept) == len(_SEEDS):
            return dict(table)
        drawn = {name: table[DRAW] for name in kept}
        return {**{name: value for name, value in table.items() if name != DRAW}, **drawn}

    return replace(
        content,
        settings=left(content.settings),
        grid=left(content.grid),
        variants=tuple(left(variant) for variant in content.variants),
    )


def by_value(
    content: GridFile, runs: Sequence[PlannedRun], types: Mapping[str, type]
) -> tuple[PlannedRun, ...]:
    """Returns runs in the order of the file's `value` tables; the sort is stable.

    Raises:
        CampaignError: If a table has an unknown setting or a value of a wrong type.
    """
    check = partial(several, types)
    tables = [_checked(content.path, _VALUE, table, check) for table in content.value]
    for table in tables:
        for name, values in table.items():
            if name not in types:
                raise CampaignError(f"{content.path}: {_VALUE} {name} = {values!r}: no setting")

    def place(run: PlannedRun) -> int:
        settings = with_own_draw(run.settings)
        matching = (
            i
            for i, table in enumerate(tables)
            if all(settings.get(name) in values for name, values in table.items())
        )
        return next(matching, len(tables))

    return tuple(sorted(runs, key=place))


def _points(
    content: GridFile, overrides: Mapping[str, Any], types: Mapping[str, type]
) -> Iterator[_Point]:
    common = _checked(content.path, _SETTINGS, content.settings, partial(one, types))
    check = partial(several, types)
    grid = _checked(content.path, _GRID, content.grid, check)
    _refuse_overlap(content.path, _GRID, grid, common)
    num_runs = 0
    for number, variant in enumerate(content.variants or ({},)):
        label = variant.get(LABEL)
        if label is not None and not isinstance(label, str):
            raise CampaignError(f"{content.path}: {_VARIANTS} name = {label!r}: must be a text")
        table = {name: value for name, value in variant.items() if name != LABEL}
        own = _checked(content.path, _VARIANTS, table, check)
        _refuse_overlap(content.path, _VARIANTS, own, {**common, **grid})
        # Settings that the label stands for are left out of names.
        silent = {
            name
            for name, values in own.items()
            if label is not None and not isinstance(table[name], list) and len(values) == 1
        }
        places = {
            **dict.fromkeys(common, _SETTINGS),
            **dict.fromkeys(grid, _GRID),
            **dict.fromkeys(own, _VARIANTS),
        }
        lists = {n: values for n, values in overrides.items() if isinstance(values, list)}
        every = {n: [overrides[n]] if n in overrides else v for n, v in {**own, **grid}.items()}
        every.update(lists)
        num_runs += math.prod(len(values) for values in every.values())
        if num_runs > _MAX_RUNS:
            raise CampaignError(f"{content.path}: {num_runs} runs, must be at most {_MAX_RUNS}")
        varying = [name for name in every if name not in silent or name in lists]
        for combination in itertools.product(*every.values()):
            given = {**common, **dict(zip(every, combination))}
            yield _Point(label, given, varying, places, number)


def _checked(
    path: Path, section: str, table: Mapping[str, Any], check: Callable[[str, Any], Any]
) -> dict[str, Any]:
    found = {}
    for name, value in table.items():
        try:
            found[name] = check(name, value)
        except ValueRefused as error:
            raise CampaignError(f"{path}: {section} {name} = {value!r}: {error}") from error
    return found


def _refuse_overlap(
    path: Path, section: str, table: Mapping[str, Any], before: Mapping[str, Any]
) -> None:
    for name in table:
        if name in before:
            raise CampaignError(
                f"{path}: {section} {name}: is in another table too; a setting must be in one"
            )


class _Planner:
    """Resolves points and records settings that have applied to no run so far."""

    def __init__(
        self,
        content: GridFile,
        overrides: Mapping[str, Any],
        registry: Registry,
        output_dir: Path,
        to_run: bool,
    ) -> None:
        self._path = content.path
        self._to_run = to_run
        self._overrides = overrides
        self._registry = registry
        self._output_dir = output_dir
        self._used: set[str] = set()
        self._installed: set[type] = set()
        # Place and value by name and variant; variant `None` is common to all.
        self._idle: dict[tuple[str, int | None], tuple[str, Any]] = {
            **{(name, None): (_SETTINGS, value) for name, value in content.settings.items()},
            **{(name, None): (_GRID, value) for name, value in content.grid.items()},
        }
        for number, variant in enumerate(content.variants):
            for name, value in variant.items():
                self._idle[name, number] = (_VARIANTS, value)
            self._idle.pop((LABEL, number), None)

    def run(self, point: _Point) -> PlannedRun:
        single = {n: v for n, v in self._overrides.items() if not isinstance(v, list)}
        given = {**point.given, **single}
        name = _name(point, given)
        drawn = {name: given[name] for name in given if name == DRAW}
        # A name of two halves stays in the run's name.
        said = {n: v for n, v in given.items() if n == "algorithm" and "+" in str(v)}
        try:
            given = halves(with_draw(given))
            names = applicable(given, self._registry)
            given = {name: value for name, value in given.items() if name in names}
            given.update(self._beside(given))
            for kind in KINDS:
                named = isinstance(given.get(kind), str) and given[kind] not in (AUTO, NONE)
                if named and kind != "constraint":
                    given[kind] = self._registry.find(kind, given[kind]).name
            name = _name(point, {**given, **drawn, **said})
            where = {"output_dir": str(self._output_dir), "run_name": name}
            configuration = resolve({**given, **where}, self._registry)
            configuration = as_begun(configuration, configuration.folder)
            engine = configuration.configs["engine"]
            if self._to_run and type(engine) not in self._installed:
                engine.check_installed()
                self._installed.add(type(engine))
        except ParameterError as error:
            if error.name in self._overrides:
                raise
            place = point.places.get(error.name, f"run {name}:")
            raise CampaignError(
                f"{self._path}: {place} {error.name} = {error.value!r}: {error.allowed}"
            ) from error
        for setting in (*given, *drawn):
            self._idle.pop((setting, None), None)
            self._idle.pop((setting, point.variant), None)
        self._used.update(given, drawn)
        return PlannedRun(name, configuration)

    def _beside(self, given: Mapping[str, Any]) -> dict[str, str]:
        """The input files that the grid's file names, and that are in its folder, not here."""
        found = {}
        for name in given.keys() & set(self._registry.parameter_names) - self._overrides.keys():
            place = self._path.parent / str(given[name])
            if self._registry.parameter(name).is_input and not Path(given[name]).exists():
                found.update({name: str(place)} if place.is_file() else {})
        return found

    def refuse_idle(self) -> None:
        """Refuses settings that have applied to no run."""
        for name, value in self._overrides.items():
            if name not in self._used:
                raise ParameterError(name, value, _NOWHERE)
        if not self._overrides.keys().isdisjoint(KINDS):
            # Overrides may choose another component, to which the file's settings do not apply.
            return
        for (name, _), (place, value) in self._idle.items():
            raise CampaignError(f"{self._path}: {place} {name} = {value!r}: {_NOWHERE}")


def _name(point: _Point, given: Mapping[str, Any]) -> str:
    parts = [name_part(name, given[name]) for name in point.varying if name in given]
    return run_name(parts if point.label is None else [point.label, *parts])


def _distinct(
    path: Path, runs: Mapping[str, PlannedRun], overrides: Mapping[str, Any]
) -> list[PlannedRun]:
    """Returns a run per experiment; two would be averaged as two runs.

    A file must not name an experiment twice. Overrides can make two of its runs the same, and then
    the first stays.
    """
    seen: dict[str, PlannedRun] = {}
    for name, run in runs.items():
        key = json.dumps(run.identity, sort_keys=True)
        other = seen.setdefault(key, run)
        if other is not run and not overrides:
            raise CampaignError(f"{path}: {other.name} and {name} have the same settings")
    return list(seen.values())
