"""The Slurm array of `f3ast-tff example slurm.sh`, its jobs run as processes."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from f3ast_tff.analysis.run_groups import collect

ROOT = Path(__file__).resolve().parents[2]
JOBS = 2


@pytest.mark.long
def test_its_jobs_run_at_once_in_one_folder(tmp_path: Path) -> None:
    """Two draws of six settings: 12 runs in 2 jobs, and then one report of them all."""
    for name in ("slurm.sh", "mine.toml"):
        shutil.copy(ROOT / "examples" / name, tmp_path)
    command = tmp_path / "bin/f3ast-tff"
    command.parent.mkdir()
    command.write_text(f'#!/bin/sh\nexec {sys.executable} -m f3ast_tff "$@"\n')
    command.chmod(0o755)
    common = {
        **os.environ,
        "PATH": f"{command.parent}:{os.environ['PATH']}",
        "PYTHONPATH": str(ROOT),
        "SLURM_ARRAY_TASK_COUNT": str(JOBS),
        "SLURM_CPUS_PER_TASK": "1",
    }
    short = ["--draw=0-1", "--rounds=2", "--engine=host"]
    jobs = [
        subprocess.Popen(
            ["bash", "slurm.sh", *short],
            cwd=tmp_path,
            env={**common, "SLURM_ARRAY_TASK_ID": str(number)},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        for number in range(1, JOBS + 1)
    ]
    said = [job.communicate(timeout=300)[0] for job in jobs]
    assert [job.returncode for job in jobs] == [0] * JOBS, said
    for number, text in enumerate(said, start=1):
        assert f"runs/mine, shard {number}/2: 6 of 6 runs finished (0 of them before)" in text
    assert collect(tmp_path / "runs/mine").num_finished == 12
