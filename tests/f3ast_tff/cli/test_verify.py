"""`f3ast-tff verify`: runs and folders of runs, exit codes, and what is refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from f3ast_tff import simulate
from f3ast_tff.cli.main import main
from tests.commands import Cli
from tests.f3ast_tff.run.test_verify import SMALL, with_other_loss


@pytest.fixture
def runs(tmp_path: Path) -> Path:
    for name in "abc":
        simulate(algorithm="fedavg", seed=ord(name), folder=tmp_path / "runs" / name, **SMALL)
    return tmp_path / "runs"


@pytest.mark.long
def test_exit_codes(runs: Path, cli: Cli) -> None:
    lines = cli.out("verify", runs).splitlines()
    assert lines == [f"{runs / name}: equal, rounds 1 to 6" for name in "abc"]
    (runs / "a" / "metrics.csv").unlink()
    printed = cli.said(main(["f3ast-tff", "verify", str(runs)]), 2).out
    assert "a: cannot be played again, " in printed
    with_other_loss(runs / "c", 4)
    printed = cli.said(main(["f3ast-tff", "verify", str(runs)]), 1).out
    assert "c: differs, from round 4 on: test_user_loss" in printed
    assert main(["f3ast-tff", "verify", str(runs / "c"), "--rounds=-3"]) == 0


@pytest.mark.long
def test_a_sample_is_drawn_by_its_seed(runs: Path, cli: Cli) -> None:
    played = []
    for seed in (0, 0, 1):
        first, run = cli.out("verify", runs, "--sample=1", f"--seed={seed}").splitlines()
        assert first == f"1 of 3 runs (seed {seed})"
        played.append(run)
    assert played[0] == played[1] != played[2]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["none"], "none is not a folder"),
        ([], "a folder of runs (or --runs) must be given"),
        ([".", "--rounds=x"], "--rounds=x: must be a range such as 1-100, 900- or -100"),
        ([".", "--rounds=9-3"], "--rounds=9-3: must rise, from round 1 on"),
        ([".", "--rounds=0-3"], "--rounds=0-3: must rise, from round 1 on"),
        ([".", "--sample=0"], "--sample=0: must be at least 1"),
        (["."], "no run in ."),
    ],
)
def test_refused_in_a_line(words: list[str], said: str, cwd: Path, cli: Cli) -> None:
    printed = cli.said(main(["f3ast-tff", "verify", *words]), 2)
    assert said in printed.err and printed.err.count("\n") == 1 and not printed.out
