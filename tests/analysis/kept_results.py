"""Checks that the commands on a page make its file of scores and its tables.

Each check returns its errors, one per line. Paths in commands start at the working directory.
"""

from __future__ import annotations

import argparse
import functools
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from f3ast_tff.analysis.compare.scored import Pair, RunsError
from f3ast_tff.analysis.runs import SCORES
from f3ast_tff.analysis.studies.kept_pages import commands, refreshed
from f3ast_tff.analysis.tidy_scores import read_scores, settings_of
from f3ast_tff.campaigns.grid import plan, setting_types
from f3ast_tff.campaigns.grid_file import CampaignError, find_grid_file, read_grid_file
from f3ast_tff.campaigns.runs import PlannedRun, runs_where
from f3ast_tff.cli.flags import parse
from f3ast_tff.core.errors import ParameterError
from f3ast_tff.run.run_experiment import run_experiment
from f3ast_tff.run.verify import first_different_row
from f3ast_tff.settings import builtin_registry
from f3ast_tff.settings.flags import UsageError

CAMPAIGN = ["f3ast-tff", "campaign"]
TIDY_SCORES = ["python", "-m", "f3ast_tff.analysis.tidy_scores"]
# The file has six decimals. The processor that made it repeats them exactly. On another processor,
# XLA picks other instructions, whose float32 sums round differently, and a loss can differ by 1e-6.
TOLERANCE = 1e-5


class KeptRun(NamedTuple):
    """A run in a file of scores: its settings as texts, and its scores by round."""

    settings: dict[str, str]
    pair: Pair
    scores: dict[int, dict[str, float]]


@functools.cache
def kept_runs(scores: Path) -> list[KeptRun]:
    table = read_scores(scores)
    names = settings_of(table)
    runs: dict[tuple[Any, ...], KeptRun] = {}
    for row in table.to_dict("records"):
        settings = {name: row[name] for name in names}
        pair = Pair(int(row["draw"]), int(row["seed"]))
        run = runs.setdefault((*settings.values(), pair), KeptRun(settings, pair, {}))
        run.scores[row["round"]] = {score: row[score] for score in SCORES}
    return list(runs.values())


@dataclass(frozen=True)
class Kept:
    """A file of scores with its page's plan: the runs, and the interval of the kept rounds.

    `added` are the runs of each command that adds rounds, with its interval.
    """

    runs: list[KeptRun]
    planned: list[PlannedRun]
    every: int
    added: list[tuple[list[PlannedRun], int]]

    @functools.cached_property
    def has_draws(self) -> bool:
        return len({run.pair.draw for run in self.runs}) > 1

    def key(self, run: KeptRun) -> tuple[Any, ...]:
        return (*map(canonical, run.settings.values()), run.pair)

    def planned_key(self, run: PlannedRun) -> tuple[Any, ...]:
        given = {name: run.settings.get(name) for name in self.runs[0].settings}
        settings = [canonical(value) for value in given.values()]
        pair = Pair(run.settings.get("data_seed") or 0, run.settings["seed"])
        return (*settings, pair if self.has_draws else pair._replace(draw=0))


def canonical(value: object) -> object:
    """Returns a setting as a number if it is one, else as a text: 1, 1.0 and "1.0" are the same."""
    text = "" if value is None else str(value)
    try:
        return float(text)
    except ValueError:
        return text


def load(scores: Path) -> Kept:
    """Reads a file of scores, and plans the campaigns of its page.

    Raises:
        ValueError: If the page or a command is missing, or a command fails.
    """
    try:
        page = scores.with_name("page.md").read_text()
        runs = kept_runs(scores)
    except (OSError, RunsError) as error:
        raise ValueError(f"{scores.parent.name}: {error}") from error
    given = commands(page)
    makers = [tidy_flags(words[3:]) for words in given if words[:3] == TIDY_SCORES]
    makers = [each for each in makers if Path(each.out).absolute() == scores.absolute()]
    first = [each for each in makers if not each.add]
    if len(first) != 1:
        raise ValueError(f"{scores.parent.name}: {len(first)} tidy_scores commands write it, not 1")
    planned = []
    for words in given:
        if words[:2] == CAMPAIGN:
            planned += campaign_of(tuple(words[2:]))

    def of(maker: argparse.Namespace) -> list[PlannedRun]:
        return [run for run in planned if Path(maker.runs) in run.folder.parents]

    added = [(of(each), each.every) for each in makers if each.add]
    return Kept(runs, of(first[0]), first[0].every, added)


def tidy_flags(words: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(allow_abbrev=False)
    parser.add_argument("--runs", required=True)
    parser.add_argument("--out", required=True)
    parser.add_argument("--every", type=int, default=1)
    parser.add_argument("--clock", action="store_true")
    parser.add_argument("--add", action="store_true")
    return parser.parse_args(words)


def campaign_of(words: tuple[str, ...]) -> tuple[PlannedRun, ...]:
    """Plans `f3ast-tff campaign WORDS`."""
    others = tuple(word for word in words if not word.startswith("--where="))
    try:
        runs = _whole(others)
        for word in set(words).difference(others):
            runs = runs_where(runs, word.partition("=")[2], setting_types(builtin_registry()))
        return runs
    except (CampaignError, ParameterError, UsageError) as error:
        raise ValueError(f"f3ast-tff campaign {' '.join(words)}: {error}") from error


@functools.cache
def _whole(words: tuple[str, ...]) -> tuple[PlannedRun, ...]:
    """Plans a campaign; commands that differ only in conditions share the plan."""
    parsed = parse([f"--campaign={words[0]}", *words[1:]])
    settings = dict(parsed.settings)
    settings.pop("ray_address", None)
    path = find_grid_file(parsed.campaign["campaign"])
    # First weights are made by another command of the page, from data that tests do not have.
    if "initial_weights" in read_grid_file(path).settings:
        settings["initial_weights"] = None
    return plan(path, settings, None, parsed.registry).runs


def forget() -> None:
    """Clears cached plans and scores, since tests change the files."""
    _whole.cache_clear()
    kept_runs.cache_clear()


def wrong_runs(scores: Path) -> list[str]:
    """Compares a file's runs and rounds with the output of its page's commands."""
    try:
        kept = load(scores)
    except ValueError as error:
        return [str(error)]
    ours = Counter(kept.key(run) for run in kept.runs)
    planned = Counter(kept.planned_key(run) for run in kept.planned)
    found = [f"{n} times too often in the file: {key}" for key, n in (ours - planned).items()]
    found += [f"{n} times missing in the file: {key}" for key, n in (planned - ours).items()]
    if found:
        return found
    by_key: dict[tuple[Any, ...], set[int]] = {}
    for members, every in [(kept.planned, kept.every), *kept.added]:
        for each in members:
            rounds = rounds_of(each.settings, every)
            by_key.setdefault(kept.planned_key(each), set()).update(rounds)
    for run in kept.runs:
        wanted = sorted(by_key[kept.key(run)])
        if sorted(run.scores) != wanted:
            found.append(f"{kept.key(run)}: rounds {sorted(run.scores)}, the command's {wanted}")
    return found


def rounds_of(settings: Mapping[str, Any], every: int) -> list[int]:
    last = settings["rounds"]
    evaluated = {*range(settings["eval_every"], last + 1, settings["eval_every"]), last}
    return sorted(number for number in evaluated if number % every == 0 or number == last)


def wrong_tables(page: Path) -> list[str]:
    """Compares a page with the output of its `score_tables` commands."""
    old = page.read_text()
    try:
        new = refreshed(old)
    except RunsError as error:
        return [f"{page.parent.name}: {error}"]
    was, now = old.splitlines(), new.splitlines()
    found = [f"{page.parent.name}: {a!r} must be {b!r}" for a, b in zip(was, now) if a != b]
    if len(was) != len(now):
        found.append(f"{page.parent.name}: {len(was)} lines, must be {len(now)}")
    return found or ([] if new == old else [f"{page.parent.name}: ends otherwise"])


def wrong_scores(scores: Path) -> list[str]:
    """Repeats two runs of a file: the first, and the one at two thirds."""
    if found := wrong_runs(scores):
        return found
    kept = load(scores)
    planned = {kept.planned_key(run): run for run in kept.planned}
    for place in sorted({0, len(kept.runs) * 2 // 3}):
        run = kept.runs[place]
        rows = run_experiment(planned[kept.key(run)].configuration).rows
        names = {score: f"test_{score}" for score in SCORES}
        again = {int(row["round"]): {n: row[names[n]] for n in names} for row in rows}
        different = first_different_row(run.scores, again, TOLERANCE)
        if different is not None:
            number, score, said = different
            found.append(f"{kept.key(run)}, round {number}: {score} {said}")
    return found
