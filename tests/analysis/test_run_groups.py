"""Grouping of runs into experiments, by the files they read, plug-ins and data."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from f3ast_tff.analysis.compare.scored import Pair, RunsError
from f3ast_tff.analysis.results_frame import results_of
from f3ast_tff.analysis.run_groups import RunGroup, comparable_groups, group_runs
from f3ast_tff.analysis.runs import load_runs
from f3ast_tff.analysis.tidy_scores import tidy_scores
from tests.analysis.conftest import MakeRun, described

Grouped = Callable[[], list[RunGroup]]
ONE, TWO, THREE = "1a" * 32, "2b" * 32, "3c" * 32


@pytest.fixture
def grouped(tmp_path: Path) -> Grouped:
    """Groups all runs made so far; no run repeats another."""

    def groups() -> list[RunGroup]:
        found, repeated = group_runs(load_runs(tmp_path / "runs"))
        assert repeated == []
        return found

    return groups


@pytest.fixture
def of_table(make_run: MakeRun) -> MakeRun:
    """Makes a run whose availability comes from a file, with the file's digest recorded."""

    def make(name: str, file: str, sha256: str, own: tuple[str, ...] = (), **given: Any) -> Path:
        about = {**described(own), "input_files": {"table_file": sha256}}
        about["not_compared"] = [*about["not_compared"], "table_file"]
        return make_run(name, described=about, availability="table", table_file=file, **given)

    return make


@pytest.mark.parametrize("seeds", [(0, 1), (0, 0)])
def test_runs_on_different_files_are_different_experiments(
    seeds: tuple[int, int], of_table: MakeRun, grouped: Grouped, tmp_path: Path
) -> None:
    """Different seeds are not averaged; equal seeds are not dropped as a repetition."""
    of_table("a", "sets/A.csv", ONE, seed=seeds[0])
    of_table("b", "sets/B.csv", TWO, seed=seeds[1])
    names = ["A.csv 1a1a1a1a", "B.csv 2b2b2b2b"]
    assert [group.world["table_file"] for group in grouped()] == names
    runs = load_runs(tmp_path / "runs")
    assert "table_file" in comparable_groups(runs)[1]
    assert list(dict.fromkeys(tidy_scores(runs)["table_file"])) == names


def test_methods_are_compared_on_the_same_file_alone(of_table: MakeRun, grouped: Grouped) -> None:
    """Equal content is the same file, also under another name and in another place."""
    of_table("a", "sets/A.csv", ONE)
    of_table("b", "/elsewhere/moved.csv", ONE, seed=1)
    of_table("c", "moved.csv", ONE, algorithm="fedavg")
    of_table("d", "sets/A.csv", TWO, algorithm="fedavg")
    fedavg, changed, f3ast = grouped()
    assert list(f3ast.runs) == [Pair(0, 0), Pair(0, 1)]
    assert f3ast.world == fedavg.world != changed.world
    assert f3ast.setting("table_file") == "A.csv 1a1a1a1a"
    assert changed.setting("table_file") == "A.csv 2b2b2b2b"


def test_a_file_of_a_method_is_its_own(of_table: MakeRun, grouped: Grouped) -> None:
    of_table("a", "A.csv", ONE, ("table_file",))
    of_table("b", "B.csv", TWO, ("table_file",))
    one, two = grouped()
    assert one.world == two.world and one.own != two.own


@pytest.mark.parametrize(
    ("kinds", "is_own"),
    [
        (["algorithm"], True),
        (["aggregation", "client_optimizer", "server_optimizer"], True),
        (["availability"], False),
        (["task", "model"], False),
        (["delivery"], False),
        (["algorithm", "availability"], False),
    ],
)
def test_a_plug_in_is_a_methods_own_by_its_components_in_use(
    kinds: list[str], is_own: bool, make_run: MakeRun, grouped: Grouped
) -> None:
    """Methods on two versions of an availability process are not compared."""
    for algorithm, sha256 in (("fedavg", ONE), ("f3ast", TWO)):
        about = described(plugins=(("mine", sha256),))
        about["plugins"][0]["kinds"] = kinds
        make_run(algorithm, described=about, algorithm=algorithm)
    fedavg, f3ast = grouped()
    assert (fedavg.world == f3ast.world) is is_own
    assert ("plugin mine" in fedavg.own) is is_own
    assert fedavg.setting("plugin mine") == "1a1a1a1a"


@pytest.fixture
def of_files(make_run: MakeRun) -> MakeRun:
    """Makes a run on distributors' files, with the digest of its data recorded."""

    def make(name: str, sha256: str | None, **given: Any) -> Path:
        about = {**described(), "data_sha256": sha256}
        about["not_compared"] = [*about["not_compared"], "data_dir"]
        settings = {"task": "cifar100", "data_dir": f"/{name}", "data_seed": 0, **given}
        return make_run(name, described=about, **settings)

    return make


def test_data_of_one_draw_are_told_apart_by_their_files(
    of_files: MakeRun, grouped: Grouped
) -> None:
    """Data of different draws differ anyway; a pooled method's data join all clients."""
    of_files("a", ONE, algorithm="fedavg")
    of_files("b", TWO, algorithm="fedavg", data_seed=1)
    of_files("c", ONE)
    of_files("d", TWO, data_seed=1)
    of_files("e", THREE, algorithm="sequential_sgd")
    assert [len(group.runs) for group in grouped()] == [2, 2, 1]
    assert not any("data files" in group.settings for group in grouped())
    of_files("f", THREE, seed=1)
    found = {(g.algorithm, g.world["data files"]): sorted(g.runs) for g in grouped()}
    assert found == {
        ("fedavg", "1a1a1a1a"): [Pair(0, 0)],
        ("fedavg", ""): [Pair(1, 0)],
        ("f3ast", "1a1a1a1a"): [Pair(0, 0)],
        ("f3ast", "3c3c3c3c"): [Pair(0, 1)],
        ("f3ast", ""): [Pair(1, 0)],
        ("sequential_sgd", ""): [Pair(0, 0)],
    }


def test_data_without_a_digest_and_generated_data_are_not_told_apart(
    make_run: MakeRun, of_files: MakeRun, grouped: Grouped
) -> None:
    """The last digits of generated data depend on the processor."""
    of_files("a", ONE)
    of_files("b", None, seed=1)
    for seed, sha256 in enumerate((ONE, TWO)):
        make_run(f"c{seed}", described={**described(), "data_sha256": sha256}, seed=seed)
    assert [len(group.runs) for group in grouped()] == [2, 2]


def test_methods_on_other_data_files_are_not_compared(of_files: MakeRun, tmp_path: Path) -> None:
    """Each label's runs are grouped among the runs of all labels."""
    for seed in range(4):
        of_files(f"a{seed}", ONE, algorithm="fedavg", seed=seed)
        of_files(f"b{seed}", TWO, seed=seed)
    runs = load_runs(tmp_path / "runs")
    names = ("fedavg", "f3ast")
    by_name = {n: [run for run in runs if run.settings["algorithm"] == n] for n in names}
    with pytest.raises(RunsError, match="Not compared: .* they differ in data files"):
        results_of(by_name).differences()


def test_equal_data_are_one_draw_whatever_the_seed(make_run: MakeRun, grouped: Grouped) -> None:
    """Copies under another `data_seed` repeat a run; data of their own are draws."""
    for draw, digest in ((0, ONE), (1, ONE), (2, TWO)):
        about = {**described(), "data_sha256": digest}
        make_run(f"a{draw}", described=about, data_seed=draw, seed=draw)
    (group,) = grouped()
    assert list(group.runs) == [Pair(0, 0), Pair(0, 1), Pair(2, 2)]


def test_a_copy_differs_by_no_more_than_its_time(make_run: MakeRun, tmp_path: Path) -> None:
    for draw, accuracy in ((0, 0.5), (1, 0.5), (2, 0.6)):
        about = {**described(), "data_sha256": ONE}
        folder = make_run(f"a{draw}", accuracy, described=about, data_seed=draw)
        metrics = pd.read_csv(folder / "metrics.csv")
        metrics.assign(wall_seconds=float(draw)).to_csv(folder / "metrics.csv", index=False)
    said = group_runs(load_runs(tmp_path))[1]
    assert [line.endswith("but other results") for line in said] == [False, True]
