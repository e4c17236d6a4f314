"""The effect of each reading of an unclear point on the result.

Runs under a preset (`--reading=paper`, `released`, `textbook`) are compared, pair by pair of data
draw and seed, with runs that differ only in one reading, and with runs under different presets.
The compared quantities are an algorithm's score and F3AST's lead over FedAvg.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from f3ast_tff.analysis.paired_difference import PairedDifference, difference_of_common
from f3ast_tff.analysis.report.readings import (
    Form,
    Settings,
    place_text,
    readings,
    switch_text,
    told_apart,
)
from f3ast_tff.analysis.run_groups import RunGroup, summarised
from f3ast_tff.analysis.runs import Pair
from f3ast_tff.analysis.score_directions import higher_is_better
from f3ast_tff.analysis.verdicts import holm, obstacle_to_verdict
from f3ast_tff.settings.kinds import KINDS
from f3ast_tff.settings.parameter import PRESETS

NOT_ENOUGH = "not enough runs"
LEAD = ("f3ast", "fedavg")
ALPHAS = (0, 0.5, 1)
# Settings that head Table IX's columns.
_COLUMN = ("synthetic_alpha", "synthetic_beta")
# Groups by algorithm, and these by preset and switches.
Methods = dict[str, RunGroup]
Members = dict[tuple[str, Settings], Methods]


@dataclass(frozen=True)
class Effect:
    """Effect of a switch.

    Attributes:
        place: Task, availability and further settings of the base.
        preset: The reading of the base.
        what: An algorithm's name; `"lead"` for F3AST minus FedAvg.
        display: `what` in words.
        switch: The reading that differs, such as `R1 rate_init: p`; or `all: released`.
        base: Mean score (or lead) of the base.
        found: Switched minus base; `None` for fewer than 2 common pairs.
        obstacle: Reason why no verdict is possible, `""` if one is.
        moves: `yes` if the interval does not contain 0 at the level that Holm's rule gives it among
            all leads (all scores); else `not seen`, or `not enough runs`.
    """

    place: str
    preset: str
    what: str
    display: str
    switch: str
    base: float
    found: PairedDifference | None
    obstacle: str
    moves: str = NOT_ENOUGH

    @property
    def size(self) -> float:
        """Absolute size of the effect; 0 if unknown."""
        return 0.0 if self.found is None else abs(self.found.mean)


@dataclass(frozen=True)
class Ordering:
    """Table IX under one reading: whether F3AST is above FedAvg for every alpha.

    Attributes:
        reading: The preset, and departures from it.
        leads: F3AST minus FedAvg by alpha; `None` if not run, or for a single pair.
        reproduced: `yes` if every lead's interval lies above 0 at the level that Holm's rule gives
            it among all leads of the table, `no` if an interval lies below, `not shown` if all can
            be judged and an interval contains 0, else `not enough runs`.
    """

    reading: str
    leads: dict[float, PairedDifference | None]
    reproduced: str


def effects(forms: Mapping[Form, RunGroup], metric: str, period: str) -> list[Effect]:
    """Returns the effects of single switches and of other presets on scores and leads.

    Effects are listed for each base, the largest first.
    """
    by_place: dict[Settings, Members] = {}
    for form, group in forms.items():
        of_switches = by_place.setdefault(form.place, {})
        of_switches.setdefault((form.preset, form.switches), {})[form.algorithm] = group
    found: dict[Settings, list[Effect]] = {}
    for place, members in by_place.items():
        for preset in PRESETS:
            linear = by_place.get(_linear(place), {}).get((preset, ()), {})
            if of_base := _of_base(preset, members, linear, metric, period):
                found.setdefault(place, []).extend(of_base)
    every = [
        replace(effect, place=place_text(place, found))
        for place, of_place in found.items()
        for effect in of_place
    ]
    leads, scores = ([e for e in every if (e.what == "lead") == lead] for lead in (True, False))
    moves = {id(e): m for family in (leads, scores) for e, m in zip(family, _moves(family))}
    return [replace(effect, moves=moves[id(effect)]) for effect in every]


def _moves(family: Sequence[Effect]) -> list[str]:
    """Returns `Effect.moves` for a family of effects, corrected for their number."""
    levels = _levels([None if e.obstacle else e.found for e in family])
    found = []
    for effect, level in zip(family, levels):
        if level is None or effect.found is None:
            found.append(NOT_ENOUGH)
        else:
            low, high = effect.found.interval(level)
            found.append("yes" if low > 0 or high < 0 else "not seen")
    return found


def _levels(family: Sequence[PairedDifference | None]) -> list[float | None]:
    """The level at which each difference is judged against 0; `None` if it cannot be judged."""
    errors = holm([each.p_value if each and math.isfinite(each.mean) else None for each in family])
    return [error and 1 - error for error in errors]


def _one_reading(switches: Settings) -> bool:
    """Whether switches belong to one reading number; R3 has two settings."""
    return len({readings()[name].reading.number for name, _ in switches}) == 1


def _linear(place: Settings) -> Settings:
    """The place of Synthetic(1, 1) with the generator of App. C (R6)."""
    settings = dict(place)
    # Settings that App. C's generator lacks, with the corresponding values.
    plain = {"synthetic_alpha": 1, "synthetic_beta": 1, "data_generator": "generator"}
    found = [settings.pop(name, value) for name, value in plain.items()]
    if settings["task"] != "synthetic" or found != list(plain.values()) or "size_limit" in settings:
        return ()
    return tuple({**settings, "task": "synthetic_linear"}.items())


def _of_base(
    preset: str, members: Members, linear: Methods, metric: str, period: str
) -> list[Effect]:
    """The effects on a preset's base at one place; `linear` holds runs of App. C's generator."""
    base = members.get((preset, ()), {})
    candidates = [
        (switch_text(switches), [name for name, _ in switches], switched)
        for (other, switches), switched in members.items()
        if other == preset and _one_reading(switches)
    ]
    # For the first preset alone: the way back has the same size.
    candidates += [
        (f"all: {other}", [], switched)
        for (other, switches), switched in members.items()
        if preset == PRESETS[0] and other != preset and not switches
    ]
    if preset == PRESETS[0]:
        candidates.append(("R6 task: synthetic_linear", [], linear))
    found = []
    for text, names, switched in candidates:
        full = _with_base(switched, base, names)
        compared = [(name, [name]) for name in switched if name in base]
        if base.keys() & full.keys() >= {*LEAD} and switched.keys() & {*LEAD}:
            compared.append(("lead", [*LEAD]))
        for what, methods in compared:
            groups = [part[name] for part in (full, base) for name in methods]
            ours, of_base = (_scores(part, methods, metric, period) for part in (full, base))
            difference = difference_of_common(ours, of_base)
            found.append(
                Effect(
                    place="",
                    preset=preset,
                    what=what,
                    display="F3AST's lead" if what == "lead" else switched[what].display,
                    switch=text,
                    base=summarised(of_base).mean if of_base else math.nan,
                    found=difference,
                    obstacle=obstacle_to_verdict(groups, difference),
                )
            )
    return sorted(found, key=lambda e: (e.what != "lead", e.what, -e.size))


def _with_base(switched: Methods, base: Methods, names: Sequence[str]) -> Methods:
    """The runs under switched readings; a method that they do not concern keeps its base."""
    stays = [n for n in LEAD if names and not any(readings()[r].concerns(n) for r in names)]
    return {**{name: base[name] for name in stays if name in base}, **switched}


def _scores(
    members: Methods, methods: Sequence[str], metric: str, period: str
) -> dict[Pair, float]:
    """The scores of a method; of two methods, the lead of the first over the second."""
    first, *others = (members[name].scores(metric, period) for name in methods)
    sign = 1 if higher_is_better(metric) else -1
    for other in others:
        first = {pair: sign * (first[pair] - other[pair]) for pair in first.keys() & other.keys()}
    return first


def table9_orderings(forms: Mapping[Form, RunGroup], period: str) -> list[Ordering]:
    """Returns Table IX's ordering under every reading with runs of it.

    Runs that differ in further settings than alpha, beta and readings (the number of rounds, for
    example) have separate orderings, if both methods ran.
    """
    rows: dict[tuple[Settings, str, Settings], dict[float, dict[str, RunGroup]]] = {}
    for form, group in forms.items():
        if not _of_table9(group) or (form.switches and not _one_reading(form.switches)):
            continue
        place = tuple(each for each in form.place if each[0] not in _COLUMN)
        row = rows.setdefault((place, form.preset, form.switches), {})
        row.setdefault(group.setting("synthetic_alpha"), {})[form.algorithm] = group
    ran: dict[Settings, set[str]] = {}
    for (place, _, _), by_alpha in rows.items():
        ran.setdefault(place, set()).update(name for each in by_alpha.values() for name in each)
    places = [place for place, algorithms in ran.items() if algorithms.issuperset(LEAD)]
    texts, found = [], []
    for (place, preset, switches), by_alpha in rows.items():
        if place not in places:
            continue
        said = [preset, switch_text(switches), *told_apart(place, places)]
        texts.append(", ".join(filter(None, said)))
        names = [name for name, _ in switches]
        for alpha in ALPHAS:
            base = rows.get((place, preset, ()), {}).get(alpha, {})
            full = _with_base(by_alpha.get(alpha, {}), base, names)
            found.append(_lead_interval(full, period))
    levels = _levels([None if obstacle else lead for lead, obstacle in found])
    orderings = []
    for number, text in enumerate(texts):
        here = slice(number * len(ALPHAS), (number + 1) * len(ALPHAS))
        leads = [lead for lead, _ in found[here]]
        judged = _reproduced(leads, levels[here])
        orderings.append(Ordering(text, dict(zip(ALPHAS, leads)), judged))
    return sorted(orderings, key=lambda ordering: ordering.reading)


def _lead_interval(
    members: dict[str, RunGroup], period: str
) -> tuple[PairedDifference | None, str]:
    """F3AST minus FedAvg, and the reason if there can be no verdict."""
    if any(algorithm not in members for algorithm in LEAD):
        return None, "not run"
    groups = [members[algorithm] for algorithm in LEAD]
    a, b = (group.scores("sample_accuracy", period) for group in groups)
    found = difference_of_common(a, b)
    return found, obstacle_to_verdict(groups, found)


def _reproduced(leads: Sequence[PairedDifference | None], levels: Sequence[float | None]) -> str:
    ends = [
        lead.interval(level)
        for lead, level in zip(leads, levels)
        if lead is not None and level is not None
    ]
    if any(high < 0 for _, high in ends):
        return "no"
    if len(ends) < len(ALPHAS):
        return NOT_ENOUGH
    return "yes" if all(low > 0 for low, _ in ends) else "not shown"


def _of_table9(group: RunGroup) -> bool:
    wanted = {"task": "synthetic", "availability": "smartphones", "clients_per_round": 10}
    alpha = group.setting("synthetic_alpha")
    return (
        all(group.setting(name) == value for name, value in wanted.items())
        and alpha in ALPHAS
        and group.setting("synthetic_beta") == alpha
        and group.algorithm in LEAD
        and group.setting("constraint") is None
        and group.setting("delivery") in (None, KINDS["delivery"].default)
    )
