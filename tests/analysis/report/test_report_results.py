"""The table of the runs, with the number that learnt nothing."""

from __future__ import annotations

import json
import math
from pathlib import Path

from f3ast_tff.cli.report import main
from tests.analysis.conftest import MakeRun

GUESS = math.log(10)


def test_runs_no_better_than_a_guess_are_counted(make_run: MakeRun, tmp_path: Path) -> None:
    """Losses at ln C, above it or not finite are no better than a guess; one below it is."""
    for seed, loss in enumerate((GUESS, 300.0, None, GUESS - 1e-6)):
        make_run(f"f3ast{seed}", loss=loss, seed=seed)
    make_run("fedavg", algorithm="fedavg", loss=1.0)
    assert main(["report", f"--runs={tmp_path}/runs", f"--out={tmp_path}/out"]) == 0
    text = (tmp_path / "out" / "report.md").read_text()
    assert "\n3 of the runs end no better than a guess among the classes" in text
    (head,) = [line for line in text.splitlines() if line.startswith("| algorithm | over |")]
    assert head.endswith("| no better than a guess |")
    rows = [line for line in text.splitlines() if "runs_synthetic-" in line]
    assert [row.split(" | ")[-1].strip(" |") for row in rows] == ["", "3 of 4"]
    assert "\n- F3AST: 3 of 4 runs end no better than a guess among the classes.\n" in text


def test_what_one_must_know_beside_a_verdict(make_run: MakeRun, tmp_path: Path) -> None:
    """Verdicts come with notes: a method that may break a rule of selection, and failed runs."""
    make_run("f3ast")
    summary = tmp_path / "runs" / "f3ast" / "summary.json"
    content = json.loads(summary.read_text())
    summary.write_text(json.dumps({**content, "may_select": ["repeated", "unavailable"]}))
    make_run("fedavg", algorithm="fedavg")
    failed = make_run("failed", unfinished=True)
    (failed / "error.txt").write_text("Traceback ...\nValueError: my own fault\n\n")
    assert main(["report", f"--runs={tmp_path}/runs", f"--out={tmp_path}/out"]) == 0
    text = (tmp_path / "out" / "report.md").read_text()
    assert "\n- F3AST may select clients that are not available.\n" in text
    assert "\n1 unfinished run is left out: see Summary.\n" in text
    assert "rounds evaluated; ValueError: my own fault\n" in text
