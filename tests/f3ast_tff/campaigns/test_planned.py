"""Runs of a campaign: draws, conditions, lines of equal cost, and shards that share a folder."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from f3ast_tff.campaigns.grid import plan
from f3ast_tff.campaigns.planned import Shard, lock, shard_folders, shard_in
from f3ast_tff.campaigns.progress import Manifest
from f3ast_tff.campaigns.runs import FAILED, Outcome, PlannedRun
from f3ast_tff.core.errors import ParameterError, RunFolderError
from f3ast_tff.settings.resolve import resolve
from tests.commands import Cli

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


WITH_VALUE = """
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
    whole = plan(write_grid(WITH_VALUE), {}).runs
    part = plan(write_grid(WITH_VALUE), {}, where=where).runs
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
        plan(write_grid(WITH_VALUE), {}, where=where)
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


def key(**given: Any) -> str:
    return PlannedRun("x", resolve(given)).line


SAME = (
    {"seed": 3},
    {"data_seed": 3},
    {"rounds": 7, "eval_every": 3},
    {"rate_beta": 0.01},
    {"client_lr": 0.5},
    {"output_dir": "elsewhere", "keep_checkpoints": 0},
)
OTHER = (
    {"availability": "scarce"},
    {"algorithm": "fedavg"},
    {"algorithm": "poc"},
    {"clients_per_round": 20},
    {"batch_size": 5},
    {"local_steps": 3},
    {"server_optimizer": "adam"},
    {"num_clients": 50},
    {"task": "leaf_synthetic", "client_lr": 0.1},
    {"client_scores": True},
    {"checkpoint_every": 1},
    {"checkpoint_seconds": 1.0},
    {"write_masks": "csv"},
    {"logger": "csv"},
)


@pytest.mark.parametrize("given", SAME, ids=str)
def test_seeds_and_rates_cost_nothing(given: dict[str, Any]) -> None:
    assert key(**given) == key()


@pytest.mark.parametrize("given", OTHER, ids=str)
def test_another_amount_of_work_is_another_line(given: dict[str, Any]) -> None:
    assert key(**given) != key()


def test_candidates_of_power_of_choice_are_evaluated() -> None:
    assert key(algorithm="poc", poc_candidates=20) != key(algorithm="poc", poc_candidates=30)


# Three methods of seven draws, each method a line: runs of equal cost.
GRID = """
[settings]
num_clients = 12
clients_per_round = 3
rounds = 2

[grid]
algorithm = ["fedavg", "f3ast", "uniform"]
draw = "0-6"
"""


@pytest.mark.parametrize("text", ["3", "0/2", "3/2", "1/0", "a/b", "1/2/3", "-1/2", " 1/2", "1./2"])
def test_a_text_that_names_no_shard_is_refused(text: str) -> None:
    with pytest.raises(ParameterError, match="must be one of several, such as 3/20"):
        shard_in(text)


@pytest.mark.parametrize("number", [1, 2, 4, 5, 30])
def test_every_run_is_in_one_shard_and_lines_are_spread(
    number: int, write_grid: WriteGrid, tmp_path: Path
) -> None:
    """7 draws of each of 3 methods in `number` shards: sizes differ by 1 at most, in all and by
    method."""
    whole = plan(write_grid(GRID), {"output_dir": str(tmp_path)})
    parts = [whole.part(Shard(i, number)) for i in range(1, number + 1)]
    dealt = [run.name for part in parts for run in part.runs]
    assert sorted(dealt) == sorted(run.name for run in whole.runs)
    for method in ("fedavg", "f3ast", "uniform"):
        sizes = [Counter(r.settings["algorithm"] for r in part.runs)[method] for part in parts]
        assert max(sizes) - min(sizes) <= 1
    sizes = [len(part.runs) for part in parts]
    assert max(sizes) - min(sizes) <= 1
    # In the campaign's order, so that runs of most value come first.
    place = {run.name: i for i, run in enumerate(whole.runs)}
    assert all(
        [place[r.name] for r in part.runs] == sorted(place[r.name] for r in part.runs)
        for part in parts
    )


@pytest.mark.parametrize(
    ("held", "asked", "free"),
    [
        (Shard(1, 2), Shard(2, 2), True),
        (Shard(1, 2), Shard(1, 2), False),
        (Shard(1, 2), Shard(2, 3), False),
        (Shard(1, 2), None, False),
        (None, Shard(1, 2), False),
        (None, None, False),
    ],
)
def test_only_shards_of_one_number_share_a_folder(
    held: Shard | None,
    asked: Shard | None,
    free: bool,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("f3ast_tff.campaigns.planned._PATIENCE_S", 0.1)
    first = lock(tmp_path, held)
    if free:
        lock(tmp_path, asked).release()
    else:
        with pytest.raises(RunFolderError, match="is in use by another campaign: .* --shard=1/4"):
            lock(tmp_path, asked)
    first.release()
    # A refused process leaves nothing locked.
    lock(tmp_path, asked).release()


def content(folder: Path) -> dict[str, Any]:
    return json.loads((folder / "manifest.json").read_text())


def test_each_shard_has_a_manifest_and_the_whole_campaign_takes_them_over(
    write_grid: WriteGrid, tmp_path: Path
) -> None:
    whole = plan(write_grid(GRID), {"output_dir": str(tmp_path)})
    for i, part in enumerate([whole.part(Shard(1, 2)), whole.part(Shard(2, 2))], start=1):
        part.own_folder.mkdir(parents=True)
        manifest = Manifest(part, {})
        outcome = Outcome(FAILED, f"no data {i}", "then", f"2030-01-0{i}", 1.0, f"process {i}")
        manifest.ended(part.runs[0], outcome)
        manifest.save()
    assert [folder.name for folder in shard_folders(whole.folder)] == ["1-of-2", "2-of-2"]
    first, second = (content(folder) for folder in shard_folders(whole.folder))
    assert (first["shard"], second["shard"]) == ("1/2", "2/2")
    assert len(first["runs"]) + len(second["runs"]) == len(whole.runs) == 21

    # Of a part of the runs, the manifest keeps what the shards say of the others.
    rest = plan(write_grid(GRID), {"output_dir": str(tmp_path)}, where="algorithm=uniform")
    Manifest(rest, {})
    kept = {run["name"]: run["error"] for run in content(whole.folder)["runs"]}
    failed = [whole.part(Shard(i, 2)).runs[0].name for i in (1, 2)]
    assert [kept[name] for name in failed] == ["no data 1", "no data 2"]


def test_a_shard_is_listed_and_run_by_itself(
    write_grid: WriteGrid, tmp_path: Path, cli: Cli
) -> None:
    given = [f"--campaign={write_grid(GRID)}", f"--output_dir={tmp_path}", "--draw=0-1"]
    lines = cli.out(*given, "--shard=2/4", "--list").splitlines()
    assert lines[0] == "mine, shard 2/4: " and lines[-1] == "2 runs"
    # Of 6 runs the seventh shard has none, which is no error: an array may have more jobs.
    assert "mine, shard 7/7: 0 of 0 runs finished" in cli.out(*given, "--shard=7/7")
    assert "--shard=8/7: must be one of several" in cli.err(*given, "--shard=8/7")
