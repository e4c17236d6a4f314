"""A part of a campaign, selected by the settings of its runs."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from f3ast_tff.campaigns.grid import plan
from f3ast_tff.core.errors import ParameterError

WriteGrid = Callable[..., Path]
GRID = """
[grid]
draw = "0-1"
availability = ["always", "scarce"]

[[variants]]
name = "sgd"
algorithm = ["fedavg", "f3ast"]
server_lr = 0.5

[[variants]]
name = "adam"
algorithm = ["fedadam", "f3ast_adam"]
server_lr = 0.1

[[value]]
draw = 1
"""


@pytest.mark.parametrize(
    ("where", "expected"),
    [
        (
            "algorithm=f3ast,availability=scarce",
            ["sgd-f3ast-draw1-scarce", "sgd-f3ast-draw0-scarce"],
        ),
        (
            "algorithm=fedadam,algorithm=fedavg,draw=0,availability=always",
            ["sgd-fedavg-draw0-always", "adam-fedadam-draw0-always"],
        ),
        (
            "server_lr=0.10,rate_beta=1e-3,seed=1",
            ["adam-f3ast_adam-draw1-always", "adam-f3ast_adam-draw1-scarce"],
        ),
        ("algorithm=FedAvg,availability=Always,draw=0", ["sgd-fedavg-draw0-always"]),
    ],
)
def test_runs_that_meet_all_conditions(
    write_grid: WriteGrid, where: str, expected: list[str]
) -> None:
    """The runs follow the order of their `[[value]]`, and equal those of the whole campaign.

    FedAvg has no rates, and so meets no condition on their step.
    """
    whole = plan(write_grid(GRID), {}).runs
    part = plan(write_grid(GRID), {}, where=where).runs
    assert [run.name for run in part] == expected
    assert all(run in whole for run in part)


@pytest.mark.parametrize(
    ("where", "message"),
    [
        ("algorithm", "where = algorithm: must be SETTING=VALUE"),
        ("draw=0,", "where = : must be SETTING=VALUE"),
        ("colour=red", "where = colour=red: there is no setting colour"),
        (
            "algorithm=poc",
            "where = algorithm=poc: none of the campaign's 16 runs has it; must be one of fedavg, "
            "f3ast, fedadam, f3ast_adam",
        ),
        (
            "algorithm=fedavg,algorithm=f3sat",
            "where = algorithm=f3sat: none of the campaign's 16 runs has it; must be one of "
            "fedavg, f3ast, fedadam, f3ast_adam",
        ),
        (
            "draw=first",
            "where = draw=first: none of the campaign's 16 runs has it; must be one of 1, 0",
        ),
        (
            "draw=0-2,draw=1",
            "where = draw=0-2: none of the campaign's 16 runs has it; must be one of 1, 0",
        ),
        (
            "algorithm=fedavg,f3ast",
            "where = algorithm=fedavg,f3ast: none of the campaign's 16 runs has it; must be one of "
            "fedavg, f3ast, fedadam, f3ast_adam",
        ),
        ("poc_candidates=20", "where = poc_candidates=20: none of the campaign's 16 runs has it"),
        (
            "algorithm=fedavg,server_lr=0.1",
            "where = algorithm=fedavg,server_lr=0.1: none of the campaign's 16 runs has these",
        ),
    ],
)
def test_conditions_that_are_none(write_grid: WriteGrid, where: str, message: str) -> None:
    with pytest.raises(ParameterError) as error:
        plan(write_grid(GRID), {}, where=where)
    assert str(error.value) == message


@pytest.mark.parametrize("value", ["cycle:5,10", "steps:1=10,100=5", "Cycle:5,10"])
def test_a_value_with_commas(write_grid: WriteGrid, value: str) -> None:
    grid = write_grid('[grid]\nconstraint = ["cycle:5,10", "steps:1=10,100=5"]\nseed = "0-1"')
    runs = plan(grid, {}, where=f"constraint={value},seed=1").runs
    assert [(run.settings["constraint"], run.settings["seed"]) for run in runs] == [
        (value.lower(), 1)
    ]


def test_a_draw_is_both_seeds(write_grid: WriteGrid) -> None:
    """Like the axis; with separate axes, the runs in which both are this number."""
    grid = write_grid("""
        [grid]
        data_seed = "0-1"
        seed = "0-2"

        [[value]]
        draw = 1
    """)
    runs = plan(grid, {}).runs
    assert [run.name for run in runs][:2] == ["data_seed1-seed1", "data_seed0-seed0"]
    (run,) = plan(grid, {}, where="draw=1").runs
    assert (run.settings["data_seed"], run.settings["seed"]) == (1, 1)
    with pytest.raises(ParameterError, match="draw=2: none of the campaign's 6 runs has it"):
        plan(grid, {}, where="draw=2")
