"""The boards of the leaderboard: the kept scores of each task and regime, as groups of runs.

A kept file of scores holds the settings that differ between its runs. All other settings follow
from the campaign of the same name, which made the runs, so a user's runs can be compared with them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from f3ast_tff.analysis.compare.pairs import best_first, mean_score
from f3ast_tff.analysis.compare.scored import Kept, RunsError
from f3ast_tff.analysis.run_groups import PAIR, RunGroup, group_runs
from f3ast_tff.analysis.runs import Run, described
from f3ast_tff.analysis.study_runs import RATES, SCORES_OF, SHARE, method_name
from f3ast_tff.analysis.tidy_scores import kept_groups, label, read_scores, runs_where, settings_of
from f3ast_tff.campaigns.grid import plan
from f3ast_tff.campaigns.grid_file import find_grid_file
from f3ast_tff.campaigns.study_folders import declared
from f3ast_tff.settings.configuration import Configuration
from f3ast_tff.settings.text_values import conditions

_SHARES = {"examples": "p_k = n_k / n", "batches": "p_k by batches", "equal": "p_k = 1 / N"}
# Words for settings in a board's title.
_WORDS = {"clients_per_round": "K =", "late_by": "late by", "late_round_quantile": "L at quantile"}


@dataclass(frozen=True)
class Study:
    """A kept file of scores whose methods are ranked.

    Attributes:
        name: Name of the study, and of its campaign.
        title: Title of the study.
        scores: The kept scores.
        tuned: Whether rates were tuned for each method; otherwise all methods with the same
            optimizers have the same rates.
        where: Conditions on the ranked runs, see `tidy_scores.runs_where`.
        period: Time of a run's score, of `runs.PERIODS`.
        place: Place among the studies.
    """

    name: str
    title: str
    scores: Path
    tuned: bool = False
    where: str = ""
    period: str = "final"
    place: int = 0


def ranked_studies() -> list[Study]:
    """Returns the studies that declare a `[board]`, in their order."""
    return [
        Study(name=folder.name, scores=folder / "scores.csv", **table)
        for folder, table in declared("board")
    ]


@dataclass(frozen=True, eq=False)
class Method:
    """A method of a board.

    Attributes:
        name: Name of the method.
        group: Runs of the method.
        where: Conditions that choose its runs among the board's runs; `""` for a user's method.
        configuration: Configuration of the first draw; `None` for a user's method.
    """

    name: str
    group: RunGroup
    where: str = ""
    configuration: Configuration | None = None


@dataclass(frozen=True, eq=False)
class Board:
    """The methods of a task and regime.

    Attributes:
        study: The kept study.
        title: The regime in words.
        where: Conditions that choose the board's runs among the study's.
        methods: The methods, in the file's order.
    """

    study: Study
    title: str
    where: str
    methods: Sequence[Method]

    @property
    def first(self) -> RunGroup:
        """The runs of the first method; runs of all methods share their world."""
        return self.methods[0].group

    @property
    def score(self) -> str:
        """The accuracy of the objective, of `runs.SCORES`."""
        return f"{SCORES_OF[self.first.settings[SHARE]][0]}_accuracy"

    @property
    def fedavg(self) -> Method:
        """FedAvg in its plain form."""
        return next(each for each in self.methods if each.name == "FedAvg")

    def mean(self, group: RunGroup) -> float:
        """Returns a method's mean score over draws."""
        return mean_score(group, self.score, self.study.period).mean

    def ordered(self, further: Sequence[Method] = ()) -> list[Method]:
        """Returns the methods and further methods, by falling mean score."""
        every = [*self.methods, *further]
        return sorted(every, key=lambda m: best_first(m.group, self.score, self.study.period))


def read_boards(study: Study) -> list[Board]:
    """Returns the boards of a study.

    Raises:
        RunsError: If the file cannot be read, or the campaign lacks one of its runs.
    """
    table = runs_where(read_scores(study.scores), study.where)
    names = settings_of(table)
    draw = int(table["draw"].iloc[0])
    planned = plan(find_grid_file(study.name), {"draw": draw}, to_run=False).runs
    by_settings = {
        tuple(
            "" if (v := run.settings.get(n)) is None else str(v) for n in names
        ): run.configuration
        for run in planned
    }
    found = []
    for kept in kept_groups(table):
        configuration = by_settings.get(tuple(kept.settings.values()))
        if configuration is None:
            said = ", ".join(f"{name} {value}" for name, value in kept.settings.items() if value)
            raise RunsError(f"{study.scores}: the campaign {study.name} has no run of {said}")
        (group,), _ = group_runs(_runs(configuration, kept))
        found.append((group, kept.settings, configuration))
    worlds = {group: tuple(sorted(group.world.items())) for group, _, _ in found}
    # Left out, because the rounds follow from the task.
    world = {name for group, _, _ in found for name in group.world} - {"rounds"}
    regime = [name for name in names if name in world and table[name].nunique() > 1]
    boards = []
    for one in dict.fromkeys(worlds.values()):
        members = [each for each in found if worlds[each[0]] == one]
        boards.append(_board(study, members, regime))
    return boards


def _board(study: Study, members: Sequence[Any], regime: Sequence[str]) -> Board:
    texts = members[0][1]
    settings = {name for group, _, _ in members for name in group.method_settings}
    own = [name for name in texts if name in settings and name not in RATES]
    methods = []
    for group, each, configuration in members:
        name = method_name(each["task"], {name: each[name] for name in own})
        where = _told(each, [texts for _, texts, _ in members], [*own, *RATES])
        methods.append(Method(name, group, where, configuration))
    shown = [name for name in regime if name != SHARE]
    title = label(shown, tuple(texts[name] for name in shown))
    for name, words in _WORDS.items():
        title = title.replace(name, words)
    title = title[:1].upper() + title[1:]
    if SHARE in regime:
        title += f", {_SHARES[texts[SHARE]]}"
    fixed = conditions(study.where) if study.where else {}
    of_board = {name: value for name, (value, *_) in fixed.items()}
    of_board.update((name, texts[name]) for name in regime)
    return Board(study, title, ",".join(f"{n}={v}" for n, v in of_board.items()), methods)


def _told(one: Mapping[str, str], every: Sequence[Mapping[str, str]], names: Sequence[str]) -> str:
    """The fewest conditions that choose one of several methods; all conditions if none suffice."""
    chosen: list[str] = []
    left = list(every)
    for name in ("algorithm", *names):
        if len(left) > 1 and one.get(name):
            kept = [each for each in left if each.get(name) == one[name]]
            if len(kept) < len(left):
                chosen, left = [*chosen, f"{name}={one[name]}"], kept
    return ",".join(chosen)


def _runs(configuration: Configuration, kept: Kept) -> list[Run]:
    """The runs of a method with all settings of their campaign."""
    settings = dict(configuration.settings)
    facts = described({**configuration.describe(), "settings": settings, "data_sha256": None})
    names = {score: f"test_{score}" for score in kept.score_names}
    found = []
    for pair, course in kept.courses.items():
        seeds = {n: v for n, v in zip(PAIR, pair) if n in settings}
        run = Run(
            path=Path(settings["run_name"]),
            metrics=pd.DataFrame({names.get(n, n): v for n, v in course.items()}),
            summary={},
            **{**facts, "settings": {**settings, **seeds}},
        )
        found.append(run)
    return found
