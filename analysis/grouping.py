"""Which runs may be compared with each other, and which differ by the seed alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from f3ast_tff.analysis.runs import Run, RunsError

NAMES = {
    "fedavg": "FedAvg",
    "fedadam": "FedAdam",
    "f3ast": "F3AST",
    "f3ast_adam": "F3AST+Adam",
    "f3ast_fixed": "F3AST, fixed policy",
    "uniform": "Uniform",
    "poc": "Power-of-Choice",
    "unbiased": "Unbiased",
    "more_available": "More available",
    "adafed": "AdaFed",
    "ca_fed": "CA-Fed",
    "fedlaavg": "FedLaAvg",
    "fedavg_then_fedlaavg": "FedAvg, then FedLaAvg",
    "sequential_sgd": "Sequential SGD",
}
CONDITION = ("task", "availability", "reading", "clients_per_round", "rounds", "engine")
# What is a run's own, or only its place.
NOT_COMPARED = ("algorithm", "seed", "checkpoint_every", "output_dir", "run_name")
# Algorithms may differ in these and still be compared; runs to be averaged may not.
OF_AN_ALGORITHM = (
    "rate_beta",
    "rate_clusters",
    "policy_states",
    "activity",
    "activity_history",
    "kappa2",
    "tau",
    "loss_beta",
    "more_available_pi",
    "loss_minima",
    "poc_candidates",
    "client_lr",
    "client_lr_decay",
    "switch_round",
    "server_lr",
    "epsilon",
    "client_optimizer",
    "server_optimizer",
    "client_momentum",
    "server_momentum",
    "rate_init",
    "aggregate",
    "baseline_sampling",
    "baseline_average",
    "availability_objective",
    "poc_loss",
    "ties",
    "short_rounds",
    "poc_clip_norm",
    "f3ast_rule",
    "ca_fed_bias",
    "eval_every",
)
_PHRASES = {
    "task": "{}",
    "availability": "{}",
    "reading": "reading {}",
    "clients_per_round": "{} clients a round",
    "rounds": "{} rounds",
    "engine": "engine {}",
}


@dataclass(frozen=True)
class Group:
    """Runs that differ by the seed alone.

    Attributes:
        algorithm: As in the settings.
        condition: The settings that set runs apart, by name; the same names in all groups.
        runs: The runs, one a seed.
    """

    algorithm: str
    condition: dict[str, Any]
    runs: tuple[Run, ...]


def group_runs(runs: Sequence[Run]) -> list[Group]:
    """Groups runs by condition, then algorithm.

    The condition is `CONDITION`, and any further setting that would otherwise differ between runs
    that are averaged or compared: nothing but the seed is ever averaged over.

    Args:
        runs: Runs to group.

    Returns:
        The groups, sorted by condition, then in the order of `NAMES`, then by algorithm.

    Raises:
        RunsError: If two runs are the same experiment with the same seed.
    """
    names = [*CONDITION, *_further_settings(runs)]
    groups: dict[tuple[Any, ...], list[Run]] = {}
    for run in runs:
        key = (*(run.settings.get(name) for name in names), run.settings["algorithm"])
        groups.setdefault(key, []).append(run)
    for group in groups.values():
        _refuse_same_seed(group)
    return [
        Group(key[-1], dict(zip(names, key[:-1])), tuple(groups[key]))
        for key in sorted(groups, key=_sort_key)
    ]


def describe(condition: dict[str, Any], names: Sequence[str]) -> str:
    """Returns a condition in words, by those of its settings that are named."""
    return ", ".join(_PHRASES.get(name, f"{name} {{}}").format(condition[name]) for name in names)


def _further_settings(runs: Sequence[Run]) -> list[str]:
    further = []
    every_name = dict.fromkeys(name for run in runs for name in run.settings)
    for name in every_name:
        if name in CONDITION or name in NOT_COMPARED:
            continue
        same = [*CONDITION, "algorithm"] if name in OF_AN_ALGORITHM else CONDITION
        seen: dict[tuple[Any, ...], Any] = {}
        for run in runs:
            value = run.settings.get(name)
            if seen.setdefault(tuple(run.settings[key] for key in same), value) != value:
                further.append(name)
                break
    return further


def _refuse_same_seed(group: Sequence[Run]) -> None:
    seen: dict[int, Run] = {}
    for run in group:
        other = seen.setdefault(run.settings["seed"], run)
        if other is not run:
            raise RunsError(f"{other.path} and {run.path} are the same run: same settings and seed")


def _sort_key(key: tuple[Any, ...]) -> list[tuple[int, float, str]]:
    *condition, algorithm = key
    order = list(NAMES)
    rank = order.index(algorithm) if algorithm in NAMES else len(order)
    # A setting may be a number in one run and not given (None) in another.
    values = [
        (0, value, "") if isinstance(value, (int, float)) else (1, 0, str(value))
        for value in condition
    ]
    return [*values, (0, rank, algorithm)]
