"""`f3ast-tff demo`, with fewer draws and rounds."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from f3ast_tff.analysis.compare.judge import FEWEST_DRAWS
from f3ast_tff.analysis.compare.methods import methods_of
from f3ast_tff.analysis.run_groups import collect
from f3ast_tff.campaigns.grid import plan
from f3ast_tff.cli import demo
from tests.commands import Cli


def test_its_draws_are_enough_for_a_verdict_and_each_method_has_a_name() -> None:
    campaign = plan(demo._GRID, {})
    runs = demo._by_name(campaign)
    assert {len(each) for each in runs.values()} == {8} and FEWEST_DRAWS <= 8
    assert set(demo._DRAWN) <= runs.keys()


@pytest.mark.long
def test_from_nothing_to_a_picture_and_finished_at_once(
    cwd: Path, monkeypatch: pytest.MonkeyPatch, cli: Cli
) -> None:
    grid = cwd / "demo.toml"
    text = demo._GRID.read_text()
    for before, after in (("rounds = 500", "rounds = 4"), ("= 25", "= 4"), ('"0-7"', '"0-1"')):
        assert before in text
        text = text.replace(before, after)
    grid.write_text(text)
    monkeypatch.setattr(demo, "_GRID", grid)
    said = []
    for before in (0, 5):
        out = cli.out("demo", "--processes=1")
        assert f"6 of 6 runs finished ({before} of them before)" in out
        said.append(out.partition("manifest.json")[2])
        # Its names are those of every page.
        labels = methods_of(collect(cwd / "runs/demo").groups).labels.values()
        assert set(labels) == set(demo._by_name(plan(grid, {})))
        shutil.rmtree(next((cwd / "runs/demo/runs").iterdir()))
    assert said[0] == said[1]
    # A sentence for each of 3 pairs; two draws are too few.
    assert said[0].count("not judged: 2 draws of the data, 5 are needed.") == 3
    for name in ("presence.svg", "presence_dark.svg"):
        assert (cwd / "runs/demo" / name).read_bytes().startswith(b"<?xml")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--rounds=3"], "rounds"),
        (["--processes=0"], "--processes=0: must be at least 1"),
        (["here"], "here"),
        (["--out=a_file"], "--out=a_file: cannot write: File exists"),
    ],
)
def test_refused(words: list[str], message: str, cwd: Path, cli: Cli) -> None:
    (cwd / "a_file").touch()
    assert message in cli.err("demo", *words)
    assert [path.name for path in cwd.iterdir()] == ["a_file"]


def test_help(cli: Cli) -> None:
    assert "--output_dir" in cli.out("demo", "--help")
