"""Reading of runs, and the agreement of two."""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from f3ast_tff.analysis.agreement import DISAGREE, main
from f3ast_tff.analysis.compare.scored import RunsError
from f3ast_tff.analysis.runs import finished_runs, load_runs
from f3ast_tff.records.results import seal
from f3ast_tff.settings.resolve import resolve
from tests.analysis.conftest import MakeRun, described
from tests.commands import Cli


def test_runs_are_found_at_any_depth_and_sorted(make_run: MakeRun, tmp_path: Path):
    paths = [make_run(name) for name in ("b", "a/deep/er", "c")]
    (tmp_path / "runs" / "notes").mkdir()
    runs = load_runs(tmp_path / "runs")
    assert [run.path for run in runs] == [paths[1], paths[0], paths[2]]
    assert [run.path for run in load_runs(paths[0])] == [paths[0]]


def test_a_run_is_read_exactly(make_run: MakeRun):
    (run,) = load_runs(make_run("a", accuracy=0.1 + 0.2, seed=7))
    assert run.settings["seed"] == 7
    assert list(run.metrics["round"]) == [2, 4]
    assert list(run.metrics["test_sample_accuracy"]) == [0.25, 0.1 + 0.2]
    assert run.summary is not None
    assert run.summary["final"]["test_sample_accuracy"] == 0.1 + 0.2


def test_no_runs(tmp_path: Path):
    with pytest.raises(RunsError, match=rf"no run in {re.escape(str(tmp_path))}.*config\.json"):
        load_runs(tmp_path)
    with pytest.raises(RunsError, match="nowhere is not a folder"):
        load_runs(tmp_path / "nowhere")


@pytest.mark.parametrize("state", ["no metrics", "header only", "two rows"])
def test_an_unfinished_run_is_not_damaged(make_run: MakeRun, state: str):
    folder = make_run("a", unfinished=True)
    metrics = folder / "metrics.csv"
    if state == "no metrics":
        metrics.unlink()
    elif state == "header only":
        metrics.write_text(metrics.read_text().splitlines()[0] + "\n")
    (run,) = load_runs(folder)
    assert run.summary is None
    assert len(run.metrics) == (2 if state == "two rows" else 0)
    with pytest.raises(RunsError, match=f"no finished run.*{re.escape(str(folder))}"):
        finished_runs([run])


def cut_json(file: Path) -> None:
    file.write_text(file.read_text()[:20])


def replace(old: str, new: str) -> Callable[[Path], None]:
    def damage(file: Path) -> None:
        text = file.read_text()
        assert old in text
        file.write_text(text.replace(old, new))

    return damage


def nested(file: Path) -> None:
    file.write_text('{"a":' * 10**5 + "1" + "}" * 10**5)


@pytest.mark.parametrize(
    ("name", "damage", "says"),
    [
        ("config.json", cut_json, "Unterminated|Expecting"),
        ("config.json", replace('"seed": 0', '"seed": "0"'), "setting seed .* type int"),
        ("config.json", replace("0.1", "[1]"), "client_lr is not a single value"),
        ("config.json", replace("0.1", "1" * 400), "setting client_lr is beyond all integers"),
        ("config.json", replace('"reading": "paper"', '"reading": "x"'), "reading is 'x', must be"),
        ("config.json", replace('"components": {', '"components": {}, "x": {'), "not describe its"),
        ("config.json", nested, "nested too deeply"),
        ("summary.json", replace('"test_user_loss":', '"x":'), "final has no number for test_user"),
        ("metrics.csv", replace("test_user_loss", "x"), "has no column test_user_loss"),
        ("metrics.csv", replace("\n4,", "\n2,"), "rounds do not increase"),
        ("metrics.csv", Path.unlink, "cannot read .*No such file"),
    ],
)
def test_a_damaged_run_is_named(
    make_run: MakeRun, tmp_path: Path, name: str, damage: Callable[[Path], None], says: str
):
    make_run("good", seed=1)
    folder = make_run("bad")
    damage(folder / name)
    with pytest.raises(RunsError, match=says) as error:
        load_runs(tmp_path / "runs")
    assert str(folder / name) in str(error.value)
    assert "\n" not in str(error.value)


def test_what_a_run_says_of_its_components(make_run: MakeRun) -> None:
    says = described(("luck",), (("lucky", "ab12"),), algorithm=("Lucky Draw", 7))
    folder = make_run("a", algorithm="lucky", availability="uneven", luck=0.5, described=says)
    (run,) = load_runs(folder)
    assert (run.display("algorithm"), run.order("algorithm")) == ("Lucky Draw", 7)
    assert (run.display("availability"), run.order("engine")) == ("Uneven", 2)
    assert "luck" in run.method_settings and "run_name" in run.not_compared
    assert run.plugins == {"lucky": "ab12"} and run.method_plugins == {"lucky"}
    assert run.settings["luck"] == 0.5


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("components", []),
        ("components", {"task": {"display": "x", "order": "last"}}),
        ("method_settings", None),
    ],
)
def test_a_damaged_description_is_named(make_run: MakeRun, key: str, value: object) -> None:
    folder = make_run("a", described={**described(), key: value})
    with pytest.raises(RunsError, match=r"config\.json: "):
        load_runs(folder)


def test_a_constraint_takes_the_place_of_clients_per_round(make_run: MakeRun) -> None:
    folder = make_run("a", clients_per_round=None)
    with pytest.raises(RunsError, match="clients_per_round is not there"):
        load_runs(folder)
    (run,) = load_runs(make_run("b", constraint="cycle:5,10", clients_per_round=None))
    assert run.settings["constraint"] == "cycle:5,10"


@pytest.mark.parametrize(
    ("fact", "settings", "expected"),
    [
        ("generates_data", {"task": "leaf_synthetic", "clients_per_round": 3}, True),
        ("generates_data", {"task": "mnist", "clients_per_round": 3}, False),
        ("pooled", {"algorithm": "sequential_sgd"}, True),
        ("pooled", {"algorithm": "f3ast"}, False),
    ],
)
def test_facts_about_a_task_and_a_method(
    make_run: MakeRun, fact: str, settings: dict[str, Any], expected: bool
) -> None:
    """Whether the task generates its data, and whether the method pools the clients' data."""
    recorded = resolve({"availability": "always", **settings}).describe()
    kind = "task" if "task" in settings else "algorithm"
    assert recorded["components"][kind][fact] is expected
    (run,) = load_runs(make_run("a", described=recorded, **settings))
    assert getattr(run, fact) is expected


def test_the_files_that_a_run_has_read(make_run: MakeRun, tmp_path: Path) -> None:
    table = tmp_path / "A.csv"
    table.write_text("1,0\n")
    settings = {"availability": "table", "table_file": str(table), "clients_per_round": 1}
    recorded = resolve(settings).describe()
    (run,) = load_runs(make_run("a", described={**recorded, "data_sha256": "ab"}))
    assert run.input_files == {"table_file": hashlib.sha256(b"1,0\n").hexdigest()}
    assert run.data_sha256 == "ab"


def test_results_that_differ_from_their_seal_are_named(make_run: MakeRun) -> None:
    folder = make_run("a")
    (folder / "selection.npz").write_bytes(b"ids")
    summary = json.loads((folder / "summary.json").read_text())
    (folder / "summary.json").write_text(json.dumps(seal(folder, summary)))
    load_runs(folder)
    metrics = (folder / "metrics.csv").read_text()
    (folder / "metrics.csv").write_text(metrics.replace("0.25", "0.26"))
    with pytest.raises(RunsError, match=r"metrics\.csv is damaged"):
        load_runs(folder)


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
