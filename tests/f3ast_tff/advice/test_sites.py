"""Advice for sites: times of a log, the page, a trial on a mirrored task, and refusals."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from f3ast_tff.advice.site_quorums import by_quorum
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
