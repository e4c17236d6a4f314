"""Plug-ins that change the folder of the process, or leave a thread behind."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from f3ast_tff.cli.main import main

PLUGIN = """
import atexit
import multiprocessing
import os
import threading
import time
from dataclasses import dataclass

from f3ast_tff.availability import AvailabilityConfig, IndependentAvailability
from f3ast_tff.settings import register

{at_import}

class Wanders(IndependentAvailability):
    def mask(self, round_number):
        {in_a_round}
        return super().mask(round_number)

@register("availability", "wanders", about="wanders")
@dataclass(frozen=True)
class WandersConfig(AvailabilityConfig):
    def build(self, p, seed):
        return Wanders(p / p.max(), seed)
"""
RUN = ["run", "--engine=host", "--plugin=mine.py", "--availability=wanders", "--rounds=2"]


def test_a_relative_folder_stays_where_it_was(cwd: Path) -> None:
    """At import and in each round, of two runs of one command."""
    other = cwd / "other"
    other.mkdir()
    away = f"os.chdir({os.fspath(other)!r})"
    (cwd / "mine.py").write_text(PLUGIN.format(at_import=away, in_a_round=away))
    assert main(["f3ast-tff", *RUN, "--seed=0,1", "--output_dir=runs"]) == 0
    assert len([*(cwd / "runs").glob("*/summary.json")]) == 2
    assert list(other.iterdir()) == [] and Path.cwd() == cwd


@pytest.mark.long
@pytest.mark.parametrize(
    ("begun", "named"),
    [
        ("threading.Thread(target=time.sleep, args=(600,), name='mine').start()", "mine"),
        (
            "multiprocessing.get_context('fork').Process("
            "target=time.sleep, args=(600,), name='mine').start()",
            "mine",
        ),
        ("atexit.register(time.sleep, 600)", "a function of atexit"),
    ],
)
def test_what_never_ends_does_not_hold_the_process(begun: str, named: str, tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(PLUGIN.format(at_import=begun, in_a_round="pass"))
    code = "import sys, f3ast_tff.cli.main as m; m._GRACE_S = 0.2; sys.exit(m.main())"
    done = subprocess.run(
        [sys.executable, "-c", code, *RUN, "--run_name=a"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0 and "a finished: round 2" in done.stdout
    assert f"the process ends without what did not: {named}" in done.stderr
