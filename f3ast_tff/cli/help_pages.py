"""The help pages of `run` and `campaign`."""

from __future__ import annotations

import difflib
import math
import textwrap
from collections.abc import Iterable, Mapping
from typing import Any

from f3ast_tff.campaigns.grid_file import built_in_campaigns, find_grid_file, read_grid_file
from f3ast_tff.cli.flags import CAMPAIGN, FLAGFILE_HELP, setting_flags
from f3ast_tff.core.errors import ParameterError
from f3ast_tff.settings import (
    REQUIRED,
    Derived,
    Parameter,
    Published,
    Reading,
    Registry,
    builtin_registry,
    parameters_of,
)
from f3ast_tff.settings.component import Component
from f3ast_tff.settings.flag_help import flag_lines
from f3ast_tff.settings.flags import PLUGIN, PLUGIN_HELP
from f3ast_tff.settings.groups import GROUPS
from f3ast_tff.settings.kinds import KINDS

_WIDTH = 92
_LINE = 100
# On a kind's page, flags that more of its components share stand by name.
_MOST_TAKERS = 4
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
f3ast-tff campaign mine.toml --shard=3/20  # of 20 jobs; `f3ast-tff example slurm.sh` is an array

It writes <output_dir>/<campaign>/: manifest.json and runs/<run>/ for each run.
"""
_ALL = """
One component, kind of component or setting: f3ast-tff run --help=f3ast
By words of a description: f3ast-tff run --help="day and night"
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
            text = f"{KINDS[name].text}; one of {', '.join(registry.names(name))}"
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
    given, topic = topic, topic.lower()
    if topic == "all":
        return help_text(registry)
    if topic in KINDS:
        return "\n".join(_kind_lines(topic, registry, most_takers=_MOST_TAKERS))
    components = [registry.components[kind].get(topic) for kind in KINDS]
    pages = [_component_lines(each, registry) for each in components if each]
    settings = setting_flags(registry)
    if topic in settings:
        pages.append(flag_lines(topic, parameter_text(settings[topic], registry)))
    # Words of a description find it too: `day and night`.
    of_words = (each for each in registry.all() if _says(each, topic.split()))
    pages = pages or [_component_lines(each, registry) for each in of_words]
    if not pages:
        known = [*KINDS, *settings, *(name for kind in KINDS for name in registry.names(kind))]
        near = [each for each in known if each.endswith(f"_{topic}")]
        near = near or difflib.get_close_matches(topic, known)
        hint = f"; did you mean {' or '.join(near)}?" if near else ""
        allowed = "must be all, or the name of a kind, a component or a setting, or words of one's"
        raise ParameterError("help", given, f"{allowed} description{hint}")
    return "\n\n".join(map("\n".join, pages))


def _says(component: Component, words: list[str]) -> bool:
    """Whether a component's description has all of these words, of which there are two or more."""
    about = component.about.lower()
    return len(words) > 1 and all(word in about for word in words)


def help_text(registry: Registry) -> str:
    """Returns all settings: each kind with its components and their parameters."""
    lines = [_RUN.strip()]
    for kind in KINDS:
        lines += ["", *_kind_lines(kind, registry)]
    for heading, config in GROUPS.items():
        lines += ["", f"{heading}:"]
        lines += parameter_lines(parameters_of(config), registry)
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


def _kind_lines(kind: str, registry: Registry, most_takers: float = math.inf) -> list[str]:
    """A kind's page; of flags with more takers, if not all, the names and where to read on."""
    lines = [f"{kind.replace('_', ' ').capitalize()}:", *flag_lines(kind, KINDS[kind].text)]
    lines += component_lines(kind, registry)
    for takers, parameters in by_takers(registry, kind).items():
        if takers:
            lines += _indented(f"with --{kind}={', '.join(takers)}:", "    ", "      ")
        if len(takers) > most_takers:
            names = ", ".join(f"--{parameter.name}" for parameter in parameters)
            lines += [*_indented(names, "      ", "      "), f"      see --help={takers[0]}"]
        else:
            lines += parameter_lines(parameters, registry)
    return lines


def component_lines(kind: str, registry: Registry) -> list[str]:
    """Returns the components of a kind, each with its description."""
    lines: list[str] = []
    width = max(len(name) for name in registry.names(kind)) + 2
    for component in registry.components[kind].values():
        lines += _indented(component.about, f"      {component.name:<{width}}", " " * (6 + width))
    return lines


def _component_lines(component: Component, registry: Registry) -> list[str]:
    lines = _indented(f"--{component.kind}={component.name}: {component.about}", "", "  ")
    return [*lines, *parameter_lines(component.parameters, registry)]


def _indented(text: str, first: str, rest: str) -> list[str]:
    return textwrap.wrap(text, _WIDTH, initial_indent=first, subsequent_indent=rest)


def by_takers(registry: Registry, kind: str) -> dict[tuple[str, ...], list[Parameter]]:
    """Returns a kind's parameters by the names of the components that have them; `()` for all."""
    takers: dict[str, tuple[Parameter, list[str]]] = {}
    for component in registry.components[kind].values():
        for parameter in component.parameters:
            takers.setdefault(parameter.name, (parameter, []))[1].append(component.name)
    found: dict[tuple[str, ...], list[Parameter]] = {}
    for parameter, names in takers.values():
        key = () if tuple(names) == registry.names(kind) else tuple(names)
        found.setdefault(key, []).append(parameter)
    return dict(sorted(found.items(), key=lambda item: (item[0] != (), item[0])))


def parameter_lines(parameters: Iterable[Parameter], registry: Registry) -> list[str]:
    """Returns the lines of parameters in a help page."""
    return [line for p in parameters for line in flag_lines(p.name, parameter_text(p, registry))]


def parameter_text(parameter: Parameter, registry: Registry) -> str:
    """Returns help, choices or range, units and defaults of a parameter."""
    parts = [parameter.help]
    if parameter.choices:
        parts.append("one of " + ", ".join(parameter.choices))
    parts.append(_range(parameter))
    if parameter.units:
        parts.append(f"in {parameter.units}")
    parts.append(_defaults(parameter, registry))
    return "; ".join(filter(None, parts))


def _range(parameter: Parameter) -> str:
    """The range of a number, such as `in [0, 1)` or `at least 1`; `""` if any is allowed."""
    least, above = parameter.minimum, parameter.above
    most, below = parameter.maximum, parameter.below
    low = least if above is None else above
    high = most if below is None else below
    if low is None and high is None:
        return ""
    if high is None:
        return f"at least {least:g}" if above is None else f"above {above:g}"
    if low is None:
        return f"at most {most:g}" if below is None else f"below {below:g}"
    ends = "[" if above is None else "(", "]" if below is None else ")"
    return f"in {ends[0]}{low:g}, {high:g}{ends[1]}"


def _defaults(parameter: Parameter, registry: Registry) -> str:
    """The default in words; if components differ, one per component."""
    texts: dict[str, list[str]] = {}
    for component in registry.takers(parameter.name):
        own = next(p for p in component.parameters if p.name == parameter.name)
        texts.setdefault(_default(own, registry, component), []).append(component.name)
    if len(texts) > 1:
        each = ", ".join(f"{text} ({', '.join(names)})" for text, names in texts.items())
        return f"default: {each}"
    text = next(iter(texts)) if texts else _default(parameter, registry, None)
    if isinstance(parameter.default, Reading) or parameter.default is REQUIRED:
        return text
    return f"default: {text}" if text else ""


def _default(parameter: Parameter, registry: Registry, component: Component | None) -> str:
    default = parameter.default
    if default is REQUIRED:
        return "must be given"
    if isinstance(default, Derived):
        return default.words
    if isinstance(default, Reading):
        shown = default.paper.words if isinstance(default.paper, Derived) else default.paper
        text = f"{default.number}: paper {shown}, released {default.released}"
        return text if default.ca_fed is None else f"{text}, ca_fed {default.ca_fed}"
    if isinstance(default, Published):
        return _published(parameter.name, default, registry, component)
    return "" if default in (None, "") else f"{default}"


def _published(
    name: str, default: Published, registry: Registry, component: Component | None
) -> str:
    """The published value of each task; for an optimizer's parameter, with that optimizer."""
    if component is not None and component.kind == "task":
        value = component.config.published.get(name, default.fallback)
        return "must be given" if value is REQUIRED else f"{value}"
    tasks: dict[str, list[str]] = {}
    for task in registry.components["task"].values():
        value = task.config.published.get(name, default.fallback)
        if isinstance(value, Mapping):
            value = value.get("sgd" if component is None else component.name, default.fallback)
        tasks.setdefault(_number(value), []).append(task.name)
    if len(tasks) == 1:
        return next(iter(tasks))
    *few, (usual, _) = sorted(tasks.items(), key=lambda entry: len(entry[1]))
    named = [f"{', '.join(names)}: {value}" for value, names in few]
    return f"the task's ({', '.join([*named, f'else {usual}'])})"


def _number(value: Any) -> str:
    return f"{value:.6g}" if isinstance(value, float) else f"{value}"
