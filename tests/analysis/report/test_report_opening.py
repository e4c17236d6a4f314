"""The head of the report: title, date, and the picture of who waits."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from f3ast_tff.analysis.line_styles import looks_of, on_dark
from f3ast_tff.analysis.report.build import build
from f3ast_tff.analysis.report.opening import clients_left_out, date_of, title_of, who_waits
from f3ast_tff.analysis.report.render import to_latex, to_markdown
from f3ast_tff.analysis.report.variants import told_apart
from f3ast_tff.analysis.run_groups import collect
from f3ast_tff.availability.logs.mask_files import write_masks
from f3ast_tff.engines.engine import ClientScores
from f3ast_tff.records.outputs import write_client_scores
from tests.analysis.conftest import MakeRun


def kept(folder: Path, right: list[float]) -> None:
    """Client k of 6 is there in the first k + 1 of 4 rounds; `right` of 10 examples are right."""
    write_masks(folder / "masks.npz", np.arange(4)[:, None] <= np.arange(6), (4, 6))
    for number in (2, 4):
        scores = ClientScores(np.zeros(6), np.array(right), np.full(6, 10.0))
        write_client_scores(folder, number, scores)


def test_title_date_and_picture(make_run: MakeRun, tmp_path: Path) -> None:
    for name, right, settings in (
        ("a", 2.0, {"algorithm": "fedavg", "baseline_sampling": "without_replacement"}),
        ("b", 8.0, {"algorithm": "f3ast"}),
    ):
        folder = make_run(name, client_scores=True, write_masks="npz", **settings)
        kept(folder, [right, *[5.0] * 5])
        os.utime(folder / "summary.json", (0, 86400 * 31))
    groups = collect(tmp_path / "runs").groups
    methods = "FedAvg (without replacement) or F3AST"
    assert title_of(groups, of_papers=False) == f"{methods}: which is better? Synthetic, Always"
    assert date_of(groups) == "1 February 1970"
    document = build(collect(tmp_path / "runs"), "final")
    text = to_markdown(document)
    assert "1 February 1970" in text and "](presence.svg)" in text
    assert all("engine" not in to_latex(grid) for grid in document.grids)
    assert "The same in all: reading paper, engine tff." in text
    # F3AST's rarest clients are ahead, so that it stands first; colours are the methods'.
    (picture,) = who_waits(groups)
    lines = picture.figure.axes[0].get_lines()
    assert [line.get_color() for line in lines if line.get_label()[0] != "_"] == [
        looks_of(groups, told_apart(groups))[group].color for group in groups
    ]
    losses = [
        replace(group, runs={at: replace(run, directions={"loss": False}) for at, run in runs})
        for group, runs in ((group, group.runs.items()) for group in groups)
    ]
    assert who_waits(losses) == []
    (tmp_path / "runs/b/masks.npz").unlink()
    assert who_waits(groups) == []


def test_one_colour_per_method(make_run: MakeRun, tmp_path: Path) -> None:
    """FedAvg alone is blue in either form; of both, each is a method with a colour of its own."""
    make_run("a", algorithm="fedavg", baseline_sampling="without_replacement")
    (alone,) = collect(tmp_path / "runs").groups
    look = looks_of([alone], told_apart([alone]))[alone]
    assert (look.color, look.label) == ("#0072B2", "FedAvg, without replacement")
    assert on_dark(look.color) == "#56B4E9"
    make_run("c", algorithm="fedadam", baseline_sampling="with_replacement")
    assert "FedAdam: with replacement." in to_markdown(build(collect(tmp_path / "runs"), "final"))
    make_run("b", algorithm="fedavg", baseline_sampling="with_replacement")
    groups = collect(tmp_path / "runs").groups
    looks = {look.label: look.color for look in looks_of(groups, told_apart(groups)).values()}
    assert looks["FedAvg, without replacement"] == "#0072B2"
    assert looks["FedAvg, with replacement"] not in ("#0072B2", "#D55E00")


def left_out(folder: Path, *clients: dict[str, Any]) -> None:
    """Adds clients left out to the summary of a run."""
    summary = folder / "summary.json"
    summary.write_text(json.dumps({**json.loads(summary.read_text()), "left_out": clients}))


def test_clients_left_out_are_named_by_method(make_run: MakeRun, tmp_path: Path) -> None:
    """North is left out in both draws, south in one of two, which is not most of them."""
    north = {"client": "north", "asked": 9, "delivered": 1, "examples": 0.52}
    south = {"client": "south", "asked": 9, "delivered": 4, "examples": 0.2, "classes": {"ill": 1}}
    left_out(make_run("a0", algorithm="f3ast", seed=0), north, south)
    left_out(make_run("a1", algorithm="f3ast", seed=1), north)
    left_out(make_run("b", algorithm="uniform"), south)
    make_run("c", algorithm="mifa")
    assert clients_left_out(collect(tmp_path / "runs").groups) == [
        "F3AST: north (2 of 2 runs; 52% of the data).",
        "Uniform: south (20% of the data, 100% of class ill).",
    ]
    assert "north (2 of 2 runs" in to_markdown(build(collect(tmp_path / "runs"), "final"))
