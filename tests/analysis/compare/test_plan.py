from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pandas as pd
import pytest

from f3ast_tff.analysis.compare.plan import (
    ADDED,
    PLANNED,
    WITH_SCORES,
    PlannedQuestion,
    asks,
    read_plan,
    reading_note,
)
from f3ast_tff.analysis.compare.scored import RunsError
from f3ast_tff.analysis.compare.times import BEST, Time, at
from f3ast_tff.analysis.studies.kept_pages import commands
from f3ast_tff.campaigns.grid_file import built_in_campaigns
from f3ast_tff.campaigns.study_folders import name_of

STUDIES = Path(__file__).resolve().parents[3] / "analysis" / "studies"
PLAN = """
[plan]
asked = 2026-01-02T10:00:00Z
first_scores = 2026-01-03T10:00:00Z
family = "one"
rows = ["algorithm"]

[[plan.question]]
score = "sample_accuracy"
round = 1000
minus = ["f3ast:fedavg"]

[[plan.question]]
asked = 2026-01-04T10:00:00Z
score = "sample_accuracy"
period = "best"
minus = ["f3ast:fedavg"]
"""


def written(folder: Path, text: str) -> str:
    path = folder / "study.toml"
    path.write_text(text)
    return str(path)


def faults(words: list[str]) -> Iterator[str]:
    """What a page's command asks and its plan does not."""
    flags = {}
    for place, word in enumerate(words):
        if word.startswith("--"):
            name, equals, value = word[2:].partition("=")
            flags[name] = value if equals else (words[place + 1 :] or [""])[0]
    if "minus" not in flags:
        return
    if "plan" not in flags:
        yield f"no --plan: {shlex.join(words)}"
        return
    when = int(flags["round"]) if "round" in flags else flags.get("period", "final")
    for score in flags.get("score", "sample_accuracy").split(","):
        for pair in flags["minus"].split(","):
            name = name_of(Path(flags["scores"]))
            if asks(read_plan(flags["plan"]), name, score, at(when), pair) is None:
                yield f"{flags['plan']} does not ask {pair} in {score} at {when} of {name}"


@pytest.mark.parametrize(
    "page", sorted(STUDIES.glob("*/page.md")), ids=lambda page: page.parent.name
)
def test_a_kept_page_shows_the_pairs_and_times_of_its_plan(page: Path) -> None:
    tables = [words for words in commands(page.read_text()) if "score_tables" in " ".join(words)]
    assert [fault for words in tables for fault in faults(words)] == []


def test_a_planned_lead_is_kept_at_three_rounds() -> None:
    few = set()
    for name in built_in_campaigns():
        for question in read_plan(name):
            path = STUDIES / question.scores / "scores.csv"
            if not path.exists():
                continue
            rounds = pd.read_csv(path, usecols=["round"])["round"].unique()
            at_the_end = question.time in (Time(), Time(round=rounds.max()))
            if at_the_end and len(rounds) < 3:
                few.add(question.scores)
    assert not few


def test_another_period_or_pair_than_the_plans_is_a_fault() -> None:
    page = (STUDIES / "table3_cifar100/page.md").read_text()
    words = next(each for each in commands(page) if any("--minus" in word for word in each))
    others = [
        [*words, "--round=500"],
        [*words, "--period=best"],
        [re.sub("fedavg", "fedadam", word) for word in words],
        [word for word in words if "--plan" not in word],
    ]
    assert [*faults(words)] == []
    assert all([*faults(other)] for other in others)


def test_every_plan_that_comes_with_the_package_can_be_read() -> None:
    plans = {name: read_plan(name) for name in built_in_campaigns()}
    questions = [each for plan in plans.values() for each in plan]
    assert {each.status for each in questions} == {PLANNED, WITH_SCORES, ADDED}


def test_the_status_follows_the_first_scores(tmp_path: Path) -> None:
    early, late = read_plan(written(tmp_path, PLAN))
    assert (early.status, early.time, early.scores) == (PLANNED, Time(round=1000), "study")
    assert (late.status, late.time) == (ADDED, Time(BEST))
    first = datetime(2026, 1, 3, 10, tzinfo=UTC)
    both = PlannedQuestion(**{**vars(early), "asked": first})
    assert both.status == WITH_SCORES
    assert PlannedQuestion(**{**vars(early), "first_scores": None}).status == PLANNED


def test_a_plan_asks_for_a_further_score(tmp_path: Path) -> None:
    text = PLAN.replace("sample_accuracy", "worst_accuracy", 1)
    assert [each.score for each in read_plan(written(tmp_path, text))] == [
        "worst_accuracy",
        "sample_accuracy",
    ]


def test_the_note_says_what_was_asked_when(tmp_path: Path) -> None:
    plan = read_plan(written(tmp_path, PLAN))
    common = dict(plan=plan, scores="study", of_scores=["sample_accuracy"], pairs=["f3ast:fedavg"])
    assert reading_note(**common, time=at(1000)) == (
        "Planned on 2026-01-02, first scores 2026-01-03."
    )
    assert reading_note(**common, time=at("best")) == (
        "Added after a look, on 2026-01-04; first scores 2026-01-03."
    )
    assert reading_note(**common, time=at(500)) == "A reader's own reading, which no plan asks."
    assert reading_note(plan, "study", ["sample_accuracy"], at(1000), []) == ""
    two = reading_note(plan, "study", ["sample_accuracy"], at(1000), ["f3ast:fedavg", "poc:fedavg"])
    assert two == (
        "Planned on 2026-01-02, first scores 2026-01-03: f3ast:fedavg (sample_accuracy). "
        "A reader's own reading, which no plan asks: poc:fedavg (sample_accuracy)."
    )


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("round = 1000", "round = 1000\nperiod = 'final'", "must not be given with a period"),
        ("'sample_accuracy'", "'accuracy'", "must be of"),
        ("2026-01-02T10:00:00Z", "2026-01-02", "with its zone"),
        ('rows = ["algorithm"]', "rows = 3", "a list of texts"),
        ('family = "one"', "", "is needed"),
        ('family = "one"', 'family = "one"\nplans = 3', "must be one of"),
        ('period = "best"', 'period = "worst"', "must be of"),
    ],
)
def test_a_wrong_plan_is_refused_in_one_line(old: str, new: str, said: str, tmp_path: Path) -> None:
    text = PLAN.replace('"sample_accuracy"', "'sample_accuracy'")
    assert old in text
    with pytest.raises(RunsError, match=said) as error:
        read_plan(written(tmp_path, text.replace(old, new)))
    assert "\n" not in str(error.value)
