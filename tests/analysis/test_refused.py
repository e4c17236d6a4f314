"""Arguments that the analysis commands refuse: exit code 2 and one line that says why."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from f3ast_tff.analysis import agreement, tidy_scores
from f3ast_tff.cli import compare, report
from tests.analysis.conftest import MakeRun
from tests.commands import Cli

Main = Callable[[list[str]], int]
RUNS, OUT = "--runs={tmp}/runs/a", "--out={tmp}/x.png"


@pytest.mark.parametrize(
    ("main", "flags", "says"),
    [
        (compare.main, [], "a folder of runs (or --runs) must be given"),
        (compare.main, ["{tmp}/no"], "is not a folder"),
        (compare.main, ["{tmp}/runs/a", "{tmp}/runs/b"], "--runs is given more than once"),
        (compare.main, ["--runs"], "runs"),
        (compare.main, [RUNS, OUT, "rest"], "'rest' is not a flag"),
        (compare.main, ["--runs={tmp}/empty", OUT], "config.json"),
        (compare.main, ["--runs={tmp}/no", OUT], "is not a folder"),
        (compare.main, ["--runs={tmp}/runs/unfinished", OUT], "no finished run"),
        (compare.main, ["--runs={tmp}/runs/damaged", OUT], "damaged/config.json"),
        (compare.main, [RUNS, OUT, "--colour=red"], "--colour=red: must be a setting of the runs"),
        (compare.main, [RUNS, "--out={tmp}/out.gif"], "must end in .png or .svg or .pdf"),
        (compare.main, [RUNS, "--out={tmp}/folder.png"], "cannot write"),
        (compare.main, [RUNS, OUT, "--csv={tmp}/no/x.csv"], "x.csv: cannot write"),
        (report.main, [], "a folder of runs (or --runs) must be given"),
        (report.main, ["--runs={tmp}/no", "--out={tmp}/out"], "is not a folder"),
        (report.main, [RUNS, "--out={tmp}/file"], "cannot write"),
        (report.main, [RUNS, "--out={tmp}/out", "--period=first"], "period"),
        (report.main, [RUNS, "--out={tmp}/out", "--format=gif"], "--format=gif: must be of"),
        (tidy_scores.main, [RUNS], "--out must be given"),
        (tidy_scores.main, ["--runs={tmp}/runs/unfinished", "--out=x.csv"], "no finished run"),
        (tidy_scores.main, [RUNS, "--out={tmp}/no/x.csv"], "no/x.csv: cannot write"),
        (agreement.main, ["{tmp}/runs/a"], "give two run folders"),
        (agreement.main, ["{tmp}/runs/a", "{tmp}/runs/unfinished"], "is not finished"),
        (agreement.main, ["{tmp}/runs/a", "{tmp}/none"], "is not a folder"),
        (agreement.main, ["{tmp}/runs/a", "{tmp}/runs/b"], "has no column train_loss"),
        (agreement.main, ["{tmp}/runs/a", "{tmp}/runs/c"], "selection.npz is damaged"),
    ],
)
def test_one_line(
    main: Main, flags: list[str], says: str, make_run: MakeRun, tmp_path: Path, cli: Cli
) -> None:
    for name in "abc":
        (make_run(name) / "selection.npz").write_bytes(b"PK nothing")
    metrics = tmp_path / "runs/b/metrics.csv"
    metrics.write_text(metrics.read_text().replace("train_loss", "t"))
    make_run("unfinished", unfinished=True)
    (make_run("damaged") / "config.json").write_text("{")
    for name in ("empty", "folder.png"):
        (tmp_path / name).mkdir()
    (tmp_path / "file").write_text("")
    for name in "ab":
        shutil.copytree(tmp_path / "runs/a", tmp_path / "twice" / name)
    error = cli.said(main(["x", *(flag.format(tmp=tmp_path) for flag in flags)]), 2).err
    assert error.startswith("error: ") and error.count("\n") == 1
    assert says in error
