"""`f3ast-tff example`."""

from __future__ import annotations

import os
import shlex
from pathlib import Path

import pytest

from f3ast_tff.cli import example
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
