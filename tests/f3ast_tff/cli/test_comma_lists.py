"""Comma lists on a command line."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from f3ast_tff.campaigns.grid import plan
from f3ast_tff.cli import run as module
from f3ast_tff.cli.flags import parse
from f3ast_tff.core.errors import ParameterError
from f3ast_tff.files.signals import Signals
from f3ast_tff.settings.configuration import Configuration
from f3ast_tff.settings.registry import builtin_registry
from tests.commands import Cli


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    """Settings of the started runs; runs with seed 2 fail."""
    found: list[dict[str, Any]] = []

    def run(configuration: Configuration, names: Any, signals: Signals, said: set[str]) -> int:
        found.append(dict(configuration.settings))
        return 2 * (configuration.settings["seed"] == 2)

    monkeypatch.setattr(module, "_run", run)
    return found


def test_numbers_components_and_choices_take_lists() -> None:
    words = ["--algorithm=f3ast,poc", "--client_lr", "0.1,0.2", "--last_batch=keep,drop"]
    given = parse([*words, "--constraint=cycle:5,10", "--logger=csv,tensorboard"]).settings
    assert given == {
        "algorithm": ["f3ast", "poc"],
        "client_lr": [0.1, 0.2],
        "last_batch": ["keep", "drop"],
        "constraint": "cycle:5,10",
        "logger": "csv,tensorboard",
    }


def test_integers_take_ranges() -> None:
    words = ["--seed=0-2,7", "--rounds", "5-6", "--run_name=1-2", "--campaign=fig2", "--draw=3-4"]
    parsed = parse(words)
    ranges = {"seed": [0, 1, 2, 7], "rounds": [5, 6], "draw": [3, 4]}
    assert parsed.settings == {**ranges, "run_name": "1-2"}
    assert parse(["--draw=3"]).settings == {"draw": 3}


@pytest.mark.parametrize("single", [["--seed=7"], ["--seed", "7"], ["-seed=7"]])
@pytest.mark.parametrize("several", [["--seed=0,1"], ["--seed", "0,1"]])
def test_what_is_said_later_holds(single: list[str], several: list[str], tmp_path: Path) -> None:
    assert parse([*several, *single]).settings == {"seed": 7}
    assert parse([*single, *several]).settings == {"seed": [0, 1]}
    assert parse([*several, *single, "--seed=3,4"]).settings == {"seed": [3, 4]}
    flagfile = tmp_path / "study.flags"
    flagfile.write_text("--seed=0,1,2\n--rounds=5\n")
    given = parse([f"--flagfile={flagfile}", *single]).settings
    assert given == {"seed": 7, "rounds": 5}


def test_a_value_of_its_own_is_no_flag() -> None:
    """The word after a flag is its value, as for absl."""
    assert parse(["--seed=0,1", "--run_name", "--seed=7"]).settings == {
        "seed": [0, 1],
        "run_name": "--seed=7",
    }


@pytest.mark.parametrize(
    ("word", "says"),
    [
        ("--seed=1,1", "twice"),
        ("--seed=0-2,1", "twice"),
        ("--seed=1,", "empty"),
        ("--seed=9-0", "be a range"),
    ],
)
def test_lists_name_each_value_once(word: str, says: str) -> None:
    with pytest.raises(ParameterError, match=says):
        parse([word])


def test_every_combination_is_a_run(started: list[dict[str, Any]]) -> None:
    """A failed run does not stop the remaining runs; its exit code is the command's."""
    given = {"algorithm": ["f3ast", "poc"], "seed": [2, 3], "rounds": 5}
    assert module.run(given, builtin_registry(), Signals()) == 2
    assert [(run["algorithm"], run["seed"], run["rounds"]) for run in started] == [
        ("f3ast", 2, 5),
        ("f3ast", 3, 5),
        ("poc", 2, 5),
        ("poc", 3, 5),
    ]


def test_runs_that_are_refused_alike_are_one_line(cli: Cli, tmp_path: Path) -> None:
    given = {"model": "resnet18", "availability": ["scarce", "always"], "output_dir": str(tmp_path)}
    (line,) = cli.said(module.run(given, builtin_registry()), 2).err.splitlines()
    assert line.startswith("error: --model=resnet18: reads square images")


def test_a_signal_in_the_last_block_leaves_the_other_runs(
    started: list[dict[str, Any]], monkeypatch: pytest.MonkeyPatch, cli: Cli
) -> None:
    """The run itself ends with exit code 0; the last run's signal changes nothing."""
    monkeypatch.setattr(Signals, "requested", lambda self: bool(started))
    printed = cli.said(module.run({"seed": [0, 1, 3]}, builtin_registry(), Signals()), 130).err
    assert printed == "interrupted: 2 of 3 runs have not started\n"
    assert [run["seed"] for run in started] == [0]
    assert module.run({"seed": [0]}, builtin_registry(), Signals()) == 0


@pytest.mark.parametrize(
    ("given", "says"),
    [
        (
            {"algorithm": ["f3ast", "fedavgg"]},
            "--algorithm=fedavgg: did you mean fedavg? It must be one of",
        ),
        ({"seed": [1, 2], "run_name": "x"}, "--run_name=x: must not be given with several"),
        ({"seed": [1, 2], "rounds": [3, 6]}, "--rounds=3,6: two of these runs would be in runs/"),
    ],
)
def test_nothing_starts_where_one_is_refused(
    given: dict[str, Any], says: str, started: list[dict[str, Any]], cli: Cli
) -> None:
    assert says in cli.said(module.run(given, builtin_registry(), Signals()), 2).err and not started


def test_in_a_campaign_a_list_is_an_axis(tmp_path: Path) -> None:
    """It replaces the file's axis, or adds one."""
    grid = tmp_path / "mine.toml"
    grid.write_text('[settings]\nrounds = 5\n[grid]\nalgorithm = ["f3ast", "poc"]\nseed = "0-1"\n')
    runs = plan(grid, {"algorithm": ["fedavg", "uniform"], "rounds": [3, 4]}).runs
    assert len(runs) == 8
    names = {run.name for run in runs}
    assert {"fedavg-seed0-rounds3", "uniform-seed1-rounds4"} <= names
    assert {run.settings["rounds"] for run in runs} == {3, 4}
