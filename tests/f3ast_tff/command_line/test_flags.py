"""The command line: flags, `--help`, flags files."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path

import pytest
from absl import flags

import run_experiments
from f3ast_tff.command_line import flags as experiment_flags
from f3ast_tff.configuration.readings import READINGS
from f3ast_tff.configuration.resolve import resolve
from f3ast_tff.configuration.settings import Settings


def parse(*arguments: str) -> dict[str, object]:
    """Returns what was given, as `run_experiments.main` finds it."""
    values = flags.FlagValues()
    experiment_flags.define(values)
    assert experiment_flags.parse(["run_experiments.py", *arguments], values) == []
    return experiment_flags.given(values)


def test_only_what_was_given_is_given() -> None:
    assert parse() == {}
    given = parse("--rounds=7", "--client_lr", "0.5", "--algorithm=poc", "--run_name=x")
    assert given == {"rounds": 7, "client_lr": 0.5, "algorithm": "poc", "run_name": "x"}


@pytest.mark.parametrize("spec", fields(Settings), ids=lambda spec: spec.name)
def test_every_setting_is_a_flag_of_its_kind(spec: object) -> None:
    value = getattr(resolve({}), spec.name)
    value = spec.metadata["kind"](3) if value is None else value
    assert parse(f"--{spec.name}={value}") == {spec.name: value}
    assert type(parse(f"--{spec.name}={value}")[spec.name]) is spec.metadata["kind"]


def test_no_flag_is_left_behind() -> None:
    """Flags live in their own `FlagValues`: nothing is defined for the whole process."""
    parse("--rounds=7")
    assert "rounds" not in flags.FLAGS


@pytest.mark.parametrize("flag", ["--help", "--helpfull", "-h"])
def test_help_lists_every_setting_under_its_group(
    flag: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_experiments.main(["run_experiments.py", "--rounds=0", flag]) == 0
    out, err = capsys.readouterr()
    assert err == ""
    group, listed, texts = "", {}, {}
    for line in out.splitlines():
        if line and not line.startswith(" ") and line.endswith(":"):
            group = line[:-1]
        elif line.startswith("  --"):
            name = line.strip()[2:]
            listed[name], texts[name] = group, ""
        elif line.startswith("      "):
            texts[name] += " " + line.strip()
    assert listed.pop("flagfile") == "Flags files"
    for name in experiment_flags.CAMPAIGN:
        assert listed.pop(name) == "Campaign"
    assert listed == {spec.name: spec.metadata["group"] for spec in fields(Settings)}
    for spec in fields(Settings):
        for choice in spec.metadata["choices"] or ():
            assert choice in texts[spec.name]
        if spec.name in READINGS:
            reading = READINGS[spec.name]
            paper = "by eq. (3)" if reading.paper is None else str(reading.paper)
            assert f"paper: {paper}, released: {reading.released}" in texts[spec.name]
            assert ("ca_fed: " in texts[spec.name]) is (reading.ca_fed is not None)
        else:
            assert "default: " in texts[spec.name] or spec.metadata["default"] in (None, "")
    assert max(len(line) for line in out.splitlines()) <= 100


def test_groups_are_together() -> None:
    groups = [spec.metadata["group"] for spec in fields(Settings)]
    starts = [group for i, group in enumerate(groups) if i == 0 or groups[i - 1] != group]
    assert len(starts) == len(set(starts)) >= 5


def test_flagfile_is_read_and_the_command_line_comes_last(tmp_path: Path) -> None:
    path = tmp_path / "cell.flags"
    path.write_text("# Table II, one cell\n--algorithm=poc\n--rounds=7\n\n--seed=3\n")
    assert parse(f"--flagfile={path}") == {"algorithm": "poc", "rounds": 7, "seed": 3}
    assert parse(f"--flagfile={path}", "--seed=4")["seed"] == 4
