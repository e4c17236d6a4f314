"""Output of the commands with `--help`, and without arguments."""

from __future__ import annotations

import pytest

from f3ast_tff.campaigns.grid_file import built_in_campaigns
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
