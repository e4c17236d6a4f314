"""Verdicts on single claims, and Holm's correction of a family."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path

import pytest
from scipy import stats  # type: ignore[import-untyped]

from f3ast_tff.analysis.paired_difference import PairedDifference
from f3ast_tff.analysis.report.collect import collect
from f3ast_tff.analysis.verdicts import (
    DOES_NOT_HOLD,
    HOLDS,
    NOT_ENOUGH,
    Question,
    Verdict,
    holm,
    judge_family,
    obstacle_to_verdict,
    primary_p,
)
from tests.analysis.conftest import described

MakeRun = Callable[..., Path]


def found(low: float, high: float, draws: int = 10) -> PairedDifference:
    """A difference over draws whose 95% interval is this."""
    error = (high - low) / 2 / stats.t.ppf(0.975, draws - 1)
    return PairedDifference((low + high) / 2, error, draws, draws)


def judge(relation: str, upwards: bool, paper: float | None, low: float, high: float) -> Verdict:
    """A family of one: judged by its 95% interval."""
    (verdict,) = judge_family([Question(relation, upwards, paper, found(low, high))])
    assert verdict.confidence == 0.95
    return verdict


@pytest.mark.parametrize(
    ("low", "high", "paper", "expected"),
    [
        (0.01, 0.2, 0.1, HOLDS),
        (0.01, 0.2, None, HOLDS),
        (-0.2, -0.01, 0.1, DOES_NOT_HOLD),
        # Holds 0 and the paper's 0.1: cannot tell.
        (-0.05, 0.15, 0.1, NOT_ENOUGH),
        # Holds 0, and 0.1 lies above it.
        (-0.05, 0.05, 0.1, DOES_NOT_HOLD),
        # The paper prints no number: a lead of 0.01 counts.
        (-0.05, 0.05, None, NOT_ENOUGH),
        (-0.05, 0.005, None, DOES_NOT_HOLD),
        (0.0, 0.0, 0.1, DOES_NOT_HOLD),
    ],
)
def test_better(low: float, high: float, paper: float | None, expected: str) -> None:
    assert judge("better", True, paper, low, high).verdict == expected
    # A loss: the same with every sign turned.
    turned = None if paper is None else -paper
    assert judge("better", False, turned, -high, -low).verdict == expected


@pytest.mark.parametrize(
    ("relation", "low", "high", "expected"),
    [
        ("same", -0.005, 0.009, HOLDS),
        ("same", 0.02, 0.03, DOES_NOT_HOLD),
        ("same", -0.03, -0.02, DOES_NOT_HOLD),
        ("same", -0.005, 0.02, NOT_ENOUGH),
        ("not worse", -0.009, 0.4, HOLDS),
        ("not worse", -0.02, 0.4, NOT_ENOUGH),
        ("not worse", -0.02, -0.001, NOT_ENOUGH),
        ("not worse", -0.4, -0.011, DOES_NOT_HOLD),
        # Below 0 and within the margin: no worse, and the same.
        ("same", -0.006, -0.002, HOLDS),
        ("not worse", -0.006, -0.002, HOLDS),
    ],
)
def test_other_relations(relation: str, low: float, high: float, expected: str) -> None:
    assert judge(relation, True, None, low, high).verdict == expected
    assert judge(relation, False, None, -high, -low).verdict == expected


def test_holds_says_how_large_against_the_papers_difference() -> None:
    """0.01 [0.005, 0.015] of 0.05, and a loss: -0.01 [-0.015, -0.005] of -0.05."""
    says = "better, 0.20 [0.10, 0.30] of the paper's"
    assert judge("better", True, 0.05, 0.005, 0.015).reason == says
    assert judge("better", False, -0.05, -0.015, -0.005).reason == says
    assert judge("better", True, None, 0.005, 0.015).reason == "better"


def test_holm_by_hand() -> None:
    """0.05 over 4, 3, 2: 0.01 <= 0.0125, 0.016 <= 0.0167, 0.03 > 0.025 stops; the last as it."""
    levels = holm([0.03, 0.01, 0.5, 0.016])
    assert levels == pytest.approx([1 - 0.025, 1 - 0.0125, 1 - 0.025, 1 - 0.05 / 3])
    assert holm([0.2]) == [0.95]
    assert holm([]) == []


def test_a_claim_that_holds_alone_may_not_hold_in_a_family() -> None:
    """p just below 0.05 holds alone; beside three without effect it needs 0.0125."""
    barely = Question("better", True, 0.1, found(0.001, 0.2))
    nothing = Question("better", True, None, found(-0.2, 0.2))
    assert 0.0125 < primary_p(barely) < 0.05
    assert judge_family([barely])[0].verdict == HOLDS
    verdict = judge_family([nothing, barely, nothing, nothing])[1]
    assert verdict.verdict == NOT_ENOUGH
    assert verdict.confidence == 1 - 0.05 / 4
    # What cannot be judged is no member of the family.
    without = Question("better", True, None, None, "not run")
    assert judge_family([without, barely, without])[1].verdict == HOLDS


@pytest.mark.parametrize("relation", ["better", "not worse", "same"])
@pytest.mark.parametrize("upwards", [True, False])
def test_holds_exactly_if_the_p_value_is_rejected(relation: str, upwards: bool) -> None:
    for low in (-0.03, -0.0112, -0.0099, -0.0021, 0.0012, 0.02):
        for width in (0.001, 0.012, 0.05):
            question = Question(relation, upwards, None, found(low, low + width))
            sign = 1 if upwards else -1
            better = relation != "better" or sign * (low + width / 2) > 0
            holds = judge_family([question])[0].verdict == HOLDS
            assert holds == (primary_p(question) <= 0.05 and better)


def test_no_usable_difference() -> None:
    nan = PairedDifference(math.nan, math.nan, 5, 5)
    family = [Question("better", True, 0.1, each) for each in (nan, None)]
    assert [v.reason for v in judge_family(family)] == [
        "a run diverged",
        "fewer than 2 common pairs of draw and seed",
    ]
    assert {v.verdict for v in judge_family(family)} == {NOT_ENOUGH}
    assert {v.confidence for v in judge_family(family)} == {None}


def obstacle(tmp_path: Path, draws: int, pairs: int, rounds: int | None = None) -> str:
    groups = collect(tmp_path).groups
    return obstacle_to_verdict(groups, PairedDifference(0.1, 0.1, pairs, draws), 3, rounds)


def test_generated_data_need_five_draws(make_run: MakeRun, tmp_path: Path) -> None:
    make_run("a", rounds=1000)
    assert obstacle(tmp_path, 1, 30) == "1 draw of the data, 5 are needed"
    assert obstacle(tmp_path, 2, 30) == "2 draws of the data, 5 are needed"
    assert obstacle(tmp_path, 5, 5) == ""


@pytest.mark.parametrize("task", ["synthetic", "synthetic_linear", "leaf_synthetic"])
def test_draws_of_generated_data_are_enough_where_the_paper_has_more_runs(
    make_run: MakeRun, tmp_path: Path, task: str
) -> None:
    """CA-Fed averages over 10."""
    make_run("a", rounds=1000, task=task)
    groups = collect(tmp_path).groups
    six, four = (PairedDifference(0.1, 0.1, draws, draws) for draws in (6, 4))
    assert obstacle_to_verdict(groups, six, 10) == ""
    assert obstacle_to_verdict(groups, four, 10) == "4 draws of the data, 5 are needed"


def test_other_data_need_the_papers_number_of_runs(make_run: MakeRun, tmp_path: Path) -> None:
    make_run("a", rounds=1000, task="cifar100")
    assert obstacle(tmp_path, 1, 2) == "2 common pairs of draw and seed, 3 are needed"
    assert obstacle(tmp_path, 1, 3) == ""


def test_fewer_rounds_than_the_papers_or_the_tasks(make_run: MakeRun, tmp_path: Path) -> None:
    make_run("a", rounds=999)
    assert obstacle(tmp_path, 5, 5) == "999 rounds, 1000 are needed"
    assert obstacle(tmp_path, 5, 5, 1500) == "999 rounds, 1500 are needed"
    # More than the paper's are fine.
    assert obstacle(tmp_path, 5, 5, 500) == ""


def test_a_recorded_task_of_a_plug_in_may_generate_its_data(
    make_run: MakeRun, tmp_path: Path
) -> None:
    says = described(task=("Coins", 1))
    make_run("a", task="coins", described=says)
    assert obstacle(tmp_path, 1, 3) == ""
    says["components"]["task"]["generates_data"] = True
    make_run("b", task="coins", described=says, seed=1, batch_size=7)
    (first,) = [g for g in collect(tmp_path).groups if g.setting("batch_size") == 7]
    few = PairedDifference(0.1, 0.1, 3, 1)
    assert obstacle_to_verdict([first], few, 3) == "1 draw of the data, 5 are needed"
