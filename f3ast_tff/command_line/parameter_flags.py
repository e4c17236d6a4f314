"""absl flags from declared parameters, and their lines in a help page."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence

from absl import flags

from f3ast_tff.components import Parameter

PLUGIN = "plugin"
PLUGIN_HELP = "FILE.py or package.module with components of your own; may be given several times"
_WIDTH = 92
_INDENT = " " * 6


def define_flags(parameters: Mapping[str, Parameter], values: flags.FlagValues) -> None:
    """Defines a flag for each parameter, without a default: what is not given stays `None`.

    Args:
        parameters: Parameters by the name of their flag.
        values: Where the flags are defined. Ranges and choices are left to `Parameter.checked`.
    """
    define = {
        str: flags.DEFINE_string,
        int: flags.DEFINE_integer,
        float: flags.DEFINE_float,
        bool: flags.DEFINE_bool,
    }
    for name, parameter in parameters.items():
        define[parameter.kind](name, None, parameter.help, flag_values=values)


def define_plugin_flag(values: flags.FlagValues) -> None:
    """Defines `--plugin`, which may be given several times."""
    flags.DEFINE_multi_string(PLUGIN, [], PLUGIN_HELP, flag_values=values)


def plugins_given(words: Sequence[str]) -> list[str]:
    """Returns the values of `--plugin`: plug-ins are loaded before their flags are defined."""
    found = []
    for word, following in zip(words, [*words[1:], ""]):
        name, equals, value = word.lstrip("-").partition("=")
        if word.startswith("-") and name == PLUGIN:
            found.append(value if equals else following)
    return found


def flag_lines(name: str, text: str) -> list[str]:
    """Returns the lines of a flag in a help page."""
    lines = textwrap.wrap(text, _WIDTH, initial_indent=_INDENT, subsequent_indent=_INDENT)
    return [f"  --{name}", *lines]
