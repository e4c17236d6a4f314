"""Output of the commands with `--help` and without arguments, and bash's completion."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest

from f3ast_tff.campaigns.grid_file import built_in_campaigns
from f3ast_tff.cli.completion import script
from f3ast_tff.cli.help_pages import COMMON
from f3ast_tff.cli.main import COMMANDS, main
from f3ast_tff.settings.resolve import resolve
from tests.commands import Cli


@pytest.mark.parametrize("arguments", [[], ["--help"], ["-h"]])
def test_commands_have_a_line_each(arguments: list[str], cli: Cli) -> None:
    lines = cli.said(main(["f3ast-tff", *arguments])).out.splitlines()
    named = [line.split()[1] for line in lines if line.startswith("  f3ast-tff ")]
    assert named == list(COMMANDS)
    assert len(lines) < 20 and max(map(len, lines)) <= 100


def test_run_shows_the_common_flags(cli: Cli) -> None:
    out = cli.said(main(["f3ast-tff", "run", "--help"])).out
    flags = [line[4:] for line in out.splitlines() if line.startswith("  --")]
    assert flags == [*COMMON, "plugin"] and len(flags) == 12
    assert "f3ast-tff run --help=all" in out


@pytest.mark.parametrize(
    ("topic", "flags"),
    [
        ("fedvarp", ["--cohort_weights"]),
        ("rate_beta", ["--rate_beta"]),
        ("F3AST", ["--rate_beta", "--rate_init"]),
        ("delivery", ["--delivery", "--loss_probability", "--late_by"]),
    ],
)
def test_help_on_one_thing(topic: str, flags: list[str], cli: Cli) -> None:
    out = cli.said(main(["f3ast-tff", "run", f"--help={topic}"])).out
    found = [line.strip() for line in out.splitlines() if line.startswith("  --")]
    assert set(flags) <= set(found) and len(found) < 30
    if topic == "delivery":
        assert "--device_kbps_spread" in out and "see --help=bernoulli" in out
    if topic == "fedvarp":
        assert out.startswith("--algorithm=fedvarp: ") and "\n\n--aggregation=fedvarp: " in out


def test_help_on_nothing_there(cli: Cli) -> None:
    printed = cli.said(main(["f3ast-tff", "run", "--help=f3sat"]), 2).err
    assert "--help=f3sat: must be all" in (err := printed)
    assert "did you mean f3ast?" in err


@pytest.mark.long
def test_campaign_alone_lists(cli: Cli) -> None:
    lines = cli.said(main(["f3ast-tff", "campaign"])).out.splitlines()
    assert [line.split()[0] for line in lines[3:]] == built_in_campaigns()
    assert max(map(len, lines)) <= 100
    assert "--estimate" in cli.said(main(["f3ast-tff", "campaign", "--help"])).out


@pytest.mark.parametrize(("there", "logger"), [(True, "tensorboard"), (False, "csv")])
def test_nothing_is_logged_where_tensorboard_is_not_there(
    there: bool, logger: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("f3ast_tff.settings.groups.installed", lambda name: there)
    assert resolve({}).settings["logger"] == logger


def test_words_of_a_description_find_a_component(cli: Cli) -> None:
    printed = cli.said(main(["f3ast-tff", "run", "--help=day and night"])).out
    assert printed.startswith("--availability=smartphones: day and night: ")
    printed = cli.said(main(["f3ast-tff", "availability", "--help"])).out
    assert "smartphones          day and night: " in printed
    assert main(["f3ast-tff", "run", "--help=night and moon"]) == 2


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
