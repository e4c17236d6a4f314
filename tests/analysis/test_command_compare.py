from __future__ import annotations

import csv
import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from f3ast_tff.analysis.compare.methods import methods_of
from f3ast_tff.analysis.report.build import build
from f3ast_tff.analysis.report.render import to_markdown
from f3ast_tff.analysis.run_groups import collect
from f3ast_tff.cli.compare import main
from tests.analysis.conftest import MakeRun

Compare = Callable[..., tuple[int, str, str]]


@pytest.fixture
def compare(capsys: pytest.CaptureFixture[str]) -> Compare:
    def call(*args: object) -> tuple[int, str, str]:
        code = main(["compare", *map(str, args)])
        return (code, *capsys.readouterr())

    return call


def test_what_cannot_be_used_is_left_out_with_a_line(
    make_run: MakeRun, compare: Compare, tmp_path: Path
) -> None:
    """The remaining runs give a table, curves and a CSV file."""
    make_run("a", algorithm="fedavg")
    unfinished = make_run("b", unfinished=True)
    damaged = make_run("c", seed=2)
    (damaged / "metrics.csv").write_text("round\n")
    again = tmp_path / "runs" / "again"
    shutil.copytree(tmp_path / "runs" / "a", again)
    out, table = tmp_path / "out.svg", tmp_path / "table.csv"
    code, stdout, stderr = compare(
        "--runs", tmp_path / "runs", "--out", out, f"--csv={table}", "--colour=algorithm"
    )
    lines = stderr.splitlines()
    assert (code, len(lines)) == (0, 3)
    assert all(line.startswith("left out: ") for line in lines)
    assert f"{damaged}/metrics.csv" in lines[0]
    assert "are the same run" in lines[1] and str(again) in lines[1]
    assert lines[2].startswith(f"left out: {unfinished}: 4 of 4 rounds")
    assert any(line.split()[:3] == ["FedAvg", "1", "0.5000"] for line in stdout.splitlines())
    assert stdout.splitlines()[-2:] == [f"table: {table}", f"curves: {out}"]
    assert out.read_text().startswith("<?xml")
    (row,) = csv.DictReader(table.read_text().splitlines())
    assert (row["algorithm"], row["runs"], row["final_sample_accuracy"]) == ("fedavg", "1", "0.5")


@pytest.mark.long
def test_versions_of_the_library_are_named_if_several(
    make_run: MakeRun, compare: Compare, tmp_path: Path
) -> None:
    """In `compare` and in the report; runs of unknown versions say nothing."""
    args = (f"--runs={tmp_path}", f"--out={tmp_path}/x.png")
    make_run("a", described={"packages": {"f3ast-tff": "0.2.0"}})
    make_run("b", seed=1)
    assert "Versions" not in compare(*args)[1]
    make_run("c", seed=2, described={"packages": {"f3ast-tff": "0.1.9"}})
    said = "Versions 0.1.9, 0.2.0 of this library made the runs;"
    assert said in compare(*args)[1]
    assert said in to_markdown(build(collect(tmp_path), "final"))


def test_a_colour_by_a_setting(make_run: MakeRun, compare: Compare, tmp_path: Path) -> None:
    """All values share a block and a panel; FedAvg, without the setting, is among them."""
    for beta in (0.1, 0.01):
        make_run(f"a{beta}", algorithm="f3ast", rate_beta=beta)
    make_run("b", algorithm="fedavg")
    code, stdout, _ = compare(f"--runs={tmp_path}", f"--out={tmp_path}/x.png", "--colour=rate_beta")
    names = [line.split("  ")[0] for line in stdout.split("\n\n")[1].splitlines()[1:]]
    assert code == 0
    assert sorted(names) == ["F3AST, rate_beta 0.01", "F3AST, rate_beta 0.1", "FedAvg"]
    assert (tmp_path / "x.png").read_bytes()[:4] == b"\x89PNG"


def test_who_is_better_is_said(make_run: MakeRun, compare: Compare, tmp_path: Path) -> None:
    """Five draws that all differ by .1: the interval has no width."""
    for draw in range(5):
        make_run(f"a{draw}", 0.4 + draw / 50, algorithm="fedavg", data_seed=draw, seed=draw)
        make_run(f"b{draw}", 0.5 + draw / 50, algorithm="f3ast", data_seed=draw, seed=draw)
    flags = (f"--runs={tmp_path}", f"--out={tmp_path}/x.png")
    code, stdout, _ = compare(*flags, "--baseline=fedavg")
    assert code == 0
    assert "\nF3AST is better than FedAvg by .100 [.100, .100] at round 4 over 5 draws.\n" in stdout
    code, _, stderr = compare(*flags, "--baseline=fedprox")
    assert (code, "--baseline=fedprox: must be a method of the runs: f" in stderr) == (2, True)


def test_a_folder_alone_is_compared_without_a_picture(
    make_run: MakeRun, compare: Compare, tmp_path: Path
) -> None:
    make_run("a", 0.4, algorithm="fedavg")
    code, stdout, _ = compare(tmp_path)
    assert code == 0 and "FedAvg" in stdout and "curves:" not in stdout


def test_a_name_has_what_tells_a_method_apart_and_no_more(
    make_run: MakeRun, compare: Compare, tmp_path: Path
) -> None:
    """Each form ran with the rate tuned for it; two rates of one form are told apart by them."""
    for sampling, rate in (("with_replacement", 0.1), ("without_replacement", 0.3)):
        own = {"baseline_sampling": sampling, "client_lr": rate}
        make_run(f"a{rate}", algorithm="fedavg", **own)
    make_run("mean", algorithm="fedavg_all", aggregation="mean")
    names = {"FedAvg, with replacement", "FedAvg, without replacement", "Plain mean"}
    assert set(methods_of(collect(tmp_path).groups).labels.values()) == names
    code, stdout, _ = compare(tmp_path, "--baseline=FedAvg, with replacement")
    pairs = [line for line in stdout.splitlines() if " minus FedAvg" in line]
    assert code == 0 and pairs and not any("client_lr" in line for line in pairs)
    make_run("b", algorithm="fedavg", baseline_sampling="with_replacement", client_lr=0.3)
    labels = set(methods_of(collect(tmp_path).groups).labels.values())
    assert "FedAvg, client_lr 0.1, with replacement" in labels


@pytest.mark.long
def test_a_colour_does_not_make_conditions_equal(
    make_run: MakeRun, compare: Compare, tmp_path: Path
) -> None:
    """Methods with other K, or other evaluations, are drawn together and not compared."""
    given = ({"clients_per_round": 3}, {"clients_per_round": 10}, {"eval_every": 1})
    for draw in range(5):
        for n, (name, more) in enumerate(zip(("fedavg", "f3ast", "f3ast"), given)):
            make_run(f"{n}{draw}", algorithm=name, seed=draw, data_seed=draw, **more)
    for colour in ("clients_per_round", "eval_every"):
        code, stdout, _ = compare(
            "--runs", tmp_path / "runs", "--out", tmp_path / "a.svg", f"--colour={colour}"
        )
        assert code == 0
        assert "Not compared: " in stdout


def test_a_repeated_run_with_other_results_is_said(
    make_run: MakeRun, compare: Compare, tmp_path: Path
) -> None:
    make_run("a", 0.5)
    make_run("b", 0.1)
    _, _, stderr = compare("--runs", tmp_path / "runs", "--out", tmp_path / "a.svg")
    assert "same run: same settings and seed, but other results" in stderr


PLAN = """
[grid]
algorithm = ["f3ast", "fedavg"]

[plan]
asked = 2026-01-02T10:00:00Z
family = "mine"
rows = ["algorithm"]
score = "sample_accuracy"
minus = ["f3ast:fedavg"]

[[plan.question]]
period = "second_half"

[[plan.question]]
score = "user_accuracy"
round = 2
"""


def test_a_plan_says_what_is_compared_and_no_flag_does(
    make_run: MakeRun, compare: Compare, tmp_path: Path
) -> None:
    """Leads of .1 in the second half, none at round 2; planned if asked before the first start."""
    plan, runs = tmp_path / "mine.toml", tmp_path / "runs"
    plan.write_text(PLAN)
    for draw in range(6):
        for algorithm, lead in (("f3ast", 0.1), ("fedavg", 0.0)):
            place = {"algorithm": algorithm, "data_seed": draw, "seed": draw}
            make_run(f"{algorithm}{draw}", accuracy=0.5 + lead + draw / 1000, **place)
    code, said, _ = compare(runs, f"--plan={plan}")
    first, better, equal = said.splitlines()[:3]
    assert code == 0
    assert first.startswith("Planned on 2026-01-02, before the first scores; 2 claims")
    assert better == (
        "- sample accuracy: F3AST is better than FedAvg by .100 [.100, .100] in the second half up "
        "to round 4 over 6 draws."
    )
    assert equal.startswith("- user accuracy: F3AST and FedAvg are equal in every run at round 2")
    for second, word in (("10:00:01", "Planned on"), ("09:59:59", "Added")):
        manifest = {"runs": [{"name": "f3ast0", "started": f"2026-01-02T{second}Z"}]}
        (runs / "manifest.json").write_text(json.dumps(manifest))
        assert compare(runs, f"--plan={plan}")[1].startswith(word)
    # All runs went on after the plan, and began before it.
    manifest = {
        "first_start": "2026-01-02T09:00:00Z",
        "runs": [{"name": "f3ast0", "started": "2026-02-01T00:00:00Z"}],
    }
    (runs / "manifest.json").write_text(json.dumps(manifest))
    assert compare(runs, f"--plan={plan}")[1].startswith("Added")
    out, table = tmp_path / "out.svg", tmp_path / "verdicts.csv"
    assert compare(runs, f"--plan={plan}", f"--csv={table}", f"--out={out}")[0] == 0
    verdicts = [row["verdict"] for row in csv.DictReader(table.read_text().splitlines())]
    assert verdicts == ["better", "too close to call"] and out.read_text().startswith("<?xml")
    code, _, error = compare(runs, f"--plan={plan}", "--score=sample_loss")
    assert code == 2 and "--score=sample_loss: must not be given with plan" in error
    code, _, error = compare(runs, f"--plan={tmp_path}/other.toml")
    assert code == 2 and f"--plan={tmp_path}/other.toml: not found" in error
