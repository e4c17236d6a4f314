"""Every verdict names its round or time, as leads shrink with training; leads stand at three."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from f3ast_tff.analysis.compare.leads import over_time, times_of
from f3ast_tff.analysis.compare.methods import said_at
from f3ast_tff.analysis.compare.scored import Kept, Pair
from f3ast_tff.analysis.compare.times import FINAL, LAST_10_PERCENT, SECOND_HALF, Time
from f3ast_tff.analysis.studies.score_tables import Layout, score_tables
from f3ast_tff.analysis.tidy_scores import read_scores

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
