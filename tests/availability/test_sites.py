"""Sites: calendar, presence, first and last rounds, the race, and faults with their line."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from f3ast_tff.availability.sites import Sites, SitesConfig, read_sites, windows_of
from f3ast_tff.core.errors import ParameterError
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
