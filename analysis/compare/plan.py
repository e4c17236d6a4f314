"""The plan of a study: the questions that its grid file asks of the scores.

    [plan]                               # what all questions share
    asked = 2026-11-26T18:56:00Z
    family = "ten rows"
    rows = ["algorithm"]

    [[plan.question]]
    score = "user_accuracy"
    round = 1000                         # or: period = "final", or: seconds = 600.0
    minus = ["f3ast:fedavg"]

A question is planned if it was asked before the first scores of its file were there. One that came
with them, or later, is shown as such: reading flags cannot turn it into a planned one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from f3ast_tff.analysis.compare.scored import RunsError
from f3ast_tff.analysis.compare.times import FINAL, KEPT_PERIODS, Time
from f3ast_tff.analysis.runs import DIRECTIONS, SCORES
from f3ast_tff.campaigns.grid_file import CampaignError, find_grid_file, read_grid_file
from f3ast_tff.campaigns.study_folders import name_of

PLANNED, WITH_SCORES, ADDED = "planned", "with the scores", "added"
SCORE, ROUNDS_SAVED = "score", "rounds_saved"
# In a pair, each other row.
EACH = "each"


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _are_texts(value: Any) -> bool:
    return isinstance(value, list) and all(map(_is_text, value))


def _is_number(value: Any) -> bool:
    return type(value) in (int, float)


def _has_zone(value: Any) -> bool:
    return isinstance(value, datetime) and value.tzinfo is not None


def _names_score(value: Any) -> bool:
    return _is_text(value) and value.partition("_")[2] in DIRECTIONS


# For each entry of a question, whether a value fits, and what is allowed.
_ENTRIES: Mapping[str, tuple[Callable[[Any], bool], str]] = {
    **dict.fromkeys(
        ("rows", "columns", "mean_over", "minus"), (_are_texts, "must be a list of texts")
    ),
    **dict.fromkeys(("scores", "where", "draws", "family"), (_is_text, "must be a text")),
    **dict.fromkeys(("seconds", "reach"), (_is_number, "must be a number")),
    **dict.fromkeys(
        ("asked", "first_scores"),
        (_has_zone, "must be a time with its zone, such as 2026-11-26T18:56:00Z"),
    ),
    "score": (_names_score, f"must be of {', '.join(SCORES)}, or as worst_accuracy"),
    "quantity": ((SCORE, ROUNDS_SAVED).__contains__, f"must be {SCORE} or {ROUNDS_SAVED}"),
    "round": (lambda value: type(value) is int, "must be an integer"),
    "period": (KEPT_PERIODS.__contains__, f"must be of {', '.join(KEPT_PERIODS)}"),
}
_NEEDED = ("asked", "family", "rows", "minus", "score")


@dataclass(frozen=True)
class PlannedQuestion:
    """A question of a plan: differences of rows, in one score at one time.

    Attributes:
        scores: Name of the scores, see `study_folders.name_of`.
        score: Score, of `SCORES` or a further one, such as `worst_accuracy`.
        time: Time of the score.
        rows: Settings whose values are the rows.
        minus: Pairs of rows, as `A:B` for A minus B.
        columns: Settings for each of whose values every pair is a claim of its own.
        mean_over: Settings over whose values a claim takes each draw's mean.
        where: Runs that count; see `runs_where`.
        draws: Draws of the data that count, such as `8-47`; `None` for all of the file.
        quantity: `"score"`, or `"rounds_saved"` for the rounds until both rows have the score that
            the second has at `time`; see `compare.leads`.
        family: Family of claims that are corrected together.
        asked: Time at which the question was fixed, with its zone.
        first_scores: Time at which the first scores were kept; `None` if none were, when the plan
            was written.
    """

    scores: str
    score: str
    time: Time
    rows: tuple[str, ...]
    minus: tuple[str, ...]
    columns: tuple[str, ...]
    mean_over: tuple[str, ...]
    where: str | None
    draws: str | None
    quantity: str
    family: str
    asked: datetime
    first_scores: datetime | None

    @property
    def status(self) -> str:
        """`PLANNED`, `WITH_SCORES` or `ADDED`."""
        if self.first_scores is None or self.asked < self.first_scores:
            return PLANNED
        return WITH_SCORES if self.asked == self.first_scores else ADDED

    @property
    def said(self) -> str:
        """When it was asked, in a few words."""
        day = self.asked.date()
        if self.first_scores is None:
            return f"planned on {day}, before the first scores"
        first = self.first_scores.date()
        return {
            PLANNED: f"planned on {day}, first scores {first}",
            WITH_SCORES: f"written down on {day} with the first scores",
            ADDED: f"added after a look, on {day}; first scores {first}",
        }[self.status]


def read_plan(campaign: str) -> tuple[PlannedQuestion, ...]:
    """Returns the questions of a campaign's plan, in their order; none without a plan.

    Args:
        campaign: Name of a built-in campaign, or a `.toml` file.

    Raises:
        RunsError: If the file cannot be read, or its plan has other entries, a value of another
            kind, or lacks one.
        ParameterError: If there is no such campaign.
    """
    path = find_grid_file(campaign)
    try:
        content = dict(read_grid_file(path).plan)
    except CampaignError as error:
        raise RunsError(str(error)) from error
    questions = content.pop("question", [])
    if not isinstance(questions, list) or not all(isinstance(each, dict) for each in questions):
        raise RunsError(f"{path}: plan.question: must be tables, [[plan.question]] each")
    if content and not questions:
        raise RunsError(f"{path}: [plan] needs a [[plan.question]]")
    return tuple(_question(path, {**content, **each}) for each in questions)


def _question(path: Path, given: Mapping[str, Any]) -> PlannedQuestion:
    def fault(name: str, allowed: str) -> RunsError:
        return RunsError(f"{path}: [plan] {name} = {given.get(name)!r}: {allowed}")

    for name, value in given.items():
        if name not in _ENTRIES:
            raise fault(name, f"must be one of {', '.join(sorted(_ENTRIES))}")
        fits, allowed = _ENTRIES[name]
        if not fits(value):
            raise fault(name, allowed)
    for name in _NEEDED:
        if not given.get(name):
            raise fault(name, "is needed")
    for name, other in (("round", "period"), ("seconds", "round"), ("reach", "round")):
        if name in given and other in given:
            raise fault(name, f"must not be given with a {other}")
    if "reach" in given and "seconds" not in given:
        raise fault("reach", "needs seconds")
    return PlannedQuestion(
        scores=given.get("scores", name_of(path)),
        score=given["score"],
        time=Time(
            period=given.get("period", FINAL),
            round=given.get("round"),
            seconds=given.get("seconds"),
            reach=given.get("reach"),
        ),
        rows=tuple(given["rows"]),
        minus=tuple(given["minus"]),
        columns=tuple(given.get("columns", ())),
        mean_over=tuple(given.get("mean_over", ())),
        where=given.get("where"),
        draws=given.get("draws"),
        quantity=given.get("quantity", SCORE),
        family=given["family"],
        asked=given["asked"],
        first_scores=given.get("first_scores"),
    )


def asks(
    plan: Sequence[PlannedQuestion], scores: str, score: str, time: Time, pair: str
) -> PlannedQuestion | None:
    """Returns the plan's question on a pair in a score at a time, the earliest one; else `None`."""
    found = [
        each
        for each in plan
        if (each.scores, each.score, each.time) == (scores, score, time)
        and each.quantity == SCORE
        and pair in each.minus
    ]
    return min(found, key=lambda each: each.asked, default=None)


def reading_note(
    plan: Sequence[PlannedQuestion],
    scores: str,
    of_scores: Sequence[str],
    time: Time,
    pairs: Sequence[str],
) -> str:
    """Returns sentences on when the differences of a table were asked for.

    Args:
        plan: Questions of the study.
        scores: Name of the scores, see `study_folders.name_of`.
        of_scores: Scores of the table.
        time: Time of the scores.
        pairs: Pairs of the table, as `A:B`.
    """
    by_words: dict[str, list[str]] = {}
    for score in of_scores:
        for pair in pairs:
            found = asks(plan, scores, score, time, pair)
            words = found.said if found else "a reader's own reading, which no plan asks"
            by_words.setdefault(words[0].upper() + words[1:], []).append(f"{pair} ({score})")
    if not by_words:
        return ""
    if len(by_words) == 1:
        return f"{next(iter(by_words))}."
    return " ".join(f"{words}: {', '.join(them)}." for words, them in by_words.items())
