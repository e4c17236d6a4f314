"""Sites: calendar, presence, the race; logs of sites; faults with their line."""

from __future__ import annotations

import logging
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from f3ast_tff.availability.logs.site_logs import is_site_log, read_site_log
from f3ast_tff.availability.sites import Sites, SitesConfig, read_sites, windows_of
from f3ast_tff.core.errors import DataError, ParameterError
from f3ast_tff.settings.resolve import resolve


def config(folder: Path, text: str, **given: Any) -> SitesConfig:
    path = folder / "sites.csv"
    path.write_text(text)
    return SitesConfig(site_file=str(path), **given)


def masks(process: Sites, rounds: int) -> np.ndarray:
    return np.array([process.mask(t) for t in range(1, rounds + 1)])


def built(config: SitesConfig, n: int, seed: int = 0) -> Sites:
    return config.build(np.full(n, 1 / n), seed)


def test_windows_by_hand(tmp_path: Path) -> None:
    """Rounds of an hour from Sunday 22:00: the window is rounds 2 to 4, a week later 170 to 172.

    The nightly window begins at 0:30, so that the round of 1:00, round 4, falls into it.
    """
    text = "site,down\nA,Sun 23-02\nB,nightly 00:30-01:30\nC,\n"
    process = built(config(tmp_path, text, site_start="Sun 22:00"), 3)
    away = ~masks(process, 180)
    assert (np.flatnonzero(away[:, 0]) + 1).tolist() == [2, 3, 4, 170, 171, 172]
    assert (np.flatnonzero(away[:, 1]) + 1).tolist() == list(range(4, 181, 24))
    assert not away[:, 2].any()
    assert process.stationary is None and process.periodic


def test_first_and_last_rounds(tmp_path: Path) -> None:
    process = built(config(tmp_path, "site,joins,leaves\nA,3,\nB,,4\nC,2,5\n"), 3)
    found = masks(process, 5).astype(int).T.tolist()
    assert found == [[0, 0, 1, 1, 1], [1, 1, 1, 0, 0], [0, 1, 1, 1, 0]]
    assert process.stationary is not None and process.stationary.tolist() == [1, 0, 0]


@pytest.mark.long
def test_presence_and_length_of_outages(tmp_path: Path) -> None:
    """Both sites are there 90% of the time; outages last 1 / .9 rounds, or 1 / (1 - e^-.1).

    An exponential outage of mean 10 hours goes on for another hour with probability e^(-.1). A new
    one may begin within the hour, so that the mean is a little above; 20,000 rounds.
    """
    text = "site,presence,down_hours\nA,0.9,\nB,0.9,10\n"
    found = masks(built(config(tmp_path, text), 2), 20_000)
    np.testing.assert_allclose(found.mean(axis=0), 0.9, atol=0.02)
    begins = np.count_nonzero(found[:-1] & ~found[1:], axis=0)
    lengths = np.count_nonzero(~found, axis=0) / begins
    assert abs(lengths[0] - 1 / 0.9) < 0.03
    assert abs(lengths[1] - 1 / (1 - np.exp(-0.1))) < 1
    together = np.mean(~found[:, 0] & ~found[:, 1])
    assert together == pytest.approx(0.01, abs=0.005)


def test_rows_are_found_by_name(tmp_path: Path) -> None:
    text = "site,seconds_per_example,kbps\nB,2,20\nA,1,10\nC,3,30\n"
    named = config(tmp_path, text).for_clients(["A", "B"])
    seconds, kbps = built(named, 2).speeds
    assert seconds is not None and kbps is not None
    assert (seconds.tolist(), kbps.tolist()) == ([1, 2], [10, 20])
    with pytest.raises(ParameterError, match="has no row for D; it has B, A, C"):
        built(config(tmp_path, text).for_clients(["A", "D"]), 2)
    with pytest.raises(ParameterError, match="has 3 sites, must have one for each of 2 clients"):
        built(config(tmp_path, text), 2)


def test_the_race_drops_the_late_for_the_whole_run(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Without spread the medians decide: 1, 2, 9 s; a quorum of 1 and 5 s more; D joins later."""
    text = "site,configure_seconds,joins\nA,1,\nB,2,\nC,9,\nD,20,3\n"
    given = {"site_race_quorum": 1, "site_race_wait": 5.0, "site_race_spread": 0.0}
    with caplog.at_level(logging.WARNING):
        process = built(config(tmp_path, text, **given), 4)
    assert masks(process, 3).astype(int).tolist() == [[1, 1, 0, 0], [1, 1, 0, 0], [1, 1, 0, 1]]
    assert "dropped at configuration, for the whole run: C" in caplog.text


@pytest.mark.parametrize("text", ["Sun", "Sun 2", "Foo 02-06", "Sun 02-02", "Sun 25-26", "02-06"])
def test_a_window_that_is_none(text: str) -> None:
    with pytest.raises(ValueError, match=r"must be days and hours|begins when|no time of a day"):
        windows_of(text)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "has no column site"),
        ("site\n", "has no site"),
        ("site,presense\nA,1\n", "has a column presense: its columns must be among site, down"),
        ("site,presence\nA,1.2\n", "line 2: site A: presence 1.2 must be above 0 and at most 1"),
        ("site,joins\nA,1\nB,0\n", "line 3: site B: joins 0 must be at least 1"),
        ("site,kbps\nA,x\n", "line 2: site A: kbps x must be above 0"),
        ("site,kbps\nA,1\nB,\n", "site B has no kbps"),
        ("site\nA\nA\n", "line 3: site A is in line 2 too"),
        ("site;joins\nA;1\nSumme:;\n", "line 3 is called Summe:: leave out sums of other rows"),
        ("site,joins\n,1\n", "line 2: the site has no name"),
        ("site,down\nA,Sun\n", "line 2: site A: 'Sun' must be days and hours"),
    ],
)
def test_a_fault_is_refused_with_its_line(tmp_path: Path, text: str, message: str) -> None:
    path = config(tmp_path, text).site_file
    with pytest.raises(ParameterError, match=message) as refused:
        resolve({"availability": "sites", "site_file": path})
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("site_start", "08:00", "must be a day and a time"),
        ("site_start", "daily 08:00", "must be a day and a time"),
        ("site_race_quorum", 3, "must be at most 2"),
        ("site_race_wait", 1.0, "needs site_race_quorum"),
    ],
)
def test_a_setting_is_refused(tmp_path: Path, name: str, value: Any, message: str) -> None:
    path = config(tmp_path, "site\nA\nB\n").site_file
    with pytest.raises(ParameterError, match=message):
        resolve({"availability": "sites", "site_file": path, name: value})


def test_decimal_commas_and_latin_1(tmp_path: Path) -> None:
    path = tmp_path / "sites.csv"
    path.write_text("site;presence\nKöln;0,5\nB;1\n", encoding="latin-1")
    found = read_sites(str(path))
    assert found.names == ("Köln", "B") and found.numbers["presence"].tolist() == [0.5, 1]


# In the form of NVFlare's server log: site-1 takes 30 s and 40 s, site-2 60 s and then fails.
NVFLARE = """\
\x1b[32m2024-05-01 10:00:00,500 - ScatterAndGather - INFO - [wf=scatter_and_gather] - Round 0 started.\x1b[0m
2024-05-01 10:00:01,500 - ServerRunner - INFO - [wf=s, peer=site-1, peer_run=1] - assigned task to client: name=train, id=a
2024-05-01 10:00:02,500 - ServerRunner - INFO - [wf=s, peer=site-2, peer_run=1] - assigned task to client: name=train, id=a
2024-05-01 10:00:31,500 - ServerRunner - INFO - [peer=site-1, peer_rc=OK] - got result from client site-1 for task: name=train, id=a
2024-05-01 10:01:02,500 - ServerRunner - INFO - [peer=site-2, peer_rc=OK] - got result from client site-2 for task: name=train, id=a
2024-05-01 10:01:03,500 - ServerRunner - INFO - [peer=site-1, peer_rc=OK] - got result from client site-1 for task: name=validate, id=b
2024-05-01 10:02:00,000 - ScatterAndGather - INFO - [wf=scatter_and_gather] - Round 1 started.
2024-05-01 10:02:00,000 - ServerRunner - INFO - [peer=site-1] - assigned task to client: name=train, id=c
2024-05-01 10:02:00,000 - ServerRunner - INFO - [peer=site-2] - assigned task to client: name=train, id=c
2024-05-01 10:02:40,000 - ServerRunner - INFO - [peer=site-1, peer_rc=OK] - got result from client site-1 for task: name=train, id=c
2024-05-01 10:02:50,000 - ServerRunner - INFO - [peer=site-2, peer_rc=EXECUTION_EXCEPTION] - got result from client site-2 for task: name=train, id=c
"""  # noqa: E501
FLOWER = "INFO :      [ROUND 1]\nINFO :      configure_fit: strategy sampled 3 clients (out of 3)\n"
TABLE = """site,round,start,end,ok
A,1,2024-05-01T10:00:00,2024-05-01T10:01:00,1
B,1,2024-05-01T10:00:00,,0
A,2,0,90,yes
"""


def log_in(folder: Path, text: str) -> Path:
    path = folder / "log.csv"
    path.write_text(text)
    return path


def test_a_log_in_a_table(tmp_path: Path) -> None:
    """B did not reply in round 1, and was not asked in round 2."""
    path = log_in(tmp_path, TABLE)
    found = read_site_log(path)
    assert is_site_log(path)
    assert found.sites == ("A", "B")
    np.testing.assert_array_equal(found.seconds, [[60, np.inf], [90, np.nan]])
    assert found.presence.tolist() == [1, 0]


def test_nvflare(tmp_path: Path) -> None:
    path = log_in(tmp_path, NVFLARE)
    found = read_site_log(path)
    assert is_site_log(path)
    assert found.sites == ("site-1", "site-2")
    np.testing.assert_allclose(found.seconds, [[30, 60], [40, np.inf]])


def test_other_logs_are_none_of_sites(tmp_path: Path) -> None:
    assert not is_site_log(log_in(tmp_path, "device,start,end\na,1,2\n"))
    assert not is_site_log(tmp_path / "none.csv")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (FLOWER, "Flower's log names no site; a link to its nodes"),
        ("site,round,start,end\n", "no site was asked"),
        ("site,round,start,end\nA,x,0,1\n", "line 2: must have a site, and a round"),
        ("site,round,start,end\nA,1,0,1\nA,1,0,1\n", "line 3: site A is in round 1 twice"),
        ("site,round,start,end\nA,1,5,1\n", "line 2: site A ends before it starts"),
        ("site,round,start,end\nA,1,noon,1\n", "line 2: 'noon' is no time"),
        ("site,round,start,end,ok\nA,1,0,1,maybe\n", "line 2: ok is 'maybe'"),
        ("site,round,start,end\nA,1,0\n", "line 2 has 3 values"),
    ],
)
def test_a_fault_of_a_log_is_refused_in_one_line(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(DataError, match=message) as refused:
        read_site_log(log_in(tmp_path, text))
    assert "\n" not in str(refused.value)


def test_logs_of_any_size_end_soon(tmp_path: Path) -> None:
    """A line of a megabyte takes a second; a quadratic search took minutes."""
    line = "assigned task to client [peer=a] " * 30_000
    log_in(tmp_path, NVFLARE + f"2024-05-01 10:03:00,000 {line}\n")
    began = time.process_time()
    assert read_site_log(tmp_path / "log.csv").sites == ("site-1", "site-2")
    assert time.process_time() - began < 20
    rows = "".join(f"s{k},{k},0,1\n" for k in range(5000))
    with pytest.raises(DataError, match="has 5000 rounds of 5000 sites, together more than"):
        read_site_log(log_in(tmp_path, f"site,round,start,end\n{rows}"))
