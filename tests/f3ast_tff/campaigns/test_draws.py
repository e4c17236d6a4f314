"""Draws of a grid: `draw`, and the seeds that it stands for."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from f3ast_tff.campaigns.grid import plan

WriteGrid = Callable[..., Path]


def test_a_draw_sets_both_seeds(write_grid: WriteGrid) -> None:
    text = '[settings]\nrounds = 3\n[grid]\nalgorithm = ["fedavg", "f3ast"]\ndraw = "2-3"'
    runs = {run.name: run.settings for run in plan(write_grid(text), {}).runs}
    assert list(runs) == ["fedavg-draw2", "fedavg-draw3", "f3ast-draw2", "f3ast-draw3"]
    assert {(s["data_seed"], s["seed"]) for s in runs.values()} == {(2, 2), (3, 3)}
    others = plan(write_grid(text), {"algorithm": "fedavg", "draw": 7}).runs
    assert [(r.name, r.settings["data_seed"]) for r in others] == [("fedavg-draw7", 7)]
    more = plan(write_grid("[settings]\nrounds = 3"), {"draw": [4, 5]}).runs
    assert [(r.name, r.settings["seed"]) for r in more] == [("draw4", 4), ("draw5", 5)]


@pytest.mark.parametrize(
    ("grid", "given", "pairs"),
    [
        ('draw = "2-3"', {"seed": [0, 1]}, [(2, 0), (2, 1), (3, 0), (3, 1)]),
        ('draw = "2-3"', {"data_seed": 5}, [(5, 2), (5, 3)]),
        ('draw = "2-3"', {"data_seed": 5, "seed": 6}, [(5, 6)]),
        ('data_seed = [7, 8]\nseed = "0-1"', {"draw": [3, 4]}, [(3, 3), (4, 4)]),
    ],
)
def test_a_given_seed_or_draw_replaces_its_part(
    grid: str, given: dict[str, Any], pairs: list[tuple[int, int]], write_grid: WriteGrid
) -> None:
    """Pairs are of data seed and seed."""
    found = plan(write_grid(f"[settings]\nrounds = 3\n[grid]\n{grid}"), given).runs
    assert [(run.settings["data_seed"], run.settings["seed"]) for run in found] == pairs


def test_variants_may_have_draws_of_their_own(write_grid: WriteGrid) -> None:
    """A range is an axis in a variant too, named although the variant has a label."""
    path = write_grid(
        """
        [[variants]]
        name = "first"
        algorithm = "fedavg"
        draw = "0-1"

        [[variants]]
        name = "second"
        algorithm = "f3ast"
        draw = "0-2"
        """
    )
    names = ["first-draw0", "first-draw1", "second-draw0", "second-draw1", "second-draw2"]
    assert [run.name for run in plan(path, {}).runs] == names
    later = [run.name for run in plan(path, {"draw": 2}).runs]
    assert later == ["first-draw2", "second-draw2"]
