"""A part of a campaign by the settings of its runs."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from f3ast_tff.campaigns.grid import plan
from f3ast_tff.errors import ParameterError

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
    ],
)
def test_runs_that_meet_all_conditions(
    write_grid: WriteGrid, where: str, expected: list[str]
) -> None:
    """In the order of their value; they are the same runs as in the whole campaign.

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
        ("algorithm=poc", "where = algorithm=poc: none of the campaign's 16 runs has these"),
        ("draw=first", "where = draw=first: none of the campaign's 16 runs has these"),
    ],
)
def test_conditions_that_are_none(write_grid: WriteGrid, where: str, message: str) -> None:
    with pytest.raises(ParameterError) as error:
        plan(write_grid(GRID), {}, where=where)
    assert str(error.value) == message
