"""Which reading of an unclear point moves the result, and by how much.

Runs under a preset (`--reading=paper`, `released`) are compared, seed by seed, with runs that
differ from them in one reading alone, and with those of the other preset. What is compared is an
algorithm's score, and F3AST's lead over FedAvg.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from f3ast_tff.analysis.paired_difference import PairedDifference, paired_difference
from f3ast_tff.analysis.report.samples import Sample, higher_is_better
from f3ast_tff.availability.catalogue import ENTRIES
from f3ast_tff.configuration.readings import PRESETS, READINGS, value_of

# What a reading concerns, where that is not every algorithm.
_CONCERNS = {
    "rate_init": ("f3ast", "f3ast_adam"),
    "aggregate": ("f3ast", "f3ast_adam"),
    "availability_objective": ("f3ast", "f3ast_adam"),
    "ties": ("f3ast", "f3ast_adam"),
    "short_rounds": ("f3ast", "f3ast_adam"),
    "baseline_sampling": ("fedavg", "fedadam"),
    "baseline_average": ("fedavg", "fedadam"),
    "poc_loss": ("poc",),
    "poc_clip_norm": ("poc",),
    "ca_fed_bias": ("ca_fed",),
}
LEAD = ("f3ast", "fedavg")
ALPHAS = (0, 0.5, 1)
FEWEST_SEEDS = 3


@dataclass(frozen=True)
class Effect:
    """What a switch does.

    Attributes:
        place: Task, availability and what else names the base.
        preset: The reading of the base.
        what: An algorithm's name; `"lead"` for F3AST minus FedAvg.
        switch: The reading that differs, such as `R1 rate_init: p`; or `all: released`.
        base: Mean score (or lead) of the base.
        found: Switched minus base; `None` for fewer than 2 common seeds.
        num_common: Common seeds.
    """

    place: str
    preset: str
    what: str
    switch: str
    base: float
    found: PairedDifference | None
    num_common: int

    @property
    def moves(self) -> str:
        """Whether the interval leaves out 0."""
        if self.found is None or self.num_common < FEWEST_SEEDS:
            return "not enough runs"
        return "yes" if self.found.low > 0 or self.found.high < 0 else "not seen"


@dataclass(frozen=True)
class Ordering:
    """Table IX under one reading: is F3AST above FedAvg for every alpha?

    Attributes:
        reading: The preset, and what differs from it.
        leads: F3AST minus FedAvg by alpha; `None` where it was not run, or for one seed alone.
        reproduced: `yes` if every lead's interval lies above 0, `no` if one lies below,
            `not shown` if all were run and one holds 0, else `not enough runs`.
    """

    reading: str
    leads: dict[float, PairedDifference | None]
    reproduced: str


def switched(sample: Sample) -> tuple[str, ...]:
    """Returns the readings in which a sample differs from its preset.

    F3AST by CA-Fed's rule counts as an algorithm, not as a reading (`samples.AS_IN_CA_FED`).
    """
    names = []
    for name in READINGS:
        if name == "f3ast_rule":
            continue
        value = sample.setting(name)
        if value is not None and value != _preset_value(sample, name):
            names.append(name)
    return tuple(names)


def effects(samples: Sequence[Sample], metric: str, period: str) -> list[Effect]:
    """Returns what each single switch, and the other preset, does to scores and leads.

    Returns:
        For each base, the largest first.
    """
    worlds: dict[tuple[Any, ...], list[Sample]] = {}
    for sample in samples:
        worlds.setdefault(_place(sample), []).append(sample)
    found: dict[tuple[Any, ...], list[Effect]] = {}
    for place, members in worlds.items():
        for preset in PRESETS:
            of_preset = [s for s in members if s.setting("reading") == preset]
            # Said once: the way back has the same size.
            first = preset == PRESETS[0]
            others = [s for s in members if first and s not in of_preset and not switched(s)]
            linear = dict(place).get("task") == "synthetic" and first
            others += [s for s in worlds.get(_linear(place), []) if linear and _is_pure(s, preset)]
            of_base = _of_base("", preset, of_preset, others, metric, period)
            if of_base:
                found.setdefault(place, []).extend(of_base)
    return [
        replace(effect, place=_name(place, found))
        for place, of_place in found.items()
        for effect in of_place
    ]


def _one_reading(names: Sequence[str]) -> bool:
    """Whether switches are of one number: R3 is two settings."""
    return len({READINGS[name].number for name in names}) == 1


def _is_pure(sample: Sample, preset: str) -> bool:
    return sample.setting("reading") == preset and not switched(sample)


def _linear(place: tuple[Any, ...]) -> tuple[Any, ...]:
    """The same place with the generator of App. C (R6)."""
    return tuple((n, "synthetic_linear" if n == "task" else v) for n, v in place)


def _of_base(
    place: str,
    preset: str,
    of_preset: Sequence[Sample],
    others: Sequence[Sample],
    metric: str,
    period: str,
) -> list[Effect]:
    by_switch: dict[tuple[str, ...], dict[str, Sample]] = {}
    for sample in of_preset:
        by_switch.setdefault(switched(sample), {})[sample.algorithm] = sample
    base = by_switch.pop((), {})
    candidates: dict[str, tuple[tuple[str, ...], dict[str, Sample]]] = {
        _switch_text(names, members): (names, members)
        for names, members in by_switch.items()
        if _one_reading(names)
    }
    for sample in others:
        other_task = sample.setting("reading") == preset
        key = "R6 task: synthetic_linear" if other_task else f"all: {sample.setting('reading')}"
        candidates.setdefault(key, ((), {}))[1][sample.algorithm] = sample
    found = []
    for text, (names, members) in candidates.items():
        for algorithm, sample in members.items():
            if algorithm in base:
                scores = [s.scores(metric, period) for s in (sample, base[algorithm])]
                found.append(_effect(place, preset, algorithm, text, *scores))
        full = dict(members)
        for algorithm in LEAD:
            # A reading that does not concern an algorithm leaves its runs as they are.
            concerned = any(algorithm in _CONCERNS.get(n, LEAD) for n in names) or not names
            if algorithm not in full and not concerned and algorithm in base:
                full[algorithm] = base[algorithm]
        both = all(algorithm in part for algorithm in LEAD for part in (full, base))
        if both and any(algorithm in members for algorithm in LEAD):
            leads = [_lead(part, metric, period) for part in (full, base)]
            found.append(_effect(place, preset, "lead", text, *leads))
    return sorted(found, key=lambda e: (e.what != "lead", e.what, -_size(e)))


def table9_orderings(samples: Sequence[Sample], period: str) -> list[Ordering]:
    """Returns Table IX's ordering under every reading that has runs of it."""
    by_reading: dict[tuple[str, str], dict[float, dict[str, Sample]]] = {}
    concerned: dict[str, set[str]] = {}
    bases: dict[tuple[str, float], dict[str, Sample]] = {}
    for sample in samples:
        alpha = sample.setting("synthetic_alpha")
        names = switched(sample)
        if not _of_table9(sample) or (names and not _one_reading(names)):
            continue
        preset = str(sample.setting("reading"))
        if not names:
            bases.setdefault((preset, alpha), {})[sample.algorithm] = sample
        switch = _switch_text(names, {"": sample}) if names else ""
        concerned[switch] = {a for name in names for a in _CONCERNS.get(name, LEAD)}
        at = by_reading.setdefault((preset, switch), {}).setdefault(alpha, {})
        at[sample.algorithm] = sample
    found = []
    for (preset, switch), by_alpha in by_reading.items():
        leads: dict[float, PairedDifference | None] = {}
        for alpha in ALPHAS:
            full = dict(by_alpha.get(alpha, {}))
            for algorithm in LEAD:
                base = bases.get((preset, alpha), {})
                if switch and algorithm not in concerned[switch] and algorithm in base:
                    full.setdefault(algorithm, base[algorithm])
            leads[alpha] = _lead_interval(full, period)
        text = f"{preset}, {switch}" if switch else preset
        found.append(Ordering(text, leads, _reproduced(leads.values())))
    return sorted(found, key=lambda ordering: ordering.reading)


def _lead_interval(members: dict[str, Sample], period: str) -> PairedDifference | None:
    if any(algorithm not in members for algorithm in LEAD):
        return None
    a, b = (members[algorithm].scores("sample_accuracy", period) for algorithm in LEAD)
    return paired_difference(a, b) if len(a.keys() & b.keys()) > 1 else None


def _reproduced(leads: Iterable[PairedDifference | None]) -> str:
    judged = [lead for lead in leads if lead is not None and lead.num_seeds >= FEWEST_SEEDS]
    if any(lead.high < 0 for lead in judged):
        return "no"
    if len(judged) < len(ALPHAS):
        return "not enough runs"
    return "yes" if all(lead.low > 0 for lead in judged) else "not shown"


def _lead(members: dict[str, Sample], metric: str, period: str) -> dict[int, float]:
    a, b = (members[algorithm].scores(metric, period) for algorithm in LEAD)
    sign = 1 if higher_is_better(metric) else -1
    return {seed: sign * (a[seed] - b[seed]) for seed in a.keys() & b.keys()}


def _effect(
    place: str, preset: str, what: str, text: str, now: dict[int, float], base: dict[int, float]
) -> Effect:
    num_common = len(now.keys() & base.keys())
    found = paired_difference(now, base) if num_common > 1 else None
    mean = sum(base.values()) / len(base) if base else float("nan")
    return Effect(place, preset, what, text, mean, found, num_common)


def _size(effect: Effect) -> float:
    return 0.0 if effect.found is None else abs(effect.found.mean)


def _switch_text(names: Sequence[str], members: dict[str, Sample]) -> str:
    sample = next(iter(members.values()))
    return ", ".join(f"{READINGS[n].number} {n}: {sample.setting(n)}" for n in names)


def _of_table9(sample: Sample) -> bool:
    wanted = {"task": "synthetic", "availability": "smartphones", "clients_per_round": 10}
    alpha = sample.setting("synthetic_alpha")
    return (
        all(sample.setting(name) == value for name, value in wanted.items())
        and sample.setting("communication") is None
        and alpha in ALPHAS
        and sample.setting("synthetic_beta") == alpha
        and sample.algorithm in LEAD
    )


def _preset_value(sample: Sample, name: str) -> Any:
    value = value_of(name, sample.world["reading"])
    if name == "availability_objective" and value is None:
        entry = ENTRIES.get(sample.world["availability"])
        correlated = entry is not None and entry.process.positively_correlated
        return "p" if correlated else "p_squared"
    return value


def _place(sample: Sample) -> tuple[Any, ...]:
    """All settings but the readings: runs of one place differ in readings and algorithm alone."""
    return tuple(
        (name, value)
        for name, value in sorted(sample.world.items())
        if name != "reading" and name not in READINGS
    )


def _name(place: tuple[Any, ...], places: Iterable[tuple[Any, ...]]) -> str:
    settings = dict(place)
    others = [dict(other) for other in places]
    shown = ["task", "availability"]
    for name in settings:
        if name not in shown and any(o.get(name) != settings[name] for o in others):
            shown.append(name)
    values = [
        f"{settings[n]}" if n in ("task", "availability") else f"{n} {settings[n]}" for n in shown
    ]
    return ", ".join(values)
