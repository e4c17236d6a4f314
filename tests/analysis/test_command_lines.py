"""Behaviour shared by all commands of `f3ast_tff.analysis`: help, and output of any encoding."""

from __future__ import annotations

import importlib
import io
import pkgutil
import sys
from pathlib import Path

import pytest

from f3ast_tff import analysis
from f3ast_tff.analysis import tidy_scores
from f3ast_tff.analysis.command_line import command
from f3ast_tff.analysis.studies import score_tables
from f3ast_tff.settings import parameters_of
from tests.analysis.conftest import MakeRun

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
