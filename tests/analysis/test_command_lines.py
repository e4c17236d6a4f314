"""All commands of `f3ast_tff.analysis`: help, output of any encoding, and refused arguments."""

from __future__ import annotations

import importlib
import io
import pkgutil
import shutil
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from f3ast_tff import analysis
from f3ast_tff.analysis import agreement, tidy_scores
from f3ast_tff.analysis.command_line import command
from f3ast_tff.analysis.studies import score_tables
from f3ast_tff.cli import compare, report
from f3ast_tff.settings import parameters_of
from tests.analysis.conftest import MakeRun
from tests.commands import Cli

COMMANDS = [
    module
    for module in (
        importlib.import_module(f"{analysis.__name__}.{entry.name}")
        for entry in pkgutil.iter_modules(analysis.__path__)
        if not entry.ispkg
    )
    if hasattr(module, "main")
]


@pytest.mark.parametrize("module", COMMANDS, ids=lambda module: module.__name__.split(".")[-1])
def test_help(module: object, capsys: pytest.CaptureFixture[str]) -> None:
    """Help names the command's purpose, each flag, and each declared text."""
    assert module.main(["x", "--help"]) == 0
    out, err = capsys.readouterr()
    assert err == ""
    assert out.startswith(module.__doc__.strip().splitlines()[0])
    text = " ".join(out.split())
    for p in parameters_of(module.Flags) if hasattr(module, "Flags") else ():
        assert f"--{p.name}" in text
        # Help breaks lines at hyphens too.
        assert "".join(p.help.split()) in "".join(text.split())


def test_an_output_that_is_not_utf_8(
    make_run: MakeRun, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Latin-1 has ± but no minus sign."""
    for algorithm in ("fedavg", "f3ast"):
        for seed in range(2):
            make_run(f"{algorithm}{seed}", algorithm=algorithm, seed=seed)
    scores = tmp_path / "scores.csv"
    assert tidy_scores.main(["x", f"--runs={tmp_path / 'runs'}", f"--out={scores}"]) == 0
    out = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(out, encoding="latin-1"))
    assert score_tables.main(["x", f"--scores={scores}", "--minus=f3ast:fedavg"]) == 0
    sys.stdout.flush()
    text = out.getvalue().decode("latin-1")
    assert "| F3AST ? FedAvg | +0.000 [+0.000, +0.000] |" in text
    assert "±" in text


def test_an_output_without_an_encoding(monkeypatch: pytest.MonkeyPatch) -> None:
    """`contextlib.redirect_stdout` gives such an output."""
    monkeypatch.setattr(sys, "stdout", io.StringIO())
    assert command(score_tables.Flags, "")(lambda flags: 0)(["x"]) == 2


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
