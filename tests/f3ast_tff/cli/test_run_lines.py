"""Lines of `f3ast-tff run` without a terminal: how many, and a warning that runs repeat."""

from __future__ import annotations

import logging

import pytest

from f3ast_tff.cli.run import ProgressBar
from f3ast_tff.files.progress import warnings_said


def test_a_line_per_percent_at_most(capsys: pytest.CaptureFixture[str]) -> None:
    bar = ProgressBar("x", 4000)
    bar.start(1)
    for _ in range(400):
        bar.advance(10, {"test_sample_accuracy": 0.5})
    bar.close()
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 100
    assert [lines[i].partition(",")[0] for i in (0, -1)] == [
        "x: round 40/4000",
        "x: round 4000/4000",
    ]


def test_a_warning_of_several_runs_is_said_once(capsys: pytest.CaptureFixture[str]) -> None:
    log = logging.getLogger("f3ast_tff.a")
    with warnings_said():
        for round_number in (3, 5):
            log.warning("round %d: nobody (said once)", round_number, extra={"once": "nobody"})
    assert capsys.readouterr().err == "WARNING: round 3: nobody (said once)\n"
