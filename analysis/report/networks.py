"""Which network runs were made with: the one that the papers print numbers for, or another."""

from __future__ import annotations

from collections.abc import Iterable

from f3ast_tff.analysis.run_groups import RunGroup
from f3ast_tff.components import builtin_registry

PUBLISHED = ""
SMALL = "small networks"
OTHER = "other networks"
# Small enough for all of Table III on two cores; rounds that a verdict on them needs.
_SMALL: dict[str, dict[str, object]] = {
    "cifar100": {"model": "small_cnn"},
    "shakespeare": {"model": "character_lstm", "lstm_units": 32},
}
SMALL_ROUNDS = {"cifar100": 500, "shakespeare": 300}


def network_of(group: RunGroup) -> str:
    """Returns `PUBLISHED` for the network that the task has by itself, else `SMALL` or `OTHER`.

    A network is another one if it is another model, or a parameter of it that neither the
    reading nor the task decides is not the default. Tasks of plug-ins have no published network.
    """
    components = builtin_registry().components
    task = components["task"].get(group.settings["task"])
    if task is None:
        return PUBLISHED
    name = group.settings.get("model", task.config.model)
    model = components["model"].get(name)
    declared = () if model is None else model.parameters
    plain = all(
        group.settings.get(p.name, p.default) == p.default
        for p in declared
        # Others follow from the reading or the task.
        if isinstance(p.default, (int, float, str))
    )
    if name == task.config.model and plain:
        return PUBLISHED
    small = _SMALL.get(group.settings["task"])
    if small is not None and all(group.settings.get(n) == v for n, v in small.items()):
        return SMALL
    return OTHER


def by_network(groups: Iterable[RunGroup]) -> dict[str, list[RunGroup]]:
    """Returns groups by `network_of`, the published ones first."""
    found: dict[str, list[RunGroup]] = {}
    for group in groups:
        found.setdefault(network_of(group), []).append(group)
    return {name: found[name] for name in (PUBLISHED, SMALL, OTHER) if name in found}
