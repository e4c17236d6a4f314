"""Components in words, for `--help` and for the tables in docs/."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Mapping
from typing import Any

from f3ast_tff.settings import REQUIRED, Derived, Parameter, Published, Reading, Registry
from f3ast_tff.settings.component import Component
from f3ast_tff.settings.groups import GROUPS
from f3ast_tff.settings.kinds import KINDS
from f3ast_tff.settings.parameter import parameters_of


def kind_text(kind: str) -> str:
    """Returns the help of a kind, and its default."""
    default = KINDS[kind].default
    if isinstance(default, Derived):
        default = default.words
    return KINDS[kind].help + (f"; default: {default}" if default else "")


def by_takers(registry: Registry, kind: str) -> dict[tuple[str, ...], list[Parameter]]:
    """Returns a kind's parameters by the names of the components that have them; `()` for all."""
    takers: dict[str, list[str]] = {}
    parameters: dict[str, Parameter] = {}
    for component in registry.components[kind].values():
        for parameter in component.parameters:
            takers.setdefault(parameter.name, []).append(component.name)
            parameters.setdefault(parameter.name, parameter)
    everyone = registry.names(kind)
    found: dict[tuple[str, ...], list[Parameter]] = {}
    for name, parameter in parameters.items():
        key = () if tuple(takers[name]) == everyone else tuple(takers[name])
        found.setdefault(key, []).append(parameter)
    return dict(sorted(found.items(), key=lambda item: (item[0] != (), item[0])))


def parameter_text(parameter: Parameter, registry: Registry) -> str:
    """Returns help, choices or range, units and defaults of a parameter."""
    parts = [parameter.help]
    if parameter.choices:
        parts.append("one of " + ", ".join(parameter.choices))
    limits = range_text(parameter)
    if limits:
        parts.append(limits)
    if parameter.units:
        parts.append(f"in {parameter.units}")
    default = default_text(parameter, registry)
    if default:
        parts.append(default)
    return "; ".join(parts)


def range_text(parameter: Parameter) -> str:
    """Returns the range of a number in words, `""` if any number is allowed."""
    bounds = [
        ("at least", parameter.minimum),
        ("above", parameter.above),
        ("below", parameter.below),
        ("at most", parameter.maximum),
    ]
    return " and ".join(f"{words} {bound:g}" for words, bound in bounds if bound is not None)


def default_text(parameter: Parameter, registry: Registry) -> str:
    """Returns the default in words; if components differ, one per component."""
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
            sgd = value.get("sgd", default.fallback)
            value = value.get(component.name, sgd) if component is not None else sgd
        tasks.setdefault(_number(value), []).append(task.name)
    if len(tasks) == 1:
        return next(iter(tasks))
    return "the task's (" + ", ".join(f"{', '.join(n)}: {v}" for v, n in tasks.items()) + ")"


def _number(value: Any) -> str:
    return f"{value:.6g}" if isinstance(value, float) else f"{value}"


def markdown(registry: Registry) -> str:
    """Returns the page of all components, their parameters and published values, in Markdown."""
    lines = [
        "# Components",
        "",
        "Made from the code by `make docs-tables`; a test fails where the two differ.",
    ]
    for kind in KINDS:
        lines += [
            "",
            f"## `--{kind}`",
            "",
            f"{kind_text(kind)}.",
            "",
            "| name | in tables | about |",
        ]
        lines.append("|---|---|---|")
        for component in registry.components[kind].values():
            lines.append(f"| `{component.name}` | {component.display} | {component.about} |")
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


if __name__ == "__main__":
    from f3ast_tff.settings.registry import builtin_registry

    print(markdown(builtin_registry()), end="")
