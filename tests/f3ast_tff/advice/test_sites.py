"""Advice for sites: weights by quorum in closed form, times of a log, the page, a trial."""

from __future__ import annotations

import math
from pathlib import Path
from statistics import NormalDist

import numpy as np
import pandas as pd
import pytest

from f3ast_tff.advice.site_quorums import SiteTimes, by_quorum
from f3ast_tff.advice.sites import Replies, page, times_of, tried_quorums
from f3ast_tff.availability.logs.site_logs import SiteLog
from f3ast_tff.cli.main import main
from f3ast_tff.core.errors import DataError
from f3ast_tff.datasets.label_counts import SiteCounts

COUNTS = SiteCounts(("C", "B", "A"), ("0", "1"), np.array([[10, 0], [20, 10], [10, 50]]))
LOG = SiteLog(
    ("A", "B", "C"), np.array([[600.0, 60, 10], [900, 60, math.inf], [600, 60, 10]]), "a table"
)


def test_times_of_a_log() -> None:
    """Medians, presence, and examples by name; B never varies."""
    found = times_of(LOG, COUNTS)
    np.testing.assert_allclose(found.seconds, [600, 60, 10])
    np.testing.assert_allclose(found.presence, [1, 1, 2 / 3])
    assert found.examples.tolist() == [60, 30, 10]
    assert found.spread[1] == 0 and found.spread[0] > 0


def test_the_page_names_who_is_left_out() -> None:
    sites = times_of(LOG, COUNTS)
    text = "\n".join(page(sites, COUNTS, by_quorum(sites)))
    assert "quorum 2 leaves out most of the time: A; 60% of the data" in text
    assert "quorum 1 leaves out most of the time: A, B; 90% of the data" in text
    assert "Share of each class in FedAvg's model" in text


def test_replies_by_hand() -> None:
    sites = times_of(SiteLog(("A", "B", "C"), np.array([[600.0, 60, 10]] * 2), ""), None)
    found = Replies(sites, quorum=2, seed=0).arrivals(1, np.array([2, 0, 1]))
    assert found.delivered.tolist() == [True, False, True]
    assert found.round_seconds == pytest.approx(60)
    assert Replies(sites, quorum=3, seed=0).arrivals(1, np.array([2, 0])).failed


@pytest.mark.parametrize(("number", "quorums"), [(3, [2, 3]), (8, [4, 5, 7, 8])])
def test_quorums_of_a_trial(number: int, quorums: list[int]) -> None:
    assert tried_quorums(number) == quorums


@pytest.mark.parametrize(
    ("seconds", "message"),
    [(np.ones((2, 2)), "2 sites: must be 3 to 50"), (np.full((1, 3), np.inf), "never replied")],
)
def test_a_log_that_is_refused(seconds: np.ndarray, message: str) -> None:
    log = SiteLog(tuple("ABC"[: seconds.shape[1]]), seconds, "")
    with pytest.raises(DataError, match=message):
        times_of(log, None)


def test_the_command_with_a_trial(cwd: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = [f"{s},{t},0,{m}\n" for t in range(4) for s, m in (("A", 600), ("B", 60), ("C", 9 + t))]
    Path("log.csv").write_text("site,round,start,end\n" + "".join(rows))
    Path("sites.csv").write_text("site,0,1\nA,60,20\nB,20,10\nC,10,10\n")
    labels = np.arange(300) % 2
    pd.DataFrame({"x": labels + 0.1, "label": labels}).to_csv("mine.csv", index=False)
    given = ["--label_counts=sites.csv", "--task=file", "--data_file=mine.csv", "--rounds=3"]
    assert main(["f3ast-tff", "advise", "log.csv", *given, "--draws=2"]) == 0
    said = capsys.readouterr().out
    assert "read as a table of sites, 3 sites, 4 rounds" in said
    assert "worst site  minus FedAvg that waits for all" in said
    assert Path("advice/page.txt").read_text() in said + "\n"


def sites_of(
    seconds: list[float], spread: float, presence: float, examples: list[int]
) -> SiteTimes:
    ones = np.ones(len(seconds))
    names = tuple("ABCDEFGH"[: len(seconds)])
    times = np.array(seconds)
    return SiteTimes(names, times, spread * ones, presence * ones, np.array(examples, float))


@pytest.mark.parametrize(("ratio", "spread"), [(1.0, 0.3), (2.0, 0.5), (3.0, 1.0)])
def test_the_faster_of_two(ratio: float, spread: float) -> None:
    """log (B / A) is N(log ratio, 2 sigma^2): A is first with Phi(log ratio / (sigma 2^.5))."""
    (found,) = by_quorum(sites_of([1.0, ratio], spread, 1.0, [1, 5]), [1])
    expected = NormalDist().cdf(np.log(ratio) / (spread * 2**0.5))
    assert found.weight[0] == pytest.approx(expected, abs=0.015)
    assert found.arrives.sum() == pytest.approx(1)


def test_equal_sites_have_the_quorum_over_all() -> None:
    """By symmetry each of 8 is among the first 5 in 5/8 of the rounds, with weight 1/8."""
    (found,) = by_quorum(sites_of([9.0] * 8, 0.4, 1.0, [100] * 8), [5])
    np.testing.assert_allclose(found.arrives, 5 / 8, atol=0.015)
    np.testing.assert_allclose(found.weight, 1 / 8, atol=0.01)


def test_all_sites_and_failed_rounds() -> None:
    """Without noise: 8 s a round, weights by size; at 90% all four are there in .6561 of rounds.

    A failed round waits for the last that is there: 8 s unless D is away.
    """
    small = sites_of([1.0, 2.0, 4.0, 8.0], 0.0, 0.9, [10, 20, 30, 40])
    *_, found = by_quorum(small)
    assert found.succeeds == pytest.approx(0.9**4, abs=0.015)
    np.testing.assert_allclose(found.weight, [0.1, 0.2, 0.3, 0.4])
    away = 0.1 * (0.9 * 4 + 0.1 * 0.9 * 2 + 0.01 * 0.9)
    failed = 8 * (0.9 - 0.9**4) + away
    assert found.seconds == pytest.approx(8 + failed / 0.9**4, rel=0.02)
    assert not found.left_out.any()


def test_the_slowest_is_left_out() -> None:
    found = by_quorum(sites_of([1.0, 2.0, 4.0, 8.0], 0.1, 1.0, [1] * 4), [3])[0]
    assert found.left_out.tolist() == [False, False, False, True]
