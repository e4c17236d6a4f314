"""Agreement of two runs."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np

from f3ast_tff.analysis.agreement import DISAGREE, main
from tests.analysis.conftest import MakeRun
from tests.commands import Cli


def with_selection(folder: Path, ids: list[list[int]]) -> str:
    np.savez(folder / "selection.npz", selected=np.array(ids))
    return str(folder)


def test_runs_with_close_losses_and_the_same_clients_agree(make_run: MakeRun, cli: Cli) -> None:
    """Losses 1 and 1.00002 differ by 2e-5 relatively, below the limit of 1e-4."""
    first = with_selection(make_run("a", engine="tff"), [[1, 2], [0, -1]])
    second = with_selection(make_run("b", engine="fused", loss=1.00002), [[1, 2], [0, -1]])
    out = cli.said(main(["", first, second])).out
    assert "tff and fused: the same clients" in out and "2.0e-05" in out


def test_other_losses_or_other_clients_disagree(make_run: MakeRun, cli: Cli) -> None:
    first = with_selection(make_run("a"), [[1, 2]])
    other_loss = with_selection(make_run("b", loss=1.01), [[1, 2]])
    other_clients = with_selection(make_run("c"), [[1, 3]])
    assert main(["", first, other_loss]) == DISAGREE
    assert "DIFFERENT clients" in cli.said(main(["", first, other_clients]), DISAGREE).out


def test_what_is_not_finite_in_one_run_alone_disagrees(make_run: MakeRun, cli: Cli) -> None:
    """`nan` in both runs is no difference, nor is `inf` in both."""
    diverged = [with_selection(make_run(name, loss=None), [[1, 2]]) for name in "ab"]
    finite = with_selection(make_run("c"), [[1, 2]])
    infinite = [with_selection(make_run(name, loss=math.inf), [[1, 2]]) for name in "de"]
    for pair in (diverged, infinite):
        assert "at most 0.0e+00" in cli.said(main(["", *pair])).out
    for pair in (
        [diverged[0], finite],
        [finite, diverged[0]],
        [infinite[0], finite],
        [infinite[0], diverged[0]],
    ):
        assert "differ by at most inf relatively" in cli.said(main(["", *pair]), DISAGREE).out
