"""Pairs of methods: runs that diverged, means over conditions, leads, and their times."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from f3ast_tff.analysis.compare.judge import BETTER, CLOSE, WORSE, Claim, judge
from f3ast_tff.analysis.compare.leads import over_time, times_of
from f3ast_tff.analysis.compare.methods import said_at
from f3ast_tff.analysis.compare.pairs import (
    Paired,
    best_first,
    lead_over,
    mean_over,
    mean_score,
    paired,
)
from f3ast_tff.analysis.compare.scored import Kept, Pair, RunsError
from f3ast_tff.analysis.compare.times import BEST, FINAL, LAST_10_PERCENT, SECOND_HALF, Time
from f3ast_tff.analysis.studies.score_tables import Layout, score_tables
from f3ast_tff.analysis.tidy_scores import read_scores
from f3ast_tff.core.errors import ParameterError

NAN = math.nan


def runs(*scores: float, loss: float | tuple[float, ...] = 1.0) -> Kept:
    """Runs of draws 0, 1, ... with these final user accuracies and losses, 0.1 and 2 before."""
    losses = loss if isinstance(loss, tuple) else (loss,) * len(scores)
    courses = {
        Pair(draw, draw): {
            "round": np.array([50, 100]),
            "user_accuracy": np.array([0.1, score]),
            "user_loss": np.array([2.0, lost]),
        }
        for draw, (score, lost) in enumerate(zip(scores, losses))
    }
    return Kept({}, courses, {"accuracy": True, "loss": False}, generates_data=True)


def test_a_diverged_accuracy_is_0() -> None:
    """Draw 1 has a finite accuracy, .5, but no finite loss: 0 counts, in both directions."""
    a, b = runs(0.6, 0.5, 0.7, loss=(1.0, NAN, 1.0)), runs(0.5, 0.4, NAN)
    both = paired(a, b, "user_accuracy", 100)
    assert both.a == {Pair(0, 0): 0.6, Pair(1, 1): 0.0, Pair(2, 2): 0.7}
    assert both.b == {Pair(0, 0): 0.5, Pair(1, 1): 0.4, Pair(2, 2): 0.0}
    assert both.divergence.said() == "A diverged in 1 of 3 and B diverged in 1 of 3 runs"
    assert both.mean == pytest.approx((0.1 - 0.4 + 0.7) / 3)
    # Before, at round 50, nothing was lost.
    assert paired(a, b, "user_accuracy", 50).divergence.said() == ""


def test_a_diverged_loss_is_infinitely_bad() -> None:
    """12 draws: two lost leave a sign test, 10 of 12, p = 2 * 79 / 4096; there is no mean."""
    a = runs(*[0.5] * 12, loss=(*[0.9] * 10, NAN, math.inf))
    both = paired(a, runs(*[0.5] * 12), "user_loss", "final")
    assert math.isnan(both.mean)
    (verdict,) = judge([Claim(both)])
    assert verdict.word == BETTER and verdict.p == pytest.approx(2 * 79 / 4096)
    # Seven lost of twelve: it loses, whatever the rest.
    lost = runs(*[0.9] * 12, loss=(*[0.1] * 5, *[NAN] * 7))
    for score in ("user_loss", "user_accuracy"):
        assert judge([Claim(paired(lost, runs(*[0.5] * 12), score, 100))])[0].word == WORSE


def test_means_and_ranks_follow_the_rule() -> None:
    a, b = runs(0.9, NAN), runs(0.5, 0.5)
    assert mean_score(a, "user_accuracy", 100).mean == pytest.approx(0.45)
    assert best_first(b, "user_accuracy", 100) < best_first(a, "user_accuracy", 100)
    lost = runs(0.5, 0.5, loss=(1.0, NAN))
    assert best_first(b, "user_loss", 100) == 1.0
    assert best_first(lost, "user_loss", 100) == math.inf


def test_the_mean_over_conditions_keeps_complete_draws() -> None:
    """Leads .1 and .3 in one condition, .3 and .1 in the other; draw 2 is in one alone."""
    one = paired(runs(0.6, 0.8, 0.9), runs(0.5, 0.5, 0.5), "user_accuracy", 100)
    other = paired(runs(0.8, 0.6), runs(0.5, 0.5), "user_accuracy", 100)
    both = mean_over([one, other])
    assert both.common == [Pair(0, 0), Pair(1, 1)]
    assert [both.a[p] - both.b[p] for p in both.common] == pytest.approx([0.2, 0.2])
    assert both.generates_data


def test_a_lead_over_a_lead_is_better_when_larger() -> None:
    """Of a loss, .9 for 1 is a lead of .1, .7 for 1 of .3: the second is .2 above the first."""
    second, first = (
        paired(runs(0.5, 0.5, loss=low), runs(0.5, 0.5), "user_loss", 100) for low in (0.7, 0.9)
    )
    wider = lead_over(second, first)
    assert wider.mean == pytest.approx(0.2) and wider.higher_is_better


def test_a_time_until_a_score_counts_the_end_if_it_is_not_reached() -> None:
    """.4 is reached at round 100 or not at all, which counts as 100; .1 at once."""
    time = Time(round=100, reach=0.1)
    a, b = runs(0.6, 0.3, NAN), runs(0.05, 0.6, 0.6)
    assert paired(a, b, "user_accuracy", time).a == dict.fromkeys(a.courses, 50.0)
    late = paired(a, b, "user_accuracy", Time(reach=0.4))
    assert late.a == dict.fromkeys(a.courses, 100.0) and not late.higher_is_better
    assert late.divergence.said() == ""
    assert time.name_of("user_accuracy") == "user_rounds_to_0.1_accuracy"


def test_periods_of_kept_runs() -> None:
    a = runs(0.6, 0.05)
    assert a.at("user_accuracy", BEST) == {Pair(0, 0): 0.6, Pair(1, 1): 0.1}
    assert a.at("best_user_accuracy", "final") == a.at("user_accuracy", BEST)
    assert a.at("user_loss", SECOND_HALF) == dict.fromkeys(a.courses, 1.0)
    with pytest.raises(RunsError, match="has no evaluation of round 70"):
        a.at("user_accuracy", 70)
    with pytest.raises(RunsError, match="needs 3 evaluations or more, has 2"):
        a.at("user_accuracy", "change")
    with pytest.raises(ParameterError, match="middle: must be a round or one of final"):
        a.at("user_accuracy", "middle")


def test_equal_methods_are_close() -> None:
    both = Paired({Pair(n, 0): 0.5 for n in range(5)}, {Pair(n, 0): 0.5 for n in range(5)}, True)
    (verdict,) = judge([Claim(both)])
    assert (verdict.word, verdict.low, verdict.high, verdict.p) == (CLOSE, 0.0, 0.0, 1.0)


ROUNDS = np.arange(100, 1001, 100)
STUDIES = Path("analysis/studies")
NAMES_A_TIME = re.compile(r"round \d+|\d s\b|\d rounds")


def runs_with(lead: float) -> Kept:
    """Five draws that end at .5 + `lead`, and are `lead` further per 1000 rounds still to come."""
    clock = {"round": ROUNDS, "simulated_seconds": 0.1 * ROUNDS}
    scores = {"user_accuracy": 0.5 + lead * (2 - ROUNDS / 1000), "user_loss": 1.0 + 0 * ROUNDS}
    return Kept(
        settings={"algorithm": f"lead {lead}"},
        courses={Pair(draw, draw): {**clock, **scores} for draw in range(5)},
        directions={"accuracy": True, "loss": False},
    )


@pytest.mark.parametrize(
    "time",
    [
        Time(),
        Time(round=500),
        Time(seconds=50.0),
        Time(period=LAST_10_PERCENT),
        Time(seconds=50.0, reach=0.6),
    ],
    ids=lambda time: time.said,
)
def test_sentences_name_the_time(time: Time) -> None:
    assert re.search(r"\d", said_at(time, [runs_with(0.1)]))


@pytest.mark.parametrize(
    ("end", "times"),
    [
        (Time(), ["round 200", "round 500", "round 1000"]),
        (Time(round=400), ["round 100", "round 200", "round 400"]),
        (Time(seconds=80.0), ["20 s", "40 s", "80 s"]),
        (Time(period=SECOND_HALF), ["second half"]),
        (Time(reach=0.6), ["until 0.6, up to final"]),
    ],
    ids=lambda value: value.said if isinstance(value, Time) else "",
)
def test_a_lead_stands_at_three_times(end: Time, times: list[str]) -> None:
    """Of equally near rounds the earlier one is taken: 200 for 250."""
    assert [each.said for each in times_of([runs_with(0.1)], end)] == times


def test_a_lead_over_time_is_the_mean_over_conditions() -> None:
    """At round t the leads are (2 - t / 1000) times .1 and .2: on average 1.8, 1.5, 1.0 x .15."""
    base = runs_with(0.0)
    found = over_time([(runs_with(0.1), base), (runs_with(0.2), base)], "user_accuracy", FINAL)
    assert [both.mean for _, both in found] == pytest.approx([0.27, 0.225, 0.15])


def test_tables_of_differences_say_earlier_rounds(tmp_path: Path) -> None:
    rows = [
        {"task": "synthetic", "algorithm": name, "data_seed": draw, "seed": draw, "round": t}
        | dict.fromkeys(("sample_accuracy", "user_accuracy"), 0.5 + lead * (2 - t / 1000))
        | dict.fromkeys(("sample_loss", "user_loss"), 1.0)
        for name, lead in (("fedavg", 0.0), ("f3ast", 0.1))
        for draw in range(5)
        for t in ROUNDS.tolist()
    ]
    path = tmp_path / "scores.csv"
    pd.DataFrame(rows).to_csv(path, index=False)
    layout = Layout(scores=["user_accuracy"], rows=["algorithm"], minus=[("f3ast", "fedavg")])
    lines = score_tables(read_scores(path), layout).splitlines()
    shown = [line.split(" [")[0] for line in lines if "−" in line]
    assert shown == [
        "| F3AST − FedAvg | +0.100",
        "| F3AST − FedAvg, round 200 | +0.180",
        "| F3AST − FedAvg, round 500 | +0.150",
    ]


def tables_with_verdicts() -> Iterator[tuple[str, list[str], list[list[str]]]]:
    """Each table of differences with a verdict: study, headings, rows."""
    for page in sorted(STUDIES.glob("*/page.md")):
        for table in re.findall(r"(?:^\|.*\n)+", page.read_text(), re.MULTILINE):
            lines = [
                [cell.strip() for cell in line.split("|")[1:-1]] for line in table.splitlines()
            ]
            if "difference" in lines[0] and any("verdict" in head for head in lines[0][1:]):
                yield page.parent.name, lines[0], lines[2:]


def test_verdicts_of_kept_pages_name_their_time() -> None:
    found = list(tables_with_verdicts())
    assert len(found) > 10
    for study, heads, rows in found:
        if study == "cafed_fig4b":
            continue  # Its first column says from which round on.
        assert all(NAMES_A_TIME.search(row[heads.index("at")]) for row in rows), study
