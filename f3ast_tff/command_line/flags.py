"""The command line: one absl flag a setting, and a `--help` by groups."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from dataclasses import Field, fields
from typing import Any

from absl import flags

from f3ast_tff.configuration.readings import READINGS
from f3ast_tff.configuration.setting import DERIVED
from f3ast_tff.configuration.settings import Settings

# Of a campaign, not of a run: what `--help` says of them.
CAMPAIGN: dict[str, str] = {
    "campaign": "run all runs of a campaign, in place of one run: the name of a built-in one or a "
    "TOML file; settings that are given hold for every run",
    "list": "list the campaign's runs and their states, and run none",
    "processes": "runs at a time; default: one a core",
    "seeds": "seeds in place of the campaign's, such as 0-9",
}
_WIDTH = 92
_INDENT = " " * 6


def define(flag_values: flags.FlagValues) -> None:
    """Defines the flags; none has a default, so as to tell what was given from what was not."""
    define_by_kind = {
        str: flags.DEFINE_string,
        int: flags.DEFINE_integer,
        float: flags.DEFINE_float,
    }
    for spec in fields(Settings):
        rules = spec.metadata
        text = describe(spec)
        if rules["choices"]:
            flags.DEFINE_enum(
                spec.name, None, list(rules["choices"]), text, flag_values=flag_values
            )
        else:
            define_by_kind[rules["kind"]](spec.name, None, text, flag_values=flag_values)
    for name, text in CAMPAIGN.items():
        if name == "list":
            flags.DEFINE_bool(name, None, text, flag_values=flag_values)
        elif name == "processes":
            flags.DEFINE_integer(name, None, text, flag_values=flag_values)
        else:
            flags.DEFINE_string(name, None, text, flag_values=flag_values)


def given_of_campaign(flag_values: flags.FlagValues) -> dict[str, Any]:
    """Returns what was given of `CAMPAIGN`, by name."""
    values = {name: flag_values[name].value for name in CAMPAIGN}
    return {name: value for name, value in values.items() if value is not None}


def given(flag_values: flags.FlagValues) -> dict[str, Any]:
    """Returns the settings that were given, by name."""
    values = {spec.name: flag_values[spec.name].value for spec in fields(Settings)}
    return {name: value for name, value in values.items() if value is not None}


def describe(spec: Field) -> str:
    """Returns what `--help` says of a setting."""
    rules = spec.metadata
    parts = [rules["help"]]
    if rules["choices"]:
        parts.append("one of " + ", ".join(rules["choices"]))
    if spec.name in READINGS:
        reading = READINGS[spec.name]
        paper = "by eq. (3)" if reading.paper is None else reading.paper
        parts.append(f"paper: {paper}, released: {reading.released}")
        if reading.ca_fed is not None:
            parts[-1] += f", ca_fed: {reading.ca_fed}"
    elif rules["default"] is DERIVED:
        if "default:" not in rules["help"]:
            parts.append("default: the task's")
    elif rules["default"] not in (None, ""):
        parts.append(f"default: {rules['default']}")
    return "; ".join(parts)


def help_text(usage: str) -> str:
    """Returns the help page: usage, then the flags of each group."""
    lines = [usage.strip()]
    group = None
    for spec in fields(Settings):
        if spec.metadata["group"] != group:
            group = spec.metadata["group"]
            lines += ["", f"{group}:"]
        lines.append(f"  --{spec.name}")
        lines += textwrap.wrap(
            describe(spec), _WIDTH, initial_indent=_INDENT, subsequent_indent=_INDENT
        )
    lines += ["", "Campaign:"]
    for name, text in CAMPAIGN.items():
        lines.append(f"  --{name}")
        lines += textwrap.wrap(text, _WIDTH, initial_indent=_INDENT, subsequent_indent=_INDENT)
    lines += ["", "Flags files:", "  --flagfile", f"{_INDENT}a file with one flag a line"]
    return "\n".join(lines)


def parse(argv: Sequence[str], flag_values: flags.FlagValues) -> list[str]:
    """Parses the command line.

    Returns:
        What is not a flag, without the program's name.

    Raises:
        absl.flags.Error: Says what is wrong.
    """
    return flag_values(list(argv))[1:]
