"""Help pages of commands."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence

from f3ast_tff.settings.flags import HELP_ON
from f3ast_tff.settings.parameter import Parameter

_WIDTH = 92
_INDENT = "      "


def help_topic(words: Sequence[str]) -> str | None:
    """Returns the topic of the help asked for: `"all"` or a name; `None` for the short page."""
    named = [word.partition("=")[2] for word in words if word.startswith(HELP_ON)]
    return "all" if "--helpfull" in words else next(iter(named), None)


def flag_lines(name: str, text: str) -> list[str]:
    """Returns the lines of a flag in a help page."""
    lines = textwrap.wrap(text, _WIDTH, initial_indent=_INDENT, subsequent_indent=_INDENT)
    return [f"  --{name}", *lines]


def help_of(usage: str, parameters: Sequence[Parameter]) -> str:
    """Returns the help of a command: its usage, then a flag a parameter with its default."""
    lines = [usage.strip(), ""]
    for each in parameters:
        default = f"; default: {each.default}" if each.default else ""
        lines += flag_lines(each.name, f"{each.help}{default}")
    return "\n".join(lines)
