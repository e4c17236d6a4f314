"""Progress without a terminal."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from f3ast_tff.cli.run import ProgressBar


def test_a_line_per_evaluation(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """4 s pass until round 5 (with compiling), 5 s until round 10: 0.2 s per round."""
    clock = SimpleNamespace(monotonic=iter([0.0, 4.0, 5.0]).__next__)
    monkeypatch.setattr("f3ast_tff.cli.run.time", clock)
    progress = ProgressBar("run", rounds=20)
    progress.start(1)
    progress.advance(5, None)
    progress.advance(5, {"round": 10, "test_sample_accuracy": 0.12345})
    progress.close()
    out, err = capsys.readouterr()
    line = "run: round 10/20, 0.2 s per round, ETA 2 s, accuracy 0.1235\n"
    assert (out, err) == ("", line)


def test_slow_rounds_are_told_before_they_are_evaluated(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = SimpleNamespace(monotonic=iter([0.0, 40.0, 60.0]).__next__)
    monkeypatch.setattr("f3ast_tff.cli.run.time", clock)
    progress = ProgressBar("run", rounds=10)
    progress.start(1)
    for _ in range(2):
        progress.advance(1, None)
    assert capsys.readouterr().err == "run: round 1/10, 40 s per round, ETA 6 min 0 s\n"


def test_a_resumed_run_says_where_from(capsys: pytest.CaptureFixture[str]) -> None:
    progress = ProgressBar("run", rounds=20)
    progress.start(11)
    progress.close()
    assert capsys.readouterr().err == "run: resuming from round 11\n"


def test_closing_before_the_start_is_nothing() -> None:
    ProgressBar("run", rounds=20).close()
