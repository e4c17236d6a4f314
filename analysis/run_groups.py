"""Groups of runs that differ only by data draw and seed, and comparisons of such groups."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, TypeVar

from f3ast_tff.analysis.compare.scored import Pair, RunsError, Score, Scored, summarised, varying
from f3ast_tff.analysis.compare.times import FINAL, Course, Time
from f3ast_tff.analysis.run_inputs import data_names, file_names, pairs_of
from f3ast_tff.analysis.runs import Run, not_begun, read_run, run_folders, unfinished_line
from f3ast_tff.core.federated_data import DATA_OBJECT

# Named in every table and title; `_WHERE_THERE` only where in use.
CONDITION = (
    "task",
    "availability",
    "reading",
    "clients_per_round",
    "constraint",
    "delivery",
    "attack",
    "rounds",
    "engine",
)
_WHERE_THERE = ("constraint", "delivery")
# Groups of runs, or of their kept scores.
G = TypeVar("G", bound=Scored)
# Settings in which the runs of a group differ.
PAIR = ("data_seed", "seed")
_PHRASES = {
    "task": "{}",
    "availability": "{}",
    "reading": "reading {}",
    "clients_per_round": "{} clients a round",
    "constraint": "constraint {}",
    "attack": "attack {}",
    "rounds": "{} rounds",
    "engine": "engine {}",
}


@dataclass(frozen=True, eq=False)
class RunGroup(Scored):
    """Finished runs that differ only by data draw and seed.

    Attributes:
        settings: Settings in use that decide the result, except `data_seed` and `seed`.
        method_settings: Names of the settings that compared methods may differ in.
        runs: Runs by pair. Quantities of the data, such as p, are shared within a draw only.
    """

    settings: dict[str, Any]
    method_settings: frozenset[str]
    runs: dict[Pair, Run]

    @property
    def directions(self) -> Mapping[str, bool]:  # type: ignore[override]
        """Whether a higher score is better, by the score's name."""
        return self.first.directions

    @property
    def kinds(self) -> Sequence[str]:  # type: ignore[override]
        """First words of the scores that all runs have."""
        every = [run.kinds for run in self.runs.values()]
        return [kind for kind in every[0] if all(kind in kinds for kinds in every)]

    @property
    def ways(self) -> Mapping[str, bool]:  # type: ignore[override]
        """Whether a higher further score is better, see `Scored.ways`."""
        return self.first.ways

    @property
    def generates_data(self) -> bool:  # type: ignore[override]
        """Whether the task generates its data."""
        return self.first.generates_data

    @cached_property
    def courses(self) -> Mapping[Pair, Course]:  # type: ignore[override]
        """Evaluations by run; scores have their names without `test_`."""
        return {pair: run.course for pair, run in self.runs.items()}

    def name_of(self, pair: Pair) -> str:
        """Returns the folder of a run."""
        return str(self.runs[pair].path)

    @property
    def display(self) -> str:
        """Name of the algorithm in tables and figures."""
        return self.first.display("algorithm")

    @property
    def first(self) -> Run:
        """The run with the lowest data draw, then the lowest seed."""
        return self.runs[min(self.runs)]

    @property
    def draws(self) -> list[int]:
        """Data draws of the runs, sorted."""
        return sorted({pair.draw for pair in self.runs})

    @cached_property
    def world(self) -> dict[str, Any]:
        """Settings that runs of other methods must share to be compared with these runs."""
        return {n: v for n, v in self.settings.items() if n not in self.method_settings}

    @cached_property
    def own(self) -> dict[str, Any]:
        """Settings that methods may differ in."""
        return {n: v for n, v in self.settings.items() if n in self.method_settings}

    @property
    def num_guessing(self) -> int:
        """Number of runs that end with a sample loss that is not below a guess's, ln C."""
        loss = self.first.guess_loss
        if loss is None:
            return 0
        # A loss that is not finite is no better either.
        return sum(not value < loss for value in self.at("sample_loss", FINAL).values())

    def has(self, name: str) -> bool:
        """Whether the components of these runs have a setting, in use or not."""
        return name in self.settings or name in self.first.settings

    def condition(self, names: Iterable[str]) -> dict[str, Any]:
        """Returns settings by name: `None` if not in use, "" for settings of other components."""
        return {name: self.setting(name) if self.has(name) else "" for name in names}

    def with_own(self, names: Sequence[str]) -> RunGroup:
        """Returns the group whose settings of these names count as its method's own."""
        if self.method_settings.issuperset(names):
            return self
        return replace(self, method_settings=self.method_settings.union(names))


def score(group: Scored, metric: str, time: str | int | Time) -> Score:
    """Returns a group's mean score; see `Scored.at` for the arguments."""
    return summarised(group.at(metric, time))


def group_runs(runs: Iterable[Run], among: Sequence[Run] = ()) -> tuple[list[RunGroup], list[str]]:
    """Groups finished runs by all settings except data draw and seed.

    A setting that names an input file stands for the file's content, not for its path. A draw of
    the data is a data set: values of `data_seed` with the same data are one draw.

    Args:
        runs: The runs.
        among: All runs that the groups are compared with, these included; by default these.

    Returns:
        The groups in the order of their algorithms, and a line per repeated run.
    """
    found: dict[tuple[Any, ...], RunGroup] = {}
    repeated = []
    every = list(runs)
    known = among or every
    files, data, pairs = file_names(known), data_names(known), pairs_of(known)
    for run in every:
        left_out = {*PAIR, *run.not_compared}
        if run.settings["task"] == DATA_OBJECT:
            # A fact about the data, which are a draw.
            left_out.add("num_clients")
        settings = {n: v for n, v in run.settings.items() if v is not None and n not in left_out}
        # Another version of a plug-in is another experiment.
        plugins = {f"plugin {name}": digest[:8] for name, digest in run.plugins.items()}
        settings.update(plugins)
        settings.update((name, files[digest]) for name, digest in run.input_files.items())
        if run in data:
            settings["data files"] = data[run]
        key = tuple(sorted(settings.items()))
        of_method = [f"plugin {name}" for name in run.method_plugins]
        own = run.method_settings.union(of_method, ["algorithm"])
        group = found.setdefault(key, RunGroup(settings, own, {}))
        first = group.runs.setdefault(pairs[run], run)
        if first is not run:
            one, other = (
                each.metrics.drop(columns="wall_seconds", errors="ignore") for each in (run, first)
            )
            others = "" if one.equals(other) else ", but other results"
            said = f"are the same run: same settings and seed{others}"
            repeated.append(f"{run.path} and {first.path} {said}")
    return sorted(found.values(), key=_order), repeated


def comparable_groups(runs: Iterable[Run]) -> tuple[list[RunGroup], list[str]]:
    """Groups finished runs and arranges them for a table of conditions, see `arranged`.

    Raises:
        RunsError: If two runs are the same experiment with the same data draw and seed.
    """
    groups, repeated = group_runs(runs)
    if repeated:
        raise RunsError(repeated[0])
    return arranged(groups)


def arranged(groups: Sequence[RunGroup]) -> tuple[list[RunGroup], list[str]]:
    """Arranges groups for a table of conditions.

    The condition is `CONDITION`, and any further setting that would otherwise differ between runs
    that are compared.

    Returns:
        The groups, sorted by condition, then in the order of their algorithms; and the names of
        the condition's settings.
    """
    names = [*CONDITION, *_further_settings(groups)]

    def key(group: RunGroup) -> tuple[Any, ...]:
        return ([sortable(group.setting(name)) for name in names], *_order(group))

    return sorted(groups, key=key), names


def partition(groups: Iterable[G], names: Iterable[str]) -> list[list[G]]:
    """Returns lists of the groups that share their values of these settings."""
    names = tuple(names)
    found: dict[tuple[Any, ...], list[G]] = {}
    for group in groups:
        found.setdefault(tuple(map(group.setting, names)), []).append(group)
    return list(found.values())


def varying_within(
    groups: Sequence[RunGroup], cell: Sequence[str], names: Iterable[str]
) -> list[str]:
    """Returns the settings, of these names, that differ between groups of one cell."""
    found = {n for members in partition(groups, cell) for n in varying(members, names)}
    return [name for name in names if name in found]


def is_own(name: str, groups: Sequence[RunGroup]) -> bool:
    """Whether a setting is a method's own wherever it is in use."""
    return all(name in group.method_settings for group in groups if name in group.settings)


def in_order(groups: Iterable[RunGroup], kind: str) -> list[str]:
    """Returns the distinct components of a kind by name, in their order."""
    found = {group.settings[kind]: group.first.order(kind) for group in groups}
    return sorted(found, key=lambda name: (found[name], name))


def describe(condition: Mapping[str, Any], names: Iterable[str]) -> str:
    """Returns a condition in words: the settings of these names."""
    phrases = [
        _PHRASES[name].format(condition[name]) if name in _PHRASES else f"{name} {condition[name]}"
        for name in names
        if condition[name] != "" and (condition[name] is not None or name not in _WHERE_THERE)
    ]
    return ", ".join(phrases)


def _further_settings(groups: Sequence[RunGroup]) -> list[str]:
    names = [name for name in varying(groups) if name not in (*CONDITION, "algorithm")]
    own = [name for name in names if is_own(name, groups)]
    world = [name for name in names if name not in own]
    further = {
        *varying_within(groups, (*CONDITION, "algorithm"), own),
        *varying_within(groups, CONDITION, world),
    }
    return [name for name in names if name in further]


def sortable(value: Any) -> tuple[int, float, str]:
    """Returns a sort key for a value of a setting.

    A setting may be a number in one run and not given (`None`) in another.
    """
    return (0, value, "") if isinstance(value, (int, float)) else (1, 0.0, str(value))


def _order(group: RunGroup) -> tuple[Any, ...]:
    world = [sortable(value) for _, value in sorted(group.world.items())]
    own = [sortable(value) for _, value in sorted(group.own.items())]
    return (group.first.order("algorithm"), group.algorithm, world, own)


@dataclass(frozen=True)
class Collected:
    """The runs of a folder.

    Attributes:
        groups: The finished runs; runs that differ only by data draw and seed form a group.
        unfinished: A line for each run without a summary, those that failed at once included.
        damaged: A line for each run that cannot be read.
        repeated: A line per repeated run (same settings, data draw and seed), which is left out.
    """

    groups: list[RunGroup]
    unfinished: list[str]
    damaged: list[str]
    repeated: list[str]

    @property
    def num_finished(self) -> int:
        """Number of runs in the groups."""
        return sum(len(group.runs) for group in self.groups)


def collect(folder: Path | str) -> Collected:
    """Reads every run at or below a folder.

    Raises:
        RunsError: If it is not a folder, or holds no run at all.
    """
    finished, unfinished, damaged = [], not_begun(folder), []
    for path in run_folders(folder):
        try:
            run = read_run(path)
        except RunsError as error:
            damaged.append(str(error))
            continue
        if run.summary is None:
            unfinished.append(unfinished_line(run))
        else:
            finished.append(run)
    groups, repeated = group_runs(finished)
    return Collected(groups, unfinished, damaged, repeated)
