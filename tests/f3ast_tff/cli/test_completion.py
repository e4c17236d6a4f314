"""`f3ast-tff completion`: bash completes commands, flags, values and names."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest

from f3ast_tff.cli.completion import script
from f3ast_tff.cli.main import COMMANDS, main

# bash gives a completion the words of the line, split at `=`; outside of one there is no compopt.
ASK = """
compopt() { :; }
source "$1"; shift
COMP_WORDS=("$@") COMP_CWORD=$(($# - 1))
_f3ast_tff
printf '%s\\n' "${COMPREPLY[@]}"
"""


@pytest.fixture(scope="module")
def bash_script(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("completion") / "f3ast-tff"
    path.write_text(script("bash"))
    return path


@pytest.mark.parametrize(
    ("words", "found"),
    [
        (["ca"], ["campaign"]),
        (["run", "--algori"], ["--algorithm="]),
        (["run", "--algorithm", "=", "fedavg,f3ast_a"], ["fedavg,f3ast_adam"]),
        (["run", "--ties", "="], ["random", "lowest_id"]),
        (["campaign", "--esti"], ["--estimate="]),
        (["campaign", "table3_cifar"], ["table3_cifar100"]),
        (["report", "--base"], ["--baseline="]),
        (["try", "--agai"], ["--against="]),
        (["try", "--rate_bet"], ["--rate_beta="]),
        (["example", "onl"], ["online.csv"]),
        (["completion", "z"], ["zsh"]),
    ],
)
def test_bash_completes(bash_script: Path, words: Sequence[str], found: Sequence[str]) -> None:
    command = ["bash", "-c", ASK, "bash", str(bash_script), "f3ast-tff", *words]
    # Files are offered too: here only the script.
    folder = bash_script.parent
    said = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True)
    assert (said.stdout.split(), said.stderr) == (found, "")


def test_both_shells_have_every_command_and_the_same_words(bash_script: Path) -> None:
    texts = [script("zsh").replace("found=", "words="), bash_script.read_text()]
    of_words = [[line for line in text.splitlines() if ") words='" in line] for text in texts]
    assert of_words[0] == of_words[1]
    assert all(f" {name}" in text for name in COMMANDS for text in texts)


def test_a_shell_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["f3ast-tff", "completion"]) == 0
    assert "completion zsh" in capsys.readouterr().out
    assert main(["f3ast-tff", "completion", "fish"]) == 2
    assert "'fish' is no shell; must be one of bash, zsh" in capsys.readouterr().err
    assert main(["f3ast-tff", "completion", "zsh"]) == 0
    assert capsys.readouterr().out.startswith("#compdef f3ast-tff\n")
