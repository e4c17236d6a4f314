"""Verdicts on the direction and the size of claims, and Holm's correction of a family."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import pytest
from scipy import stats  # type: ignore[import-untyped]

from f3ast_tff.analysis.paired_difference import PairedDifference, paired_difference
from f3ast_tff.analysis.run_groups import collect
from f3ast_tff.analysis.runs import Pair
from f3ast_tff.analysis.verdicts import (
    AS_PRINTED,
    HOLDS,
    LARGER,
    OPEN,
    REVERSED,
    SMALLER,
    Divergence,
    Question,
    holm,
    judge_family,
    obstacle_to_verdict,
)
from tests.analysis.conftest import MakeRun, described


def found(low: float, high: float, draws: int = 10) -> PairedDifference:
    """Returns a difference over draws with this 95% interval."""
    error = (high - low) / 2 / stats.t.ppf(0.975, draws - 1)
    return PairedDifference((low + high) / 2, error, draws, draws)


def judge(
    relation: str, upwards: bool, paper: float | None, low: float, high: float
) -> tuple[str | None, str | None]:
    """Direction and size in a family of one, judged by its 95% interval."""
    (verdict,) = judge_family([Question(relation, upwards, paper, found(low, high))])
    assert verdict.confidence == (None if relation == "same" else 0.95)
    assert verdict.size_confidence == (None if paper is None else 0.95)
    return verdict.direction, verdict.size


@pytest.mark.parametrize("relation", ["better", "not worse"])
@pytest.mark.parametrize(
    ("low", "high", "expected"),
    [
        (0.0001, 0.2, HOLDS),
        (0.03, 0.05, HOLDS),
        (-0.2, -0.0001, REVERSED),
        (-0.0001, 0.2, OPEN),
        (-0.2, 0.0001, OPEN),
        (0.0, 0.0, OPEN),
        (0.001, 0.001, HOLDS),
    ],
)
def test_directions(relation: str, low: float, high: float, expected: str) -> None:
    """Without a margin, "not worse" is judged like "better"."""
    assert judge(relation, True, None, low, high) == (expected, None)
    # For a loss every sign is reversed.
    assert judge(relation, False, None, -high, -low) == (expected, None)


@pytest.mark.parametrize(
    ("low", "high", "expected"),
    [
        # The interval holds the paper's 0.1, and is no longer than 0.1.
        (0.06, 0.14, AS_PRINTED),
        (0.01, 0.101, AS_PRINTED),
        (0.1, 0.1, AS_PRINTED),
        # The interval is so long that it also allows 0.2 or almost nothing.
        (0.02, 0.18, OPEN),
        # The interval holds both 0 and the paper's value.
        (-0.02, 0.12, OPEN),
        (-0.05, 0.05, SMALLER),
        (-0.2, -0.1, SMALLER),
        (0.01, 0.09, SMALLER),
        (0.11, 0.4, LARGER),
    ],
)
def test_sizes(low: float, high: float, expected: str) -> None:
    assert judge("better", True, 0.1, low, high)[1] == expected
    assert judge("better", False, -0.1, -high, -low)[1] == expected


@pytest.mark.parametrize(
    ("low", "high", "paper", "expected"),
    [
        (0.001, 0.1, 0.0, LARGER),
        (-0.1, -0.001, 0.0, SMALLER),
        # However short, an interval around 0 does not show that both are equal.
        (-0.001, 0.001, 0.0, OPEN),
        (0.0, 0.0, 0.0, AS_PRINTED),
        # The paper prints 0.281 and 0.282.
        (-0.1, -0.002, -0.001, SMALLER),
        (0.0, 0.1, -0.001, LARGER),
        (-0.01, 0.01, -0.001, OPEN),
    ],
)
def test_the_same_has_a_size_alone(low: float, high: float, paper: float, expected: str) -> None:
    assert judge("same", True, paper, low, high) == (None, expected)
    assert judge("same", False, -paper, -high, -low) == (None, expected)


def test_reasons_say_how_large_against_the_papers_difference() -> None:
    """0.01 [0.005, 0.015] of 0.05; for a loss, -0.01 [-0.015, -0.005] of -0.05."""
    share = "0.20 [0.10, 0.30] of the paper's"
    for upwards, paper, low, high, says in (
        (True, 0.05, 0.005, 0.015, f"better, {share}"),
        (False, -0.05, -0.015, -0.005, f"better, {share}"),
        (True, -0.05, -0.015, -0.005, f"worse, {share}"),
        (True, None, 0.005, 0.015, "better"),
        (True, None, -0.005, 0.015, "the interval contains 0"),
    ):
        question = Question("better", upwards, paper, found(low, high))
        assert judge_family([question])[0].reason == says


def test_holm_by_hand() -> None:
    """0.05 over 4, 3, 2: 0.01 <= 0.0125, 0.016 <= 0.0167, 0.03 > 0.025 stops; 0.5 has its level."""
    errors = holm([0.03, 0.01, 0.5, 0.016])
    assert errors == pytest.approx([0.025, 0.0125, 0.025, 0.05 / 3])
    assert holm([0.2]) == [0.05]
    assert holm([]) == []


def test_a_claim_that_holds_alone_may_not_hold_in_a_family() -> None:
    """p just below 0.05 holds alone; beside three claims without effect it would need 0.0125."""
    barely = Question("better", True, 0.1, found(0.001, 0.2))
    nothing = Question("better", True, None, found(-0.2, 0.2))
    assert barely.found is not None and 0.0125 < barely.found.p_value < 0.05
    assert judge_family([barely])[0].direction == HOLDS
    verdict = judge_family([nothing, barely, nothing, nothing])[1]
    assert verdict.direction == OPEN
    assert verdict.confidence == 1 - 0.05 / 4
    # It is the only claim with a size.
    assert verdict.size_confidence == 0.95
    # A claim that cannot be judged is no member of the family.
    without = Question("better", True, None, None, "not run")
    assert judge_family([without, barely, without])[1].direction == HOLDS


def test_sizes_are_a_family_beside_the_directions() -> None:
    """Two intervals end just below 0.1: one alone is smaller, but in a family of two neither is."""
    question = Question("better", True, 0.1, found(0.01, 0.0999))
    assert judge_family([question])[0].size == SMALLER
    assert [v.size for v in judge_family([question] * 2)] == [OPEN] * 2
    short = Question("better", True, 0.1, found(0.06, 0.0999))
    assert judge_family([short])[0].size == SMALLER
    assert [v.size for v in judge_family([short] * 2)] == [AS_PRINTED] * 2


@pytest.mark.parametrize("relation", ["better", "not worse"])
@pytest.mark.parametrize("upwards", [True, False])
def test_a_direction_is_found_exactly_if_the_p_value_is_rejected(
    relation: str, upwards: bool
) -> None:
    for low in (-0.03, -0.0112, -0.0099, -0.0021, 0.0012, 0.02):
        for width in (0.001, 0.012, 0.05):
            difference = found(low, low + width)
            (verdict,) = judge_family([Question(relation, upwards, None, difference)])
            assert (verdict.direction != OPEN) == (difference.p_value <= 0.05)
            assert (verdict.direction != OPEN) == (low > 0 or low + width < 0)


def test_no_usable_difference() -> None:
    family = [Question("better", True, 0.1, None), Question("same", True, 0.1, None)]
    verdicts = judge_family(family)
    assert {v.reason for v in verdicts} == {"fewer than 2 common pairs of draw and seed"}
    assert [(v.direction, v.size) for v in verdicts] == [(OPEN, OPEN), (None, OPEN)]
    assert {v.confidence for v in verdicts} == {None}


def diverging(a: int, b: int, runs: int, difference: PairedDifference | None = None) -> Question:
    nan = PairedDifference(
        math.nan, math.nan, runs, runs, num_diverged=a + b, num_above=runs - a, num_below=a
    )
    return Question("better", True, 0.1, difference or nan, "", Divergence(a, b, runs))


def test_a_method_that_diverges_in_more_than_half_of_the_runs_loses() -> None:
    for a, b, direction, reason in (
        (7, 0, REVERSED, "A diverged in 7 of 12 runs"),
        (7, 6, REVERSED, "A diverged in 7 of 12 and B diverged in 6 of 12 runs"),
        (0, 7, HOLDS, "B diverged in 7 of 12 runs"),
        (7, 12, OPEN, "A diverged in 7 of 12 and B diverged in 12 of 12 runs"),
    ):
        (verdict,) = judge_family([diverging(a, b, 12)])
        assert (verdict.direction, verdict.size, verdict.reason) == (direction, OPEN, reason)
        assert verdict.confidence is None
    # It does not count in the correction; and with too few runs nothing is judged.
    tested = Question("better", True, None, found(0.01, 0.2))
    assert judge_family([diverging(7, 0, 12), tested])[1].confidence == 0.95
    few = replace(diverging(2, 0, 3), obstacle="3 draws of the data, 5 are needed")
    assert judge_family([few])[0].direction == OPEN


def test_diverging_in_half_of_the_runs_or_fewer_leaves_a_sign_test() -> None:
    """2 of 12 are worse: p = 2 * 79 / 4096 = 0.039, which holds alone but not among two claims."""
    question = diverging(2, 0, 12)
    (verdict,) = judge_family([question])
    assert (verdict.direction, verdict.size) == (HOLDS, OPEN)
    assert (verdict.confidence, verdict.size_confidence) == (0.95, None)
    assert verdict.reason == (
        "better in 10 and worse in 2 of 12 draws (sign test); A diverged in 2 of 12 runs"
    )
    assert judge_family([question, question])[0].direction == OPEN
    assert judge_family([diverging(6, 0, 12)])[0].direction == OPEN
    # For a loss, above is worse.
    assert judge_family([replace(question, higher_is_better=False)])[0].direction == REVERSED


def test_a_finite_score_of_a_diverged_run_stays_a_number() -> None:
    (verdict,) = judge_family([diverging(2, 0, 10, found(-0.2, -0.1))])
    assert (verdict.direction, verdict.size) == (REVERSED, SMALLER)
    assert verdict.reason.endswith("of the paper's; A diverged in 2 of 10 runs")


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
    """CA-Fed averages over 10 runs."""
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
    # More rounds than the paper's are fine.
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


def test_an_open_verdict_says_median_signs_and_outliers() -> None:
    """Nine of ten draws are .01 to .018 above, draw 9 is .5 below: 2 (1 + 10) / 2^10 = .0215."""
    leads = [0.01 + 0.001 * draw for draw in range(9)] + [-0.5]
    a = {Pair(draw, 0): 0.6 + lead for draw, lead in enumerate(leads)}
    difference = paired_difference(a, dict.fromkeys(a, 0.6))
    verdict = judge_family([Question("better", True, None, difference)])[0]
    assert verdict.direction == OPEN
    assert verdict.reason == (
        "the interval contains 0; median +0.0135, 9 of 10 draws above 0 (sign test p = 0.021), "
        "outliers: draw 9 (-0.5000)"
    )
