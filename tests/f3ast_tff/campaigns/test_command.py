"""A campaign from the command line: its runs, lists, skipped runs, refusals and messages."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path

import pandas as pd
import pytest

from f3ast_tff.campaigns.grid import plan
from f3ast_tff.campaigns.isolated_run import run_isolated
from f3ast_tff.cli.main import main
from f3ast_tff.cli.run import run
from f3ast_tff.files.signals import Signals
from f3ast_tff.records.results import sound_summary
from f3ast_tff.records.run_folder import RunFolder
from f3ast_tff.settings.registry import builtin_registry
from tests.commands import Cli
from tests.f3ast_tff.campaigns.campaigns import ON_HOST, PLUGIN, SMALL, manifest, metrics
from tests.fake_engine import use_fake_engine

WriteGrid = Callable[..., Path]
# One run of three asks for too many test clients.
WITH_A_FAILURE = """
[settings]
engine = "host"
num_clients = 12
clients_per_round = 3
rounds = 12
eval_every = 4

[[variants]]
name = "too_many"
test_clients = 13

[[variants]]
name = "f3ast"

[[variants]]
name = "poc"
algorithm = "poc"
poc_candidates = 5
"""


@pytest.fixture(autouse=True)
def _as_it_was() -> Iterator[None]:
    """Restores the environment and the signal handler after a run in this process."""
    handler, environment = signal.getsignal(signal.SIGTERM), dict(os.environ)
    yield
    signal.signal(signal.SIGTERM, handler)
    os.environ.clear()
    os.environ.update(environment)


def command(*arguments: str) -> int:
    return main(["run_experiments.py", *arguments])


@pytest.mark.long
def test_a_failing_run_is_named_and_the_others_are_as_alone(
    write_grid: WriteGrid, tmp_path: Path, cli: Cli
) -> None:
    arguments = [f"--campaign={write_grid(WITH_A_FAILURE)}", f"--output_dir={tmp_path}"]
    out, err = cli.said(command(*arguments, "--processes=2", "--seed=3"), 1)
    (first,) = out.splitlines()
    campaign = tmp_path / "mine"
    counts = "2 of 3 runs finished (0 of them before), 1 failed (named above), in "
    assert first.startswith(f"{campaign}: {counts}")
    assert first.endswith(f"; {campaign / 'manifest.json'}")
    (failure,) = [line for line in err.splitlines() if "too_many" in line]
    assert failure.startswith("mine: too_many failed: test_clients = 13: must be at most 12")
    assert "mine: 2 done, 0 running, 1 failed of 3, 66% of the rounds" in err.splitlines()[-1]

    entries = manifest(campaign)
    assert {name: entry["state"] for name, entry in entries.items()} == {
        "too_many": "failed",
        "f3ast": "finished",
        "poc": "finished",
    }
    assert "test_clients = 13" in entries["too_many"]["error"]
    assert entries["poc"]["settings"]["poc_candidates"] == 5
    assert entries["poc"]["settings"]["seed"] == 3
    assert entries["poc"]["packages"]["numpy"]
    assert set(entries["f3ast"]["files"]) == {"metrics.csv", "selection.npz", "summary.json"}

    alone = {
        **{"num_clients": 12, "clients_per_round": 3, "rounds": 12, "eval_every": 4, "seed": 3},
        **{"engine": "host", "output_dir": str(tmp_path / "alone/runs"), "run_name": "f3ast"},
    }
    assert run(alone, builtin_registry(), Signals()) == 0
    pairs = metrics(tmp_path / "alone")["f3ast"], metrics(campaign)["f3ast"]
    assert pairs[0].equals(pairs[1])
    cli.printed()

    written = (campaign / "runs/poc/metrics.csv").stat().st_mtime_ns
    again = cli.said(command(*arguments, "--processes=1", "--seed=3"), 1)
    assert "2 of 3 runs finished (2 of them before), 1 failed (named above)" in again.out
    assert "mine: poc" not in again.err
    assert (campaign / "runs/poc/metrics.csv").stat().st_mtime_ns == written

    refused = cli.said(command(*arguments, "--seed=3", "--batch_size=7"), 2).err
    assert "holds a run with other settings: batch_size 20, now 7. Give another" in refused


@pytest.mark.long
def test_finished_runs_get_what_they_lack(
    write_grid: WriteGrid, tmp_path: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    """This starts no process; an output that no run gets is one line for all runs."""
    grid, where = write_grid(SMALL), {"output_dir": str(tmp_path)}
    use_fake_engine(monkeypatch)
    runs = plan(grid, {**where, "seed": 0}).runs
    for each in runs:
        assert run_isolated(each.configuration, {}, "me").state == "finished"
    summaries = [sound_summary(each.folder) for each in runs]
    arguments = [f"--campaign={grid}", f"--output_dir={tmp_path}", "--seed=0"]
    outputs = ["--write_masks=csv", "--keep_checkpoints=0", "--client_scores"]
    out, err = cli.said(command(*arguments, *outputs))
    assert "2 of 2 runs finished (2 of them before)" in out
    assert err == "mine: client_scores: not added to 2 finished runs\n"
    for each in runs:
        assert len((each.folder / "masks.csv").read_text().splitlines()) == 12
        assert not list((each.folder / "checkpoints").iterdir())
    assert summaries == [sound_summary(each.folder) for each in runs]
    # The seals of the masks do not count as other results.
    assert cli.said(command(*arguments, *outputs)).err == err

    (runs[0].folder / "masks.csv").unlink()
    held = RunFolder(runs[0].folder, runs[0].configuration.identity)
    assert command(*arguments, "--keep_checkpoints=0") == 0
    assert command(*arguments, *outputs) == 2
    held.close()
    assert f"{runs[0].folder} is in use by another process" in cli.printed().err


def test_the_list_runs_nothing(write_grid: WriteGrid, tmp_path: Path, cli: Cli) -> None:
    grid = write_grid('about = "A\ntest."'.replace("\n", " ") + SMALL)
    folder = tmp_path / "out"
    out, err = cli.said(
        command(f"--campaign={grid}", f"--output_dir={folder}", "--list", "--seed=4")
    )
    assert out.splitlines() == [
        "mine: A test.",
        f"{folder}/mine/runs/fedavg-seed4  new, 12 rounds",
        f"{folder}/mine/runs/f3ast-seed4  new, 12 rounds",
        "2 runs",
    ]
    assert err == ""
    assert not folder.exists()


@pytest.mark.long
def test_plugins_reach_the_processes_that_run_them(
    write_grid: WriteGrid, tmp_path: Path, cli: Cli
) -> None:
    plugin = tmp_path / "first.py"
    plugin.write_text(PLUGIN.replace("WEIGHT", "0.5"))
    grid = write_grid(ON_HOST.replace('["fedavg", "f3ast"]', '["fedavg", "First_Ones"]'))
    arguments = [f"--campaign={grid}", f"--output_dir={tmp_path}", f"--plugin={plugin}"]
    printed = cli.said(command(*arguments, "--seed=0", "--first_weight=0.25", "--processes=1")).out
    assert "2 of 2 runs finished" in printed
    entries = manifest(tmp_path / "mine")
    assert list(entries) == ["fedavg-seed0", "first_ones-seed0"]
    assert entries["first_ones-seed0"]["settings"]["first_weight"] == 0.25
    assert "first_weight" not in entries["fedavg-seed0"]["settings"]

    plugin.write_text(PLUGIN.replace("WEIGHT", "0.75"))
    printed = cli.said(command(*arguments, "--seed=0", "--first_weight=0.25"), 2).err
    assert "a plug-in in use is another, or has changed" in printed


@pytest.mark.long
def test_a_campaign_names_its_plugins(write_grid: WriteGrid, tmp_path: Path, cli: Cli) -> None:
    """Beside its file, wherever the command runs; named on the command line too, it is the same."""
    grid = write_grid(ON_HOST.replace('["fedavg", "f3ast"]', '["fedavg", "first_ones"]'))
    grid.write_text('plugins = ["first.py"]\n' + grid.read_text())
    plugin = grid.parent / "first.py"
    plugin.write_text(PLUGIN.replace("WEIGHT", "0.5"))
    arguments = [f"--campaign={grid}", f"--output_dir={tmp_path / 'out'}", "--seed=0"]
    printed = cli.said(command(*arguments, "--processes=1", "--where=algorithm=first_ones")).out
    assert "1 of 1 runs finished" in printed
    printed = cli.said(
        command(*arguments, f"--plugin={plugin}", "--first_weight=0.5", "--list")
    ).out
    assert "first_ones-seed0  finished" in printed


@pytest.mark.long
def test_a_campaign_is_made_longer(write_grid: WriteGrid, tmp_path: Path, cli: Cli) -> None:
    """Each run goes on, and ends as if it had been of that length at once; shorter is refused."""
    grid = write_grid(ON_HOST)
    arguments = [f"--campaign={grid}", "--seed=0", "--where=algorithm=fedavg", "--processes=1"]
    for folder, rounds in (("a", 4), ("a", 8), ("b", 8)):
        assert command(*arguments, f"--output_dir={tmp_path / folder}", f"--rounds={rounds}") == 0
    longer, whole = (
        pd.read_csv(tmp_path / folder / "mine/runs/fedavg-seed0/metrics.csv") for folder in "ab"
    )
    pd.testing.assert_frame_equal(
        longer.drop(columns="wall_seconds"), whole.drop(columns="wall_seconds")
    )
    printed = cli.said(command(*arguments, f"--output_dir={tmp_path / 'b'}", "--rounds=6"), 2).err
    assert "can only be made longer. Give another output_dir" in printed


WRONG = {
    "no_campaign": (
        ["--processes=2"],
        ["a campaign must be named: f3ast-tff campaign NAME --processes"],
    ),
    "no_list": (["--list"], ["a campaign must be named: f3ast-tff campaign NAME --list"]),
    "unknown": (["--campaign=table5"], ["--campaign=table5", "table3_synthetic", ".toml"]),
    "processes_0": (["--campaign=fig2", "--processes=0"], ["--processes=0: must be at least 1"]),
    "seed": (["--campaign=fig2", "--seed=9-0"], ["--seed=9-0: must be a range such as 0-9"]),
    "draw": (["--campaign=fig2", "--draw=0,0"], ["--draw=0,0: names a value twice"]),
    "draw_below_0": (["--campaign=fig2", "--draw=-1"], ["--draw=-1: must be at least 0"]),
    "where_twice": (
        ["--campaign=fig2", "--where=algorithm=fedavg", "--where=draw=0"],
        ["flag --where is given more than once; conditions go into one, with commas between"],
    ),
    "rounds_0": (["--campaign=fig2", "--rounds=0"], ["--rounds=0: must be at least 1"]),
    "run_name": (["--campaign=fig2", "--run_name=x"], ["--run_name=x", "named by what varies"]),
    "in_the_file": (["--campaign=FILE"], ["mine.toml: [settings] rounds = -1: must be at least"]),
    "minutes_0": (["--campaign=fig2", "--minutes=0"], ["--minutes=0.0: must be above 0"]),
    "estimate_on_ray": (
        ["--campaign=fig2", "--estimate", "--ray_address=localhost:1"],
        ["--ray_address=localhost:1: must not be given with estimate"],
    ),
    "list_and_estimate": (
        ["--campaign=fig2", "--list", "--estimate"],
        ["--estimate=True: must not be given with list, which runs nothing"],
    ),
    "list_and_minutes": (
        ["--campaign=fig2", "--list", "--minutes=5"],
        ["--minutes=5.0: must not be given with list, which runs none of the campaign"],
    ),
    "estimate_and_minutes": (
        ["--campaign=fig2", "--estimate", "--minutes=5"],
        ["--minutes=5.0: must not be given with estimate, which runs none of the campaign"],
    ),
    "under_a_file": (["--campaign=fig2", "--output_dir=FILE"], ["cannot write to", "Not a dir"]),
}


NO_CLUSTER = pytest.param(
    ["--campaign=fig2", "--ray_address=localhost:1"],
    ["--ray_address=localhost:1: no Ray cluster can be reached there: ", "refused"],
    id="no_cluster",
    marks=pytest.mark.skipif(find_spec("ray") is None, reason="needs Ray"),
)


@pytest.mark.parametrize(
    ("arguments", "says"),
    [*(pytest.param(*case, id=name) for name, case in WRONG.items()), NO_CLUSTER],
)
def test_what_is_wrong_is_one_line(
    arguments: list[str], says: list[str], write_grid: WriteGrid, tmp_path: Path, cli: Cli
) -> None:
    file = str(write_grid("[settings]\nrounds = -1"))
    arguments = [argument.replace("FILE", file) for argument in arguments]
    out, err = cli.said(command(f"--output_dir={tmp_path}", *arguments), 2)
    assert out == ""
    assert err.startswith("error: ") and len(err.splitlines()) == 1
    for words in says:
        assert words in err


def test_a_campaign_in_use_is_refused(write_grid: WriteGrid, tmp_path: Path, cli: Cli) -> None:
    folder = RunFolder(tmp_path / "mine", {})
    printed = cli.said(
        command(f"--campaign={write_grid(SMALL)}", f"--output_dir={tmp_path}"), 2
    ).err
    assert "mine is in use by another campaign" in printed
    folder.close()


def test_a_missing_data_file_is_named_before_the_first_run(
    write_grid: WriteGrid, tmp_path: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    # TFF's default folder.
    monkeypatch.setenv("HOME", str(tmp_path))
    text = (
        '[settings]\nclient_split = "tff"\n[grid]\ntask = ["synthetic", "cifar100"]\nseed = "0-1"'
    )
    where = [f"--data_dir={tmp_path / 'data'}", f"--output_dir={tmp_path}"]
    out, err = cli.said(command(f"--campaign={write_grid(text)}", *where), 2)
    assert out == ""
    assert err.startswith("error: cifar100.sqlite.lzma is missing: put it into ")
    assert len(err.splitlines()) == 1
    assert not (tmp_path / "mine" / "runs").exists()


@pytest.mark.parametrize(
    "plan, refused",
    [
        ('famly = "mine"\n[[plan.question]]\nround = 4\n', "[plan] famly = 'mine': must be one of"),
        ('family = "mine"\n', "[plan] needs a [[plan.question]]"),
    ],
)
def test_a_plan_that_could_not_be_judged_is_refused_before_the_first_run(
    plan: str, refused: str, tmp_path: Path, cli: Cli
) -> None:
    grid = tmp_path / "mine.toml"
    grid.write_text(f"{WITH_A_FAILURE}[plan]\nasked = 2026-01-02T10:00:00Z\n{plan}")
    given = f"--campaign={grid}", f"--output_dir={tmp_path / 'runs'}"
    assert refused in cli.said(command(*given), 2).err
    assert not (tmp_path / "runs").exists()
    assert cli.said(command(*given, "--list"), 0).out.endswith("3 runs\n")
