"""Progress where there is no terminal."""

from __future__ import annotations

import pytest

from f3ast_tff.command_line.progress import ProgressBar


def test_a_line_per_evaluation(capsys: pytest.CaptureFixture[str]) -> None:
    progress = ProgressBar("run", rounds=20)
    progress.start(1)
    progress.advance(5, None)
    progress.advance(5, {"round": 10, "test_sample_accuracy": 0.12345})
    progress.close()
    out, err = capsys.readouterr()
    assert (out, err) == ("", "run: round 10/20, accuracy 0.1235\n")


def test_a_resumed_run_says_where_from(capsys: pytest.CaptureFixture[str]) -> None:
    progress = ProgressBar("run", rounds=20)
    progress.start(11)
    progress.close()
    assert capsys.readouterr().err == "run: resuming from round 11\n"


def test_closing_before_the_start_is_nothing() -> None:
    ProgressBar("run", rounds=20).close()
