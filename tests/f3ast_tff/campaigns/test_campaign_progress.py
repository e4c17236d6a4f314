"""Progress reports of a running campaign."""

from __future__ import annotations

import io
import sys

import pytest

from f3ast_tff.campaigns import progress
from f3ast_tff.campaigns.progress import CampaignProgress
from f3ast_tff.files.progress import duration


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The time in seconds; tests change it."""
    time = [1000.0]
    monkeypatch.setattr(progress.time, "monotonic", lambda: time[0])
    return time


def test_a_line_now_and_then_in_a_log(
    clock: list[float], capsys: pytest.CaptureFixture[str]
) -> None:
    view = CampaignProgress("mine", 4, 400, 100)
    view.show(1, 2, 0, 100)
    for seconds, rounds in ((5, 120), (29, 130), (31, 200), (32, 210)):
        clock[0] = 1000 + seconds
        view.show(1, 2, 0, rounds)
    view.failure("a", "no data")
    clock[0] = 1060
    view.show(3, 0, 1, 300, now=True)
    view.close()
    assert capsys.readouterr().err.splitlines() == [
        "mine: 1 done, 2 running, 0 failed of 4, 25% of the rounds, ETA ?",
        "mine: 1 done, 2 running, 0 failed of 4, 50% of the rounds, ETA 1 min 2 s",
        "mine: a failed: no data",
        "mine: 3 done, 0 running, 1 failed of 4, 75% of the rounds, ETA 30 s",
    ]


def test_one_live_line_on_a_terminal(clock: list[float], monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("tqdm")

    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    view = CampaignProgress("mine", 4, 400, 0)
    clock[0] += 10
    view.show(1, 2, 0, 100)
    view.failure("a", "no data")
    view.close()
    text = terminal.getvalue()
    assert "mine: 1 done, 2 running, 0 failed of 4 |" in text
    assert "25%, ETA 30 s" in text
    assert "mine: a failed: no data\n" in text


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0.4, "0 s"), (59.6, "1 min 0 s"), (3599, "59 min 59 s"), (12000, "3 h 20 min")],
)
def test_durations(seconds: float, text: str) -> None:
    assert duration(seconds) == text
