"""Shards of a campaign: disjoint parts that share a folder."""

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
from f3ast_tff.campaigns.runs import FAILED, Outcome
from f3ast_tff.core.errors import ParameterError, RunFolderError
from tests.commands import Cli

WriteGrid = Callable[..., Path]
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
