"""The page of all components, their parameters and published values."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable

from f3ast_tff.cli.help_pages import by_takers, parameter_text
from f3ast_tff.settings import Parameter, Registry, builtin_registry, parameters_of
from f3ast_tff.settings.groups import GROUPS
from f3ast_tff.settings.kinds import KINDS


def markdown() -> str:
    """Returns the page in Markdown."""
    registry = builtin_registry()
    lines = ["# Components", "", "`f3ast-tff run --help=all` prints this list in a terminal."]
    for kind in KINDS:
        lines += ["", f"## `--{kind}`", "", f"{KINDS[kind].text}.", ""]
        for component in registry.components[kind].values():
            text = f"- `{component.name}` ({component.display}): {component.about}."
            lines += _wrapped(text, indent="  ")
        for takers, parameters in by_takers(registry, kind).items():
            names = ", ".join(f"`{name}`" for name in takers)
            lines += ["", *_wrapped(f"Parameters of {names or 'all'}:"), ""]
            lines += _entries(parameters, registry)
    for heading, config in GROUPS.items():
        lines += ["", f"## {heading}", "", *_entries(parameters_of(config), registry)]
    return "\n".join(lines) + "\n"


def _entries(parameters: Iterable[Parameter], registry: Registry) -> list[str]:
    return [
        line
        for each in parameters
        for line in _wrapped(f"- `--{each.name}`: {parameter_text(each, registry)}.", indent="  ")
    ]


def _wrapped(text: str, indent: str = "") -> list[str]:
    return textwrap.wrap(
        text, 100, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False
    )
