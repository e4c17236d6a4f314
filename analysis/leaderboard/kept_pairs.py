"""Two methods in the kept studies: what is known of A against B, and where it was not run.

A pair stands in a study if both methods ran under equal conditions. It is shown at up to three
kept rounds, in both scores; all claims at the last rounds are one family, corrected by Holm's rule.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd

from f3ast_tff.advice.candidates import Candidate
from f3ast_tff.analysis.compare import render
from f3ast_tff.analysis.compare.judge import Claim, Verdict, judge
from f3ast_tff.analysis.compare.leads import over_time
from f3ast_tff.analysis.compare.pairs import Paired
from f3ast_tff.analysis.compare.plan import read_plan
from f3ast_tff.analysis.compare.scored import RunsError
from f3ast_tff.analysis.compare.times import Time
from f3ast_tff.analysis.leaderboard.boards import Board, Method, Study, read_boards
from f3ast_tff.analysis.study_runs import SHARE
from f3ast_tff.analysis.tidy_scores import read_cells
from f3ast_tff.campaigns.study_folders import STUDIES
from f3ast_tff.settings.text_values import conditions

# Scores over users first with p_k = 1 / N, which minimises the mean over clients.
_SCORES = {"equal": ("user_accuracy", "sample_accuracy")}
_OTHERWISE = ("sample_accuracy", "user_accuracy")
# First letters of studies that only tune rates.
TUNING = "tune_"
COLUMNS = (
    "study", "where", "client_share", "score", "earlier", "round", *render.COLUMNS, "asked"
)  # fmt: skip


@dataclass(frozen=True, eq=False)
class KeptPair:
    """A pair of methods under one condition of a study, in one score.

    Attributes:
        board: The condition.
        score: The score.
        leads: A - B at up to three kept rounds, the last one being that of the verdict.
    """

    board: Board
    score: str
    leads: Sequence[tuple[Time, Paired]]


def kept_pairs(a: Candidate, b: Candidate, where: str = "") -> tuple[pd.DataFrame, list[str]]:
    """Returns what the kept studies know of two methods.

    Args:
        a: Method A.
        b: Method B.
        where: Conditions on settings, such as `availability=smartphones,task=synthetic`.

    Returns:
        A frame, and a line per study that is left out, as its scores do not fit its campaign. The
        frame has a row per study, condition and score, of columns `study`, `where` in words,
        `client_share`, `score`, `earlier` (A - B at earlier rounds, in words), `round` (the last
        one), the columns of `render.row`, and `asked` (first date of the study's plan, `""`
        without a plan); it is empty if no study has both.
    """
    found: list[KeptPair] = []
    left_out = []
    for study in _studies_with({a.settings["algorithm"], b.settings["algorithm"]}):
        try:
            found += _pairs(study, a, b, where)
        except RunsError as error:
            left_out.append(str(error))
    verdicts = judge([Claim(each.leads[-1][1]) for each in found])
    dates = {name: _asked(name) for name in {each.board.study.name for each in found}}
    rows = [_row(each, verdict, dates) for each, verdict in zip(found, verdicts)]
    return pd.DataFrame(rows, columns=COLUMNS), left_out


def _studies_with(algorithms: set[str]) -> Iterator[Study]:
    """Studies whose runs hold these algorithms, each at rates of its own: no tuning."""
    for path in sorted(STUDIES.glob("*/grid.toml")):
        scores, name = path.with_name("scores.csv"), path.parent.name
        if not scores.exists() or name.startswith(TUNING):
            continue
        cells = read_cells(scores)
        if {"task", "algorithm", "round"} <= {*cells} and algorithms <= {*cells["algorithm"]}:
            only = ",".join(f"algorithm={each}" for each in sorted(algorithms))
            yield Study(name=name, title=name, scores=scores, where=only)


def _pairs(study: Study, a: Candidate, b: Candidate, where: str) -> Iterator[KeptPair]:
    wanted = conditions(where) if where else {}
    for board in read_boards(study):
        settings = board.first.settings
        if any(str(settings.get(name)) not in values for name, values in wanted.items()):
            continue
        sides = [[each for each in board.methods if _is(each, one)] for one in (a, b)]
        # Of several forms or rates no one is the method.
        if any(len(side) != 1 for side in sides):
            continue
        one, other = (side[0].group for side in sides)
        for score in _SCORES.get(str(settings.get(SHARE)), _OTHERWISE):
            yield KeptPair(board, score, over_time([(one, other)], score))


def _is(method: Method, wanted: Candidate) -> bool:
    settings = method.group.settings
    given = {"aggregation": wanted.aggregation, **wanted.settings}
    return all(str(settings.get(name)) == str(value) for name, value in given.items())


def _asked(study: str) -> str:
    """The first date at which a study's plan asked something."""
    dates = [str(question.asked.date()) for question in read_plan(study)]
    return min(dates, default="")


def _row(found: KeptPair, verdict: Verdict, dates: Mapping[str, str]) -> dict[str, Any]:
    name = found.board.study.name
    course = next(iter(found.board.first.courses.values()))
    return {
        "study": name,
        "where": found.board.title,
        "client_share": str(found.board.first.settings.get(SHARE)),
        "score": found.score,
        "earlier": render.earlier(found.leads[:-1]),
        "round": int(course["round"][-1]),
        **render.row(verdict),
        "asked": dates[name],
    }
