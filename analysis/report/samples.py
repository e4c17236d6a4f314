"""Runs that differ by the seed alone, and which of them may be compared."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from f3ast_tff.analysis.grouping import NAMES, NOT_COMPARED, OF_AN_ALGORITHM, describe
from f3ast_tff.analysis.runs import Run
from f3ast_tff.configuration.readings import READINGS

PERIODS = ("final", "mean_of_last_10_percent")
# F3AST by the rule that CA-Fed's authors ran under its name.
AS_IN_CA_FED = "f3ast_of_ca_fed"
# Where a run was kept and how it was carried out decides no result.
_NO_MATTER = (
    *NOT_COMPARED,
    "data_dir",
    "tff_clients_at_once",
    "tff_runtime",
    "num_workers",
    "ray_address",
    "round_timeout",
)


@dataclass(frozen=True, eq=False)
class Sample:
    """Runs of one algorithm that differ by the seed alone.

    Attributes:
        algorithm: As in the settings, or `AS_IN_CA_FED`.
        world: Settings that runs of other algorithms must share to be compared with these.
        own: Settings that algorithms may differ in.
        runs: Finished runs by seed.
    """

    algorithm: str
    world: dict[str, Any]
    own: dict[str, Any]
    runs: dict[int, Run]

    def setting(self, name: str) -> Any:
        """Returns a setting, `None` where the runs do not have it."""
        return self.world.get(name, self.own.get(name))

    def scores(self, metric: str, period: str) -> dict[int, float]:
        """Returns a score by seed.

        Args:
            metric: One of `f3ast_tff.analysis.runs.SCORES`; `best_<score>` for the best over all
                evaluations; `converged_<score>` for the mean of the last 10%.
            period: One of `PERIODS`, for a plain score.

        Returns:
            NaN for what was not finite.
        """
        kind, _, score = metric.partition("_")
        if kind not in ("best", "converged"):
            score, kind = metric, ""
        column = f"test_{score}"
        values = {}
        for seed, run in self.runs.items():
            if kind == "best":
                best = run.metrics[column].max() if higher_is_better(score) else None
                values[seed] = float(run.metrics[column].min() if best is None else best)
                continue
            summary = run.summary or {}
            value = summary["mean_of_last_10_percent" if kind else period][column]
            values[seed] = math.nan if value is None else float(value)
        return values


@dataclass(frozen=True, eq=False)
class Variant:
    """Samples that fit into one table: at most one in each cell.

    Attributes:
        settings: What sets this variant apart from the others of its table.
        common: Settings of `grouping.CONDITION` that all its samples share.
        samples: The samples.
    """

    settings: dict[str, Any]
    common: dict[str, Any]
    samples: tuple[Sample, ...]

    @property
    def label(self) -> str:
        """The variant in words."""
        named = {**self.common, **self.settings}
        return describe(named, list(named)) or "all runs"


def higher_is_better(metric: str) -> bool:
    """Whether a score is an accuracy, not a loss."""
    return metric.endswith("accuracy")


def samples_of(runs: Iterable[Run]) -> tuple[list[Sample], list[str]]:
    """Groups runs by everything but the seed.

    Returns:
        The samples, and a line for each run left out because it is there twice.
    """
    found: dict[tuple[Any, ...], Sample] = {}
    repeated = []
    for run in runs:
        # `None` is a setting not in use, and what an older version did not know was not.
        settings = {name: value for name, value in run.settings.items() if value is not None}
        world = {n: v for n, v in settings.items() if n not in (*OF_AN_ALGORITHM, *_NO_MATTER)}
        own = {n: v for n, v in settings.items() if n in OF_AN_ALGORITHM}
        algorithm = settings["algorithm"]
        if algorithm == "f3ast" and settings.get("f3ast_rule") == "ca_fed":
            algorithm = AS_IN_CA_FED
        key = (algorithm, _key(world), _key(own))
        sample = found.setdefault(key, Sample(algorithm, world, own, {}))
        first = sample.runs.setdefault(settings["seed"], run)
        if first is not run:
            repeated.append(f"{run.path} has the settings and the seed of {first.path}")
    return sorted(found.values(), key=_order), repeated


def variants(
    samples: Sequence[Sample], cell: Sequence[str], named: Sequence[str] = ("reading",)
) -> list[Variant]:
    """Splits samples into the fewest sets that hold at most one sample a cell.

    Algorithms whose own settings do not vary stand in every set of the same world. The samples must
    have the readings of a preset; sets are named by the preset.

    Args:
        samples: What to split.
        cell: The settings that, with the algorithm, name a cell of the table.
        named: Settings to name in any case.
    """
    worlds = _varying((s for s in samples), cell, "world")
    split: dict[tuple[Any, ...], list[Sample]] = {}
    for sample in samples:
        key = tuple(sample.world.get(name) for name in worlds)
        split.setdefault(key, []).append(sample)
    result = []
    for key, members in split.items():
        own = _varying(members, [*cell, "algorithm"], "own")
        chosen: dict[str, list[str]] = {}
        for algorithm in {sample.algorithm for sample in members}:
            of_it = [sample for sample in members if sample.algorithm == algorithm]
            chosen[algorithm] = [n for n in own if n in _varying(of_it, cell, "own")]
        combinations: dict[tuple[Any, ...], dict[str, Any]] = {}
        for sample in members:
            names = chosen[sample.algorithm]
            if names:
                partial = {name: sample.own.get(name) for name in names}
                combinations.setdefault(_key(partial), partial)
        for partial in combinations.values() or [{}]:
            kept = tuple(
                s
                for s in members
                if all(partial.get(n, _NONE) == s.own.get(n) for n in chosen[s.algorithm])
            )
            settings = {**dict(zip(worlds, key)), **partial}
            if "reading" in worlds:
                settings = {n: v for n, v in settings.items() if n not in READINGS}
            shared = kept[0].world
            common = {n: shared[n] for n in named if n not in settings and n in shared}
            result.append(Variant(settings, common, kept))
    return sorted(result, key=lambda variant: variant.label)


def freed(sample: Sample, names: Sequence[str]) -> Sample:
    """Returns a sample whose settings of these names are its algorithm's own."""
    moved = {name: value for name, value in sample.world.items() if name in names}
    world = {name: value for name, value in sample.world.items() if name not in names}
    return replace(sample, world=world, own={**sample.own, **moved})


_NONE = object()


def _varying(samples: Iterable[Sample], cell: Sequence[str], part: str) -> list[str]:
    """Settings that take several values within one cell."""
    seen: dict[tuple[Any, ...], dict[str, Any]] = {}
    varying: dict[str, None] = {}
    for sample in samples:
        values = getattr(sample, part)
        key = tuple(
            sample.algorithm if name == "algorithm" else sample.world.get(name) for name in cell
        )
        first = seen.setdefault(key, values)
        if first is not values:
            for name in {**first, **values}:
                if name not in cell and first.get(name) != values.get(name):
                    varying[name] = None
    return list(varying)


def _key(settings: Mapping[str, Any]) -> tuple[tuple[str, Any], ...]:
    return tuple(sorted(settings.items()))


def _order(sample: Sample) -> tuple[Any, ...]:
    order = list(NAMES)
    rank = order.index(sample.algorithm) if sample.algorithm in NAMES else len(order)
    world = tuple(
        (0, float(value), "") if isinstance(value, (int, float)) else (1, 0.0, str(value))
        for _, value in sorted(sample.world.items())
    )
    own = tuple(str(value) for _, value in sorted(sample.own.items()))
    return (rank, sample.algorithm, world, own)
