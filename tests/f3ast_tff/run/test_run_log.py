"""What stands where `run.log` is to be appended to."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from f3ast_tff.cli.main import main


@pytest.mark.parametrize("make", [os.mkfifo, os.mkdir, lambda path: path.symlink_to("/dev/zero")])
def test_what_is_no_file_is_refused_in_one_line(
    make: object, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Opening a pipe that nobody reads would wait for ever."""
    log = tmp_path / "run" / "run.log"
    log.parent.mkdir()
    make(log)  # type: ignore[operator]
    words = ["--rounds=1", "--num_clients=10", "--clients_per_round=2", f"--output_dir={tmp_path}"]
    assert main(["f3ast-tff", "run", *words, "--run_name=run"]) == 2
    assert capsys.readouterr().err == f"error: {log}: it is not a regular file\n"
    assert log.exists()
