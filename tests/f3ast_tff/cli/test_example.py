"""`f3ast-tff example`, and `demo` with fewer draws and rounds."""

from __future__ import annotations

import os
import shlex
import shutil
from pathlib import Path

import pytest

from f3ast_tff.analysis.compare.judge import FEWEST_DRAWS
from f3ast_tff.analysis.compare.methods import methods_of
from f3ast_tff.analysis.run_groups import collect
from f3ast_tff.campaigns.grid import plan
from f3ast_tff.cli import demo, example
from f3ast_tff.cli.main import COMMANDS, main
from tests.commands import Cli

ROOT = Path(__file__).resolve().parents[3]


def kept() -> dict[str, Path]:
    """Files of `examples/` that are used by themselves."""
    found = [
        path
        for folder in ("examples", "examples/plugins")
        for path in (ROOT / folder).iterdir()
        if path.suffix in (".toml", ".sh", ".csv", ".py")
    ]
    return {path.name: path for path in found}


def test_all_are_listed_with_a_sentence(cli: Cli) -> None:
    lines = cli.said(main(["f3ast-tff", "example"])).out.splitlines()[2:]
    named = {line.split()[0]: line.split(maxsplit=1)[1] for line in lines}
    assert named.keys() == kept().keys()
    assert all(about.endswith(".") for about in named.values())


@pytest.mark.parametrize("name", kept())
def test_one_is_written_with_commands_that_use_it_here(
    name: str, cwd: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    # The second call finds the file as it is.
    for _ in range(2):
        assert main(["f3ast-tff", "example", name]) == 0
    assert [path.name for path in cwd.iterdir()] == [name]
    assert (cwd / name).read_bytes() == kept()[name].read_bytes()
    commands = [line for line in capsys.readouterr().out.splitlines() if line.startswith("  ")]
    assert any(name in line for line in commands)
    for words in map(shlex.split, commands):
        assert words[0] in ("python", "pip", "sbatch") or words[1] in COMMANDS


def test_a_pipe_of_the_name_is_not_read(cwd: Path, cli: Cli) -> None:
    os.mkfifo("mine.toml")
    printed = cli.said(main(["f3ast-tff", "example", "mine.toml"]), 2).err
    assert "a file of this name, but not this one, is here" in printed


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["mine"], "did you mean mine.toml? It must be one of demo.toml, mine.toml"),
        (["mine.toml", "online.csv"], "give one name"),
        (["--all"], "give one name"),
        (["mine.toml"], "--example=mine.toml: a file of this name, but not this one, is here"),
    ],
)
def test_refused(words: list[str], message: str, cwd: Path, cli: Cli) -> None:
    (cwd / "mine.toml").write_text("mine")
    assert message in cli.said(main(["f3ast-tff", "example", *words]), 2).err
    assert (cwd / "mine.toml").read_text() == "mine"


def test_an_example_names_itself_without_a_folder() -> None:
    for path in example.examples().values():
        assert "examples/" not in path.read_text(), path.name


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
def test_the_demo_refuses(words: list[str], message: str, cwd: Path, cli: Cli) -> None:
    (cwd / "a_file").touch()
    assert message in cli.err("demo", *words)
    assert [path.name for path in cwd.iterdir()] == ["a_file"]


def test_help_of_the_demo(cli: Cli) -> None:
    assert "--output_dir" in cli.out("demo", "--help")
