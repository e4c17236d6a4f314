"""The baseline of a method among the methods of a study."""

from __future__ import annotations

from collections.abc import Sequence

from f3ast_tff.analysis.compare.scored import RunsError
from f3ast_tff.analysis.study_runs import (
    Method,
    components_of,
    config_of,
    defaults_of,
    method_name,
    not_default,
)
from f3ast_tff.settings import builtin_registry

FEDAVG = {"algorithm": "fedavg"}
# Aggregations that add nothing to a weighted average.
_PLAIN = ("sum", "mean")


def corrected_by(method: Method) -> Method:
    """Returns settings of the method that a method corrects.

    If the aggregation is not the algorithm's default, the method corrects the same algorithm with
    the default aggregation. Otherwise it corrects the method named by the algorithm. If an
    algorithm corrects no method, its sum and its mean are both baselines: no settings.
    """
    config = config_of(method)
    aggregation = components_of(method)[1]
    if aggregation == config.aggregation or (not config.corrects and aggregation in _PLAIN):
        return config.corrects
    return {"algorithm": method["algorithm"], "aggregation": config.aggregation}


def find_method(
    task: str, wanted: Method, methods: Sequence[Method], beside: Method
) -> Method | None:
    """Returns the method of a study with given settings, as a baseline of another method.

    If several methods have these settings, the one that shares most settings with `beside` wins;
    algorithm and aggregation do not count, the number of clients per round does, for example. Ties
    go to the method with the fewest settings that differ from their defaults.

    Args:
        task: Name of the task.
        wanted: Settings of the baseline; without an aggregation, the algorithm's default counts.
        methods: The methods of the study.
        beside: The method that is compared with the baseline.

    Returns:
        The method, which may be `beside` itself; `None` if there is none, or `wanted` is empty.

    Raises:
        RunsError: If several are equally near.
    """
    if not wanted:
        return None
    wanted = {"aggregation": config_of(wanted).aggregation, **wanted}
    costs = []
    for method in methods:
        known = {**defaults_of(task, *components_of(method)), **method}
        known["aggregation"] = components_of(method)[1]
        if all(known.get(name) == value for name, value in wanted.items()):
            costs.append((_distance(task, wanted, method, beside), method))
    costs.sort(key=lambda each: each[0])
    if len(costs) > 1 and costs[0][0] == costs[1][0]:
        first, second, other = (
            method_name(task, each) for each in (costs[0][1], costs[1][1], beside)
        )
        raise RunsError(
            f"{first} and {second} could both be the baseline of {other}; keep one with --where"
        )
    return costs[0][1] if costs else None


def _distance(task: str, wanted: Method, method: Method, beside: Method) -> tuple[int, int]:
    components = builtin_registry().components
    own: set[str] = {"algorithm", "aggregation"}
    for kind, name in zip(("algorithm", "aggregation"), components_of(method)):
        if name in components[kind]:
            own |= {parameter.name for parameter in components[kind][name].parameters}
    shared = [name for name in method if name not in own and method[name] and beside.get(name)]
    others = [name for name in not_default(task, method) if name in own and name not in wanted]
    return sum(method[name] != beside[name] for name in shared), len(others)
