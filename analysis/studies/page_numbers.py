"""Numbers in the text of a page, each written from the scores of a study.

    F3AST minus FedAvg is +.061 [+.044, +.079]<!--1--> at round 500.

    <!-- numbers
    1: table3_synthetic a=f3ast b=fedavg where=reading=paper,availability=home_devices round=500
      of=mean,low,high
    -->

The mark `<!--1-->` stands behind the last number of query 1, which the comment at the end of the
page holds: a study, then flags of `Query` without `--`. A number keeps its decimals, its `+` and
its leading 0 or the lack of it. `kept_pages` writes them.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from f3ast_tff.analysis.compare.cells import When, chosen
from f3ast_tff.analysis.compare.paired_difference import difference_of_common
from f3ast_tff.analysis.compare.pairs import ranked
from f3ast_tff.analysis.compare.scored import Kept, Pair, RunsError, summarised, varying
from f3ast_tff.analysis.compare.times import KEPT_PERIODS
from f3ast_tff.analysis.runs import SCORES
from f3ast_tff.analysis.tidy_scores import kept_groups, read_scores
from f3ast_tff.campaigns import study_folders
from f3ast_tff.core.errors import ParameterError
from f3ast_tff.settings import parameter, parameters_of
from f3ast_tff.settings.flags import UsageError, parse_flags
from f3ast_tff.settings.text_values import integer_range

OF_A_CASE = ("mean", "low", "high")
OVER_CASES = ("lowest", "highest")
_DECIMAL = re.compile(r"(?<![\w.])[+\-−]?\d?\.\d+(?![\w.]*\w)")
_POINTS = re.compile(r"(?<![\w.])[+\-−]?\d+(?:\.\d+)?(?![\w.]*\w)")
_MARK = re.compile(r"<!--(\d+)-->")
_BLOCK = re.compile(r"^<!-- numbers\n(.*?)^-->\n?\Z", re.DOTALL | re.MULTILINE)
Cells = Mapping[str, str]


@dataclass(frozen=True)
class Query:
    """The numbers of a mark: a score of A, or A - B paired over draws and seeds.

    Cells are `SETTING=VALUE,...`; a lone word is an algorithm. `cases` separates further cells of
    each case by `;`; cases after the first need no names. All scores of a case follow one another,
    and all numbers of a round.
    """

    a: str = parameter("", "cells of A")
    b: str | None = parameter(None, "cells of B")
    where: str = parameter("", "cells of all runs")
    cases: str = parameter("", "further cells of each case")
    mean_over: str = parameter("", "settings over which each draw's mean is taken first")
    score: str = parameter(SCORES[0], "scores, separated by commas")
    round: str = parameter("", "rounds of the scores, separated by commas, without a period")
    period: str = parameter("final", "time of the scores", choices=KEPT_PERIODS)
    of: str = parameter("mean", "quantities of a case, or `lowest,highest` of their means")
    draws: str = parameter("", "draws of the data that count, such as 8-47; all by default")
    points: bool = parameter(False, "whether numbers are points of accuracy, 100 times the score")

    @property
    def when(self) -> When:
        """The round, of one, or the period."""
        return int(self.round) if self.round else self.period


def refreshed(page: str) -> str:
    """Returns a page with the numbers before its marks written from the scores.

    Raises:
        RunsError: If a query is wrong, a mark lacks a query or does not stand on the page once, or
            too few numbers stand before it in its paragraph.
    """
    block = _BLOCK.search(page)
    queries = _queries(block[1]) if block else {}
    if unknown := sorted({*_MARK.findall(page)} - queries.keys()):
        raise RunsError(f"the mark <!--{unknown[0]}--> has no query")
    groups: dict[str, list[Kept]] = {}
    for mark, (study, query) in queries.items():
        if study not in groups:
            scores = study_folders.STUDIES / study / "scores.csv"
            groups[study] = kept_groups(read_scores(scores))
        try:
            page = _written(page, f"<!--{mark}-->", query, numbers_of(query, groups[study]))
        except (RunsError, ParameterError) as error:
            raise RunsError(f"number {mark}: {error}") from error
    return page


def without_marks(page: str) -> str:
    """Returns a page without its marks and queries."""
    return _MARK.sub("", _BLOCK.sub("", page))


def numbers_of(query: Query, runs: Sequence[Kept]) -> list[float]:
    """Returns the numbers of a query from the runs of its study, in order.

    Raises:
        RunsError: If a case has no runs, or its runs differ in a setting outside `mean_over`; if a
            score or quantity is unknown.
    """
    rounds = query.round.split(",")
    if query.round and not all(each.isdecimal() for each in rounds):
        raise RunsError(f"round={query.round}: must be integers, separated by commas")
    if len(rounds) > 1:
        return [
            number for each in rounds for number in numbers_of(replace(query, round=each), runs)
        ]
    of, scores = query.of.split(","), query.score.split(",")
    known = dict.fromkeys(name for run in runs for name in run.score_names)
    if unknown := sorted({*scores} - {*known}):
        raise RunsError(f"score {unknown[0]!r} must be of {', '.join(known)}")
    over = set(of) <= {*OVER_CASES}
    if not over and not set(of) <= {*OF_A_CASE}:
        raise RunsError(f"of={query.of}: must be of {', '.join(OF_A_CASE)}, or lowest, highest")
    if query.b is None and {*of} & {"low", "high"}:
        raise RunsError("low and high are of a difference; give b")
    if query.draws:
        runs = [_of_draws(group, integer_range(query.draws)) for group in runs]
    cases = [
        _case(query, runs, {**_cells(query.where), **case}, score)
        for case in _cases(query.cases)
        for score in scores
    ]
    if over:
        means = [case["mean"] for case in cases]
        found = [min(means) if each == "lowest" else max(means) for each in of]
    else:
        found = [case[each] for case in cases for each in of]
    return [100 * each for each in found] if query.points else found


def _of_draws(group: Kept, draws: Collection[int]) -> Kept:
    courses = {pair: course for pair, course in group.courses.items() if pair.draw in draws}
    return replace(group, courses=courses)


def as_stated(number: float, text: str) -> str:
    """Returns a number with the decimals, the sign and the first digit of a text of a page."""
    decimals = len(text.partition(".")[2])
    found = f"{abs(number):.{decimals}f}"
    if found.startswith("0.") and text.lstrip("+-−").startswith("."):
        found = found[1:]
    minus = "−" if text.startswith("−") else "-"
    # A mean of 0 may be off by rounding errors.
    negative = round(number, 12) < 0
    return f"{minus if negative else '+' if text.startswith('+') else ''}{found}"


def _queries(block: str) -> dict[str, tuple[str, Query]]:
    parameters = {p.name: p for p in parameters_of(Query)}
    found = {}
    for line in re.sub(r"\n +", " ", block).splitlines():
        mark, _, words = line.partition(": ")
        study, *flags = shlex.split(words)
        try:
            given = parse_flags([f"--{flag}" for flag in flags], parameters)
            values = {n: p.checked(given.get(n, p.default)) for n, p in parameters.items()}
        except (ParameterError, UsageError) as error:
            raise RunsError(f"number {mark}: {error}") from error
        found[mark] = (study, Query(**values))
    return found


def _written(page: str, mark: str, query: Query, numbers: Sequence[float]) -> str:
    """The page with the numbers before a mark replaced."""
    before, *after = page.split(mark)
    if len(after) != 1:
        raise RunsError(f"{mark} stands on the page {len(after)} times, must be once")
    start = before.rfind("\n\n") + 1
    pattern = _POINTS if query.points else _DECIMAL
    texts = [*pattern.finditer(before, start)][-len(numbers) :]
    if len(texts) < len(numbers):
        raise RunsError(f"{len(texts)} numbers stand before {mark}, must be {len(numbers)}")
    for text, number in reversed([*zip(texts, numbers)]):
        before = before[: text.start()] + as_stated(number, text[0]) + before[text.end() :]
    return before + mark + after[0]


def _cells(text: str) -> dict[str, str]:
    """Cells as a mapping; a lone word is an algorithm."""
    pairs = (each.partition("=") for each in text.split(",") if each)
    return {
        name if equals else "algorithm": value if equals else name for name, equals, value in pairs
    }


def _cases(text: str) -> list[dict[str, str]]:
    first, *others = text.split(";")
    cases = [_cells(first)]
    for other in others:
        values = other.split(",")
        plain = len(values) == len(cases[0]) and not any("=" in value for value in values)
        cases.append(dict(zip(cases[0], values)) if plain else _cells(other))
    return cases


def _case(query: Query, runs: Sequence[Kept], cells: Cells, score: str) -> dict[str, float]:
    a = _scores(query, runs, {**cells, **_cells(query.a)}, score)
    if query.b is None:
        return {"mean": summarised(a).mean}
    b = _scores(query, runs, {**cells, **_cells(query.b)}, score)
    found = difference_of_common(a, b)
    if found is None:
        raise RunsError("A and B share fewer than 2 runs")
    return {name: getattr(found, name) for name in OF_A_CASE}


def _scores(query: Query, runs: Sequence[Kept], cells: Cells, score: str) -> dict[Pair, float]:
    """A score by pair, the mean over settings of `mean_over`."""
    what, mean_over = f"runs with {dict(cells)}", [*filter(None, query.mean_over.split(","))]
    for name in (*cells, *mean_over):
        if name not in runs[0].settings:
            raise RunsError(f"{what}: the scores have no column {name}")
    groups = chosen(runs, cells)
    if not groups:
        raise RunsError(f"{what}: there are none")
    for name in varying(groups):
        if name not in mean_over:
            raise RunsError(f"{what}: differ in {name}; name it in where or mean_over")
    by_pair: dict[Pair, list[float]] = {}
    for group in groups:
        for pair, value in ranked(group, score, query.when).items():
            by_pair.setdefault(pair, []).append(value)
    if len({len(values) for values in by_pair.values()}) > 1:
        raise RunsError(f"{what}: not every draw and seed has all of {mean_over}")
    return {pair: float(np.mean(values)) for pair, values in sorted(by_pair.items())}
