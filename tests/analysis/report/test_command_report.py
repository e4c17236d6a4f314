"""The command `report`: its files, verdicts, and the table of the runs."""

from __future__ import annotations

import csv
import hashlib
import json
import math
import re
from pathlib import Path

import numpy as np
import pytest

from benchmarks.synthetic_runs import write_run
from f3ast_tff.cli.report import main
from tests.analysis.conftest import MakeRun, described


@pytest.fixture(scope="module")
def out(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A report on few runs, one unfinished and one damaged; figures in all formats."""
    folder = tmp_path_factory.mktemp("report")
    for draw in range(5):
        for algorithm in ("fedavg", "f3ast"):
            given = {"algorithm": algorithm, "data_seed": draw, "seed": draw, "rounds": 1000}
            write_run(folder / "runs" / f"{algorithm}-{draw}", given)
    write_run(folder / "runs" / "unfinished", {"seed": 7, "rounds": 30})
    (folder / "runs" / "unfinished" / "summary.json").unlink()
    write_run(folder / "runs" / "damaged", {"seed": 8, "rounds": 30})
    (folder / "runs" / "damaged" / "metrics.csv").write_text("round\n")
    write_run(folder / "runs" / "no-selection", {"seed": 9, "rounds": 1000, "algorithm": "poc"})
    (folder / "runs" / "no-selection" / "selection.npz").unlink()
    flags = [f"--runs={folder / 'runs'}", f"--out={folder / 'new' / 'out'}"]
    assert main(["report", *flags, "--format=pdf,png,svg"]) == 0
    return folder / "new" / "out"


@pytest.mark.long
def test_the_page_holds_everything_itself(out: Path) -> None:
    page = (out / "report.html").read_text()
    addresses = re.findall(r"""(?:src|href)\s*=\s*["']([^"']*)""", page)
    assert sum(a.startswith("data:image/svg+xml;base64,") for a in addresses) == 5
    assert all(a.startswith(("data:", "#")) for a in addresses)
    assert "url(" not in page


@pytest.mark.long
def test_figures_and_tables_are_files_too(out: Path) -> None:
    names = {path.name for path in out.iterdir()}
    assert {"report.md", "report.html", "claims.csv", "table3.csv", "run_groups.csv"} <= names
    text = (out / "report.md").read_text()
    linked = re.findall(r"\]\(([^)]+)\)", text)
    anchors = {f"#{name}" for name in re.findall(r'<a id="([^"]+)">', text)}
    assert len(linked) > 8
    assert set(linked) <= names | anchors
    figures = {name.partition(".")[0] for name in linked if name.endswith(".png")}
    curves = {"curves_synthetic_1", "curves_synthetic_1_loss"}
    assert figures == {*curves, "differences_forest", "picked_synthetic", "rates_synthetic"}
    starts = {"svg": b"<?xml", "pdf": b"%PDF-", "png": b"\x89PNG"}
    for figure in figures:
        for kind, start in starts.items():
            assert (out / f"{figure}.{kind}").read_bytes().startswith(start)
    assert (out / "table3_1.tex").read_text().startswith(r"\begin{table}")


def test_the_first_lines_are_verdicts_then_come_the_runs(out: Path) -> None:
    text = (out / "report.md").read_text()
    heads = re.findall(r"^## (.*)$", text, re.MULTILINE)
    assert heads[:3] == ["Is one better?", "Summary", "Runs: Synthetic"]
    first, summary = text.split("\n## ")[1:3]
    assert "- F3AST is better than FedAvg by " in first
    assert "- F3AST minus Power-of-Choice: " not in first
    assert "have no run in common" in first
    assert "Claims of the papers: direction: 2 better, 2 not judged; " in summary
    assert "Tests of a direction are corrected within 2 families, a figure or table each" in summary
    assert "(Fig. 2: 1; Fig. 3: 1)" in summary
    assert (
        "[Fig. 2, Synthetic: F3AST > FedAvg, Home devices](#table3_1_claims-0) | better" in summary
    )
    # One line per source.
    assert "\n- Table IX: " in text.split("## Not run")[1]
    assert "Table IX" not in text.split("## Not run")[0]


def test_what_was_not_run_has_no_number(out: Path) -> None:
    with open(out / "table3.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    ran = [row for row in rows if row["status"] == "run"]
    assert {(row["algorithm"], row["availability"]) for row in ran} == {
        ("fedavg", "home_devices"),
        ("f3ast", "home_devices"),
        ("poc", "home_devices"),
    }
    for row in rows:
        if row["status"] == "not run":
            assert (row["mean"], row["standard_deviation"], row["pairs"]) == ("", "", "0")
    assert any(row["task"] == "cifar100" and row["paper"] == "0.141" for row in rows)


def test_unfinished_and_damaged_runs_are_named(out: Path) -> None:
    for name in ("report.md", "report.html"):
        text = (out / name).read_text().replace("\\", "")
        assert "runs/unfinished: 30 of 30 rounds evaluated" in text
        assert "damaged/metrics.csv: has no column test_sample_accuracy" in text
        assert "no-selection/selection.npz" in text


def test_every_claim_has_a_verdict(out: Path) -> None:
    with open(out / "claims.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    claimed = [row for row in rows if row["source"]]
    assert {row["direction"] for row in claimed} <= {
        "better",
        "worse",
        "too close to call",
        "not judged",
        "",
    }
    assert {row["size"] for row in claimed} <= {"as printed", "smaller", "larger", "open", ""}
    same = [row for row in claimed if row["relation"] == "same"]
    assert same and {row["direction"] for row in same} == {""}
    assert all((row["size"] == "") == (row["paper_difference"] == "") for row in claimed)
    assert {row["direction"] for row in rows if not row["source"]} <= {"no claim"}
    (fig2,) = [row for row in claimed if row["source"] == "Fig. 2" and row["draws"] == "5"]
    assert (fig2["a"], fig2["b"], fig2["direction"]) == ("f3ast", "fedavg", "better")
    # Only one claim of the figure can be judged, so its level is not corrected.
    assert (fig2["covers"], fig2["direction_confidence"]) == (
        "draws of the data, 5 of them",
        "0.95",
    )


def test_a_verdict_has_its_mark_in_the_summary_and_in_its_table(out: Path) -> None:
    page = (out / "report.html").read_text()
    assert re.search('class="holds[^"]*">(<a [^>]*>)?better<', page)
    assert re.search('class="holds[^"]*">better \\(at 95.00%\\)', page)


def test_the_page_says_what_its_intervals_cover(out: Path) -> None:
    text = (out / "report.md").read_text()
    assert "intervals cover draws of the data, 5 of them" in text
    assert "± over 5 draws of the data" in text
    assert "on data draw 0 (of 5 draws)" in text
    assert "one draw of the availability" not in text


def test_files_of_the_report_before_go_and_others_stay(make_run: MakeRun, tmp_path: Path) -> None:
    """A file that changed since the report belongs to the user."""
    run, out = make_run("a"), tmp_path / "out"
    flags = ["report", f"--runs={tmp_path / 'runs'}", f"--out={out}"]
    assert main([*flags, "--format=png,svg"]) == 0
    before = {path.name for path in out.iterdir()}
    figures = sorted(name for name in before if name.endswith(".png"))
    tables = {name for name in before if name.endswith(".tex") and "synthetic" in name}
    assert figures and tables
    (out / "mine.png").write_text("mine")
    (out / figures[0]).write_text("mine")
    (tmp_path / "table3.tex").write_text("mine")
    settings = json.loads((run / "config.json").read_text())
    settings["settings"]["task"] = "cifar100"
    (run / "config.json").write_text(json.dumps(settings))
    assert main(flags) == 0
    after = {path.name for path in out.iterdir()}
    assert after & {*figures, "mine.png"} == {figures[0], "mine.png"}
    assert not after & tables
    assert {"report.md", "report.html", "run_groups.csv"} <= after


@pytest.mark.long
def test_a_list_of_files_that_is_not_ours_removes_nothing(
    make_run: MakeRun, tmp_path: Path
) -> None:
    make_run("a")
    out, outside = tmp_path / "out", tmp_path / "outside.csv"
    out.mkdir()
    (out / "old.csv").write_text("mine")
    (out / "link.csv").symlink_to(out / "old.csv")
    outside.write_text("mine")
    digest = hashlib.sha256(b"mine").hexdigest()
    flags = ["report", f"--runs={tmp_path / 'runs'}", f"--out={out}"]
    for listing in (
        "{",
        "[1]",
        json.dumps(
            {"../outside.csv": digest, str(outside): digest, "..": digest, "link.csv": digest}
        ),
        json.dumps({"old.csv": "0" * 64, "gone.csv": digest}),
    ):
        (out / "report_files.json").write_text(listing)
        assert main(flags) == 0
        assert outside.exists() and (out / "old.csv").exists() and (out / "link.csv").is_symlink()


def test_only_unfinished_runs_make_a_report_without_numbers(
    make_run: MakeRun, tmp_path: Path
) -> None:
    make_run("a", unfinished=True)
    assert main(["report", f"--runs={tmp_path}", f"--out={tmp_path}/out"]) == 0
    text = (tmp_path / "out" / "report.md").read_text()
    assert "0 finished runs" in text
    assert "4 of 4 rounds evaluated" in text


def test_a_plug_in_is_in_the_figures_and_its_text_is_escaped(
    make_run: MakeRun, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    says = described(("luck",), algorithm=("<b>Lucky & Co $1", 1000), availability=("$ky", 2))
    for seed in range(2):
        given = {"seed": seed, "clients_per_round": 10}
        make_run(f"a{seed}", algorithm="fedavg", **given)
        folder = make_run(f"b{seed}", algorithm="lucky", luck=0.5, described=says, **given)
        for each in (folder, folder.parent / f"a{seed}"):
            selected = np.zeros((4, 1), dtype=int)
            np.savez(each / "selection.npz", selected=selected, p=np.ones(1))
    assert main(["report", f"--runs={tmp_path}", f"--out={tmp_path}/out"]) == 0
    assert "4 finished" in capsys.readouterr().out
    page = (tmp_path / "out" / "report.html").read_text()
    assert "<b>Lucky" not in page
    assert page.count("&lt;b&gt;Lucky &amp; Co") >= 2
    for name in ("curves_synthetic_1", "picked_synthetic"):
        assert (tmp_path / "out" / f"{name}.svg").exists()


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
