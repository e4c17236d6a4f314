"""A method of one's own against others: tuned on draws held out, judged on further ones.

All methods have equal chances: one grid of parameters, the same draws for tuning, one rule (the
best mean score), then the same further draws. Grids and runs stay in a folder, and what is
interrupted goes on.
"""

from __future__ import annotations

import itertools
import json
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from f3ast_tff.advice.candidates import Candidate, candidate
from f3ast_tff.advice.ladders import ends_of, ladders_in, next_value
from f3ast_tff.analysis.compare.pairs import best_first, mean_score
from f3ast_tff.analysis.compare.scored import scores_named
from f3ast_tff.analysis.compare.times import FINAL
from f3ast_tff.analysis.run_groups import RunGroup, group_runs
from f3ast_tff.analysis.runs import directions, kinds_of, read_run, ways_of_kinds
from f3ast_tff.analysis.study_runs import SCORES_OF
from f3ast_tff.campaigns.grid import plan
from f3ast_tff.campaigns.planned import Campaign
from f3ast_tff.core.errors import ParameterError
from f3ast_tff.files.atomic import atomic_write, made_folder
from f3ast_tff.files.data_files import read_json
from f3ast_tff.run.run_experiment import run_experiment
from f3ast_tff.settings.registry import Registry
from f3ast_tff.settings.resolve import resolve

TUNING, JUDGED = "tuning", "judged"
# Draws of the data: for the choice of parameters, and for the verdict.
TUNING_DRAWS, JUDGED_DRAWS = "100-103", "0-15"
# Conditions of the runs, where none are given. Larger clients make draws of the data differ.
CONDITIONS: Mapping[str, Any] = {
    "task": "synthetic",
    "availability": "home_devices",
    "client_share": "equal",
    "rounds": 500,
}
_OF_SYNTHETIC: Mapping[str, Any] = {"engine": "host", "local_steps": 5, "size_limit": 1000}

# Settings in which the runs of a combination differ.
_OF_DRAW = ("seed", "data_seed", "output_dir", "run_name")

# Values of tuned parameters, by name.
Choice = Mapping[str, Any]


@dataclass(frozen=True)
class Comparison:
    """What is compared, and where.

    Attributes:
        methods: The methods; the first is the user's.
        ladders: Values of each parameter to tune, by its name; a method without it passes over it.
        conditions: Settings of all runs.
        registry: The components, with those of the plug-ins.
        plugins: Files or modules of the plug-ins.
        folder: Folder of the grids and the runs.
        score: Score that decides, such as `user_mae`; `""` for the accuracy of the objective, its
            loss if labels are values.
        added: Values by which the ladders have grown, in this order.
    """

    methods: Sequence[Candidate]
    ladders: Mapping[str, Sequence[Any]]
    conditions: Mapping[str, Any]
    registry: Registry
    plugins: Sequence[str]
    folder: Path
    score: str = ""
    added: Mapping[str, tuple[float, ...]] = field(default_factory=dict)

    def scored(self, campaign: Campaign) -> tuple[str, bool]:
        """Returns the name of the score that decides, and whether a higher one is better.

        Args:
            campaign: A campaign whose first run has begun.

        Raises:
            ParameterError: If its runs have no such score.
        """
        return self._scored(campaign.runs[0].folder)

    def check_score(self) -> None:
        """Checks by a run of one round that the score that decides is there.

        Raises:
            ParameterError: If it is not.
        """
        settings = self.resolved(self.methods[0], self.choices(self.methods[0])[0])
        with tempfile.TemporaryDirectory() as place:
            short = {**settings, "rounds": 1, "eval_every": 1, "output_dir": place}
            configuration = resolve(short, self.registry)
            run_experiment(configuration, configuration.folder)
            self._scored(configuration.folder)

    def _scored(self, folder: Path) -> tuple[str, bool]:
        config = read_json(folder / "config.json")
        known = directions(config)
        names = scores_named(known, kinds_of(config["settings"]))
        own = f"{SCORES_OF[self.conditions['client_share']][0]}_"
        name = self.score or own + ("accuracy" if "accuracy" in known else "loss")
        if name not in names:
            raise ParameterError("score", name, f"must be one of {', '.join(names)}")
        kind, _, score = name.partition("_")
        ways = ways_of_kinds(config["settings"], config["components"])
        return name, ways.get(kind, known[score])

    def choices(self, method: Candidate) -> list[Choice]:
        """Returns all combinations of a method's tuned parameters."""
        settings = self.resolved(method, {})
        names = [name for name in self.ladders if name in settings]
        ladders = [self.ladders[name] for name in names]
        return [dict(zip(names, values)) for values in itertools.product(*ladders)]

    def resolved(self, method: Candidate, choice: Choice) -> Mapping[str, Any]:
        """Returns all settings of a method's run with these parameters.

        Raises:
            ParameterError: If one is not allowed.
        """
        given = {**self._of_all, **method.settings, **choice}
        return resolve(given, self.registry).settings

    @property
    def _of_all(self) -> dict[str, Any]:
        # Ten points of a curve, so that the lead is known over time.
        tenth = max(self.conditions["rounds"] // 10, 1)
        return {"eval_every": tenth, **self.conditions}

    def tuning(self) -> Campaign:
        """Returns the campaign of all combinations on the draws held out."""
        variants = [
            {**method.settings, **each} for method in self.methods for each in self.choices(method)
        ]
        return self._campaign(TUNING, variants, TUNING_DRAWS)

    def judged(self, chosen: Mapping[str, Choice]) -> Campaign:
        """Returns the campaign of the chosen combinations, by method's name, on other draws."""
        variants = [{**method.settings, **chosen[method.name]} for method in self.methods]
        return self._campaign(JUDGED, variants, JUDGED_DRAWS)

    def _campaign(self, name: str, variants: Sequence[Mapping[str, Any]], draws: str) -> Campaign:
        lines = [
            f'about = "{name}: {", ".join(method.name for method in self.methods)}"',
            f"plugins = {json.dumps(list(self.plugins))}",
            "[settings]",
            *_toml(self._of_all),
            "[grid]",
            f'draw = "{draws}"',
        ]
        for variant in variants:
            lines += ["[[variants]]", *_toml(variant)]
        path = self.folder / f"{name}.toml"
        with made_folder(self.folder), atomic_write(path, encoding="utf-8") as file:
            file.write("\n".join(lines) + "\n")
        return plan(path, {"output_dir": str(self.folder)}, registry=self.registry)

    def chosen(self, tuning: Campaign) -> dict[str, Choice]:
        """Returns the combination of best mean score of each method; ties go to the first.

        Args:
            tuning: The finished campaign of `tuning`.
        """
        score, _ = self.scored(tuning)
        found = {}
        for method in self.methods:
            choices = self.choices(method)
            ranks = [best_first(self._runs(tuning, method, each), score, FINAL) for each in choices]
            found[method.name] = choices[int(np.argmin(ranks))]
        return found

    def _runs(self, campaign: Campaign, method: Candidate, choice: Choice) -> RunGroup:
        """A method's finished runs with these parameters."""
        wanted = _without_draw(self.resolved(method, choice))
        folders = [r.folder for r in campaign.runs if _without_draw(r.settings) == wanted]
        (group,), _ = group_runs(map(read_run, folders))
        return group

    def at_ends(self, chosen: Mapping[str, Choice]) -> dict[tuple[str, Any], list[str]]:
        """Returns the methods whose choice is an end of a ladder, by parameter and value."""
        found: dict[tuple[str, Any], list[str]] = {}
        for method, choice in chosen.items():
            for name, value in choice.items():
                if value in ends_of(self.ladders[name]):
                    found.setdefault((name, value), []).append(method)
        return found

    def wider(self, chosen: Mapping[str, Choice], most: int) -> Comparison | None:
        """Returns the comparison with a longer grid for all, if most methods chose an end of it.

        Args:
            chosen: The chosen parameters, by method's name.
            most: Largest number of values that a ladder gets.

        Returns:
            The comparison, each ladder with one value more beyond an end that more than half of the
            methods with this parameter chose; `None` if there is none, or the value is not allowed.
        """
        added = {}
        for (name, end), methods in self.at_ends(chosen).items():
            having = [each for each in self.methods if name in chosen[each.name]]
            value = next_value(self.ladders[name], end)
            if 2 * len(methods) <= len(having) or len(self.added.get(name, ())) >= most:
                continue
            if value is not None and all(self._allows(each, {name: value}) for each in having):
                added[name] = value
        if not added:
            return None
        longer = {name: sorted([*self.ladders[name], value]) for name, value in added.items()}
        so_far = {name: (*self.added.get(name, ()), value) for name, value in added.items()}
        return replace(self, ladders={**self.ladders, **longer}, added={**self.added, **so_far})

    def _allows(self, method: Candidate, choice: Choice) -> bool:
        try:
            self.resolved(method, choice)
        except ParameterError:
            return False
        return True

    def outcome(self, judged: Campaign, chosen: Mapping[str, Choice]) -> Mapping[str, RunGroup]:
        """Returns the finished runs of a campaign of `judged`, by method's name."""
        return {each.name: self._runs(judged, each, chosen[each.name]) for each in self.methods}

    def scores_of(self, tuning: Campaign) -> pd.DataFrame:
        """Returns the mean score at the end of each combination tried: a row per combination."""
        score, _ = self.scored(tuning)
        rows = [
            {
                "method": method.name,
                **choice,
                score: mean_score(self._runs(tuning, method, choice), score, FINAL).mean,
            }
            for method in self.methods
            for choice in self.choices(method)
        ]
        return pd.DataFrame(rows, columns=["method", *self.ladders, score])


def comparison(
    plugins: Sequence[str],
    registry: Registry,
    methods: Sequence[str],
    tune: str,
    given: Mapping[str, Any],
    folder: Path,
    score: str = "",
) -> Comparison:
    """Checks what is to be compared.

    Args:
        plugins: Files or modules of the plug-ins, made absolute.
        registry: The components, with those of the plug-ins.
        methods: Names of the methods, see `candidates.candidate`; the first is the user's.
        tune: Ladders, such as `client_lr=0.01,0.1;server_lr=1,3`.
        given: Settings of all runs.
        folder: Folder of the grids and the runs.
        score: Score that decides, see `Comparison`.

    Raises:
        ParameterError: If a name or a value is not allowed.
    """
    found = [
        candidate(text, registry, "against" if place else "method")
        for place, text in enumerate(methods)
    ]
    if len({each.name for each in found}) < max(len(found), 2):
        raise ParameterError("against", ",".join(methods[1:]), "must be others, each once")
    task = given.get("task", CONDITIONS["task"])
    of_task = _OF_SYNTHETIC if task == "synthetic" and "model" not in given else {}
    conditions = {**CONDITIONS, **of_task, **given}
    if conditions["client_share"] not in SCORES_OF:
        allowed = f"must be one of {', '.join(SCORES_OF)}"
        raise ParameterError("client_share", conditions["client_share"], allowed)
    ladders = ladders_in(tune)
    made = Comparison(found, ladders, conditions, registry, plugins, folder, score)
    known = set[str]()
    for each in found:
        for choice in made.choices(each):
            made.resolved(each, choice)
            known |= choice.keys()
    for name in ladders:
        if name not in known:
            raise ParameterError("tune", tune, f"no method here has a setting {name}")
    return made


def _without_draw(settings: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in settings.items() if name not in _OF_DRAW}


def _toml(settings: Mapping[str, Any]) -> list[str]:
    return [f"{name} = {json.dumps(value)}" for name, value in settings.items()]
