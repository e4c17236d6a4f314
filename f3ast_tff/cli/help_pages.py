"""The help pages of `run` and `campaign`: the common flags, and all of them."""

from __future__ import annotations

import difflib
import textwrap

from f3ast_tff.campaigns.grid_file import built_in_campaigns, find_grid_file, read_grid_file
from f3ast_tff.cli.flags import (
    CAMPAIGN,
    FLAGFILE_HELP,
    PLUGIN,
    PLUGIN_HELP,
    flag_lines,
    setting_flags,
)
from f3ast_tff.core.errors import ParameterError
from f3ast_tff.settings import Registry, builtin_registry, parameters_of
from f3ast_tff.settings.component import Component
from f3ast_tff.settings.describe import by_takers, kind_text, parameter_text
from f3ast_tff.settings.groups import GROUPS
from f3ast_tff.settings.kinds import KINDS

_WIDTH = 92
_LINE = 100
_RUN = """
Runs an experiment, or several: --algorithm=f3ast,fedavg --seed=0-2 is six.

f3ast-tff run --algorithm=f3ast --availability=smartphones --rounds=200 --seed=1

It writes <output_dir>/<run_name>/: config.json, metrics.csv, selection.npz, summary.json,
checkpoints/ and TensorBoard events. The same command goes on with what was interrupted.
"""
_CAMPAIGN = """
Runs a grid, or goes on with it. `f3ast-tff campaign` alone lists the built-in ones.

f3ast-tff campaign table3_synthetic --draw=0-4
f3ast-tff campaign mine.toml --estimate

It writes <output_dir>/<campaign>/: manifest.json and runs/<run>/ for each run.
"""
_ALL = """
One component, kind of component or setting: f3ast-tff run --help=f3ast
All settings, with the parameters of every component: f3ast-tff run --help=all
""".strip()
# The flags that describe most runs.
COMMON = (
    "task",
    "algorithm",
    "availability",
    "clients_per_round",
    "rounds",
    "seed",
    "data_seed",
    "client_lr",
    "server_lr",
    "engine",
    "output_dir",
)


def short_help(command: str, registry: Registry) -> str:
    """Returns the help page of `run` or `campaign`: common flags, and flags of plug-ins."""
    if command == "campaign":
        lines = [_CAMPAIGN.strip(), ""]
        for p in CAMPAIGN.values():
            lines += flag_lines(p.name, p.help)
        return "\n".join([*lines, "", "Settings given here hold for every run.", _ALL])
    lines, settings = [_RUN.strip(), ""], setting_flags(registry)
    of_plugins = [name for name in settings if name not in setting_flags(builtin_registry())]
    for name in (*COMMON, *of_plugins):
        if name in KINDS:
            text = f"{kind_text(name)}; one of {', '.join(registry.names(name))}"
        else:
            text = parameter_text(settings[name], registry)
        lines += flag_lines(name, text)
    return "\n".join([*lines, *flag_lines(PLUGIN, PLUGIN_HELP), "", _ALL])


def campaigns_text() -> str:
    """Returns the built-in campaigns with a line about each."""
    lines = [
        "Built-in campaigns. `f3ast-tff campaign NAME` runs one, --list shows its runs, --estimate",
        "its hours, memory and disk. A grid of your own is named by its file: mine.toml.",
        "",
    ]
    names = built_in_campaigns()
    width = max(map(len, names)) + 4
    for name in names:
        about = " ".join(read_grid_file(find_grid_file(name)).about.split())
        text = textwrap.shorten(about, _LINE - width, placeholder=" ...")
        lines.append(f"  {name:<{width - 2}}{text}")
    return "\n".join(lines)


def help_page(command: str, topic: str | None, registry: Registry) -> str:
    """Returns a help page of `run` or `campaign`.

    The topic is `"all"`, or the name of a kind, a component or a setting; `None` for common flags.

    Raises:
        ParameterError: If nothing has the topic's name.
    """
    if topic is None:
        return short_help(command, registry)
    if topic == "all":
        return help_text(registry)
    if topic in KINDS:
        return "\n".join(_kind_lines(topic, registry))
    components = [registry.components[kind].get(topic) for kind in KINDS]
    pages = [_component_lines(each, registry) for each in components if each]
    settings = setting_flags(registry)
    if topic in settings:
        pages.append(flag_lines(topic, parameter_text(settings[topic], registry)))
    if not pages:
        known = [*KINDS, *settings, *(name for kind in KINDS for name in registry.names(kind))]
        near = difflib.get_close_matches(topic, known)
        hint = f"; did you mean {' or '.join(near)}?" if near else ""
        raise ParameterError(
            "help", topic, f"must be all, or the name of a kind, a component or a setting{hint}"
        )
    return "\n\n".join(map("\n".join, pages))


def help_text(registry: Registry) -> str:
    """Returns all settings: each kind with its components and their parameters."""
    lines = [_RUN.strip()]
    for kind in KINDS:
        lines += ["", *_kind_lines(kind, registry)]
    for heading, config in GROUPS.items():
        lines += ["", f"{heading}:"]
        for p in parameters_of(config):
            lines += flag_lines(p.name, parameter_text(p, registry))
    lines += ["", "Campaign:"]
    for p in CAMPAIGN.values():
        lines += flag_lines(p.name, p.help)
    lines += [
        "",
        "Command line:",
        *flag_lines(PLUGIN, PLUGIN_HELP),
        *flag_lines("flagfile", FLAGFILE_HELP),
    ]
    return "\n".join(lines)


def _kind_lines(kind: str, registry: Registry) -> list[str]:
    lines = [f"{kind.replace('_', ' ').capitalize()}:", *flag_lines(kind, kind_text(kind))]
    width = max(len(name) for name in registry.names(kind)) + 2
    for component in registry.components[kind].values():
        lines += _wrapped(component.about, f"      {component.name:<{width}}", " " * (6 + width))
    for takers, parameters in by_takers(registry, kind).items():
        if takers:
            lines += _wrapped(f"with --{kind}={', '.join(takers)}:", "    ", "      ")
        for p in parameters:
            lines += flag_lines(p.name, parameter_text(p, registry))
    return lines


def _component_lines(component: Component, registry: Registry) -> list[str]:
    lines = _wrapped(f"--{component.kind}={component.name}: {component.about}", "", "  ")
    for p in component.parameters:
        lines += flag_lines(p.name, parameter_text(p, registry))
    return lines


def _wrapped(text: str, first: str, rest: str) -> list[str]:
    return textwrap.wrap(text, _WIDTH, initial_indent=first, subsequent_indent=rest)
