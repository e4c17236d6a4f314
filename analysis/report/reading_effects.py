"""Which reading of an unclear point moves the result, and by how much.

Runs under a preset (`--reading=paper`, `released`) are compared, seed by seed, with runs that
differ from them in one reading alone, and with those of the other preset. What is compared is an
algorithm's score, and F3AST's lead over FedAvg.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from f3ast_tff.analysis.paired_difference import PairedDifference, paired_difference
from f3ast_tff.analysis.report.readings import readings, switched
from f3ast_tff.analysis.run_groups import RunGroup, higher_is_better
from f3ast_tff.components.defaults import PRESETS

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
        display: The same in words.
        switch: The reading that differs, such as `R1 rate_init: p`; or `all: released`.
        base: Mean score (or lead) of the base.
        found: Switched minus base; `None` for fewer than 2 common seeds.
        num_common: Common seeds.
    """

    place: str
    preset: str
    what: str
    display: str
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


def effects(groups: Sequence[RunGroup], metric: str, period: str) -> list[Effect]:
    """Returns what each single switch, and the other preset, does to scores and leads.

    Returns:
        For each base, the largest first.
    """
    worlds: dict[tuple[Any, ...], list[RunGroup]] = {}
    for group in groups:
        worlds.setdefault(_place(group), []).append(group)
    switches = {group: switched(group) for group in groups}
    found: dict[tuple[Any, ...], list[Effect]] = {}
    for place, members in worlds.items():
        for preset in PRESETS:
            of_preset = [g for g in members if g.setting("reading") == preset]
            others = []
            # Said once: the way back has the same size.
            if preset == PRESETS[0]:
                others = [g for g in members if g not in of_preset and not switches[g]]
                others += [
                    g
                    for g in worlds.get(_linear(place), [])
                    if g.setting("reading") == preset and not switches[g]
                ]
            of_base = _of_base(preset, {g: switches[g] for g in of_preset}, others, metric, period)
            if of_base:
                found.setdefault(place, []).extend(of_base)
    return [
        replace(effect, place=_name(place, found))
        for place, of_place in found.items()
        for effect in of_place
    ]


def _one_reading(names: Sequence[str]) -> bool:
    """Whether switches are of one number: R3 is two settings."""
    return len({readings()[name].reading.number for name in names}) == 1


def _linear(place: tuple[Any, ...]) -> tuple[Any, ...]:
    """The place of Synthetic(1, 1) with the generator of App. C (R6)."""
    settings = dict(place)
    alphas = [settings.pop(name, 1) for name in ("synthetic_alpha", "synthetic_beta")]
    if settings["task"] != "synthetic" or alphas != [1, 1]:
        return ()
    return tuple({**settings, "task": "synthetic_linear"}.items())


def _of_base(
    preset: str,
    of_preset: Mapping[RunGroup, tuple[str, ...]],
    others: Sequence[RunGroup],
    metric: str,
    period: str,
) -> list[Effect]:
    by_switch: dict[tuple[str, ...], dict[str, RunGroup]] = {}
    for group, names in of_preset.items():
        by_switch.setdefault(names, {})[group.algorithm] = group
    base = by_switch.pop((), {})
    candidates: dict[str, tuple[tuple[str, ...], dict[str, RunGroup]]] = {
        _switch_text(names, members): (names, members)
        for names, members in by_switch.items()
        if _one_reading(names)
    }
    for group in others:
        other_task = group.setting("reading") == preset
        key = "R6 task: synthetic_linear" if other_task else f"all: {group.setting('reading')}"
        candidates.setdefault(key, ((), {}))[1][group.algorithm] = group
    found = []
    for text, (names, members) in candidates.items():
        for algorithm, group in members.items():
            if algorithm in base:
                scores = [g.scores(metric, period) for g in (group, base[algorithm])]
                found.append(_effect(preset, (algorithm, group.display), text, *scores))
        full = dict(members)
        for algorithm in LEAD:
            # A reading that does not concern an algorithm leaves its runs as they are.
            concerned = any(readings()[n].concerns(algorithm) for n in names) or not names
            if algorithm not in full and not concerned and algorithm in base:
                full[algorithm] = base[algorithm]
        both = all(algorithm in part for algorithm in LEAD for part in (full, base))
        if both and any(algorithm in members for algorithm in LEAD):
            leads = [_lead(part, metric, period) for part in (full, base)]
            found.append(_effect(preset, ("lead", "F3AST's lead"), text, *leads))
    return sorted(found, key=lambda e: (e.what != "lead", e.what, -_size(e)))


def table9_orderings(groups: Sequence[RunGroup], period: str) -> list[Ordering]:
    """Returns Table IX's ordering under every reading that has runs of it."""
    by_reading: dict[tuple[str, str], dict[float, dict[str, RunGroup]]] = {}
    concerned: dict[str, set[str]] = {}
    bases: dict[tuple[str, float], dict[str, RunGroup]] = {}
    for group in filter(_of_table9, groups):
        names = switched(group)
        if names and not _one_reading(names):
            continue
        preset, alpha = str(group.setting("reading")), group.setting("synthetic_alpha")
        if not names:
            bases.setdefault((preset, alpha), {})[group.algorithm] = group
        switch = _switch_text(names, {"": group}) if names else ""
        concerned[switch] = {a for a in LEAD for name in names if readings()[name].concerns(a)}
        at = by_reading.setdefault((preset, switch), {}).setdefault(alpha, {})
        at[group.algorithm] = group
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


def _lead_interval(members: dict[str, RunGroup], period: str) -> PairedDifference | None:
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


def _lead(members: dict[str, RunGroup], metric: str, period: str) -> dict[int, float]:
    a, b = (members[algorithm].scores(metric, period) for algorithm in LEAD)
    sign = 1 if higher_is_better(metric) else -1
    return {seed: sign * (a[seed] - b[seed]) for seed in a.keys() & b.keys()}


def _effect(
    preset: str, what: tuple[str, str], text: str, now: dict[int, float], base: dict[int, float]
) -> Effect:
    num_common = len(now.keys() & base.keys())
    found = paired_difference(now, base) if num_common > 1 else None
    mean = sum(base.values()) / len(base) if base else float("nan")
    return Effect("", preset, *what, text, mean, found, num_common)


def _size(effect: Effect) -> float:
    return 0.0 if effect.found is None else abs(effect.found.mean)


def _switch_text(names: Sequence[str], members: Mapping[str, RunGroup]) -> str:
    group = next(iter(members.values()))
    return ", ".join(f"{readings()[n].reading.number} {n}: {group.setting(n)}" for n in names)


def _of_table9(group: RunGroup) -> bool:
    wanted = {"task": "synthetic", "availability": "smartphones", "clients_per_round": 10}
    alpha = group.setting("synthetic_alpha")
    return (
        all(group.setting(name) == value for name, value in wanted.items())
        and alpha in ALPHAS
        and group.setting("synthetic_beta") == alpha
        and group.algorithm in LEAD
    )


def _place(group: RunGroup) -> tuple[Any, ...]:
    """All settings but the readings: runs of one place differ in readings and algorithm alone."""
    return tuple(
        (name, value)
        for name, value in sorted(group.world.items())
        if name != "reading" and name not in readings()
    )


def _name(place: tuple[Any, ...], places: Iterable[tuple[Any, ...]]) -> str:
    settings = dict(place)
    others = [dict(other) for other in places]
    shown = ["task", "availability"]
    for name in settings:
        if name not in shown and any(o.get(name, settings[name]) != settings[name] for o in others):
            shown.append(name)
    values = [
        f"{settings[n]}" if n in ("task", "availability") else f"{n} {settings[n]}" for n in shown
    ]
    return ", ".join(values)
