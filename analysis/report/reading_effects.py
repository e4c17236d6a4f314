"""The effect of each reading of an unclear point on the result.

Runs under a preset (`--reading=paper`, `released`, `textbook`) are compared, pair by pair of data
draw and seed, with runs that differ only in one reading, and with runs under different presets.
The compared quantities are an algorithm's score and F3AST's lead over FedAvg.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from f3ast_tff.analysis.compare.judge import BETTER, CLOSE, NOT_JUDGED, WORSE, Claim, Verdict, judge
from f3ast_tff.analysis.compare.paired_difference import PairedDifference
from f3ast_tff.analysis.compare.pairs import Paired, lead_over, paired
from f3ast_tff.analysis.compare.scored import summarised
from f3ast_tff.analysis.report.claims import too_short
from f3ast_tff.analysis.report.readings import (
    Form,
    Settings,
    place_text,
    readings,
    switch_text,
    told_apart,
)
from f3ast_tff.analysis.run_groups import RunGroup
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
        asked: Whether the switched runs differ from the base.
        moves: `yes` if the interval does not contain 0 at the level that Holm's rule gives it among
            all leads (all scores); else `not seen`, or `not enough runs`.
    """

    place: str
    preset: str
    what: str
    display: str
    switch: str
    base: float
    asked: Claim
    moves: str = NOT_ENOUGH

    @property
    def found(self) -> PairedDifference | None:
        """Switched minus base; `None` for fewer than 2 common pairs."""
        return self.asked.found

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
    words = {CLOSE: "not seen", NOT_JUDGED: NOT_ENOUGH}
    verdicts = judge([effect.asked for effect in family])
    return [words.get(str(verdict.word), "yes") for verdict in verdicts]


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
            both = _paired(full, base, methods, metric, period)
            found.append(
                Effect(
                    place="",
                    preset=preset,
                    what=what,
                    display="F3AST's lead" if what == "lead" else switched[what].display,
                    switch=text,
                    base=summarised(both.b).mean if both.b else math.nan,
                    asked=Claim(both, obstacle=too_short(groups)),
                )
            )
    return sorted(found, key=lambda e: (e.what != "lead", e.what, -e.size))


def _with_base(switched: Methods, base: Methods, names: Sequence[str]) -> Methods:
    """The runs under switched readings; a method that they do not concern keeps its base."""
    stays = [n for n in LEAD if names and not any(readings()[r].concerns(n) for r in names)]
    return {**{name: base[name] for name in stays if name in base}, **switched}


def _paired(
    switched: Methods, base: Methods, methods: Sequence[str], metric: str, period: str
) -> Paired:
    """The scores of a method; of two methods, the lead of the first over the second."""
    if len(methods) == 1:
        (name,) = methods
        return paired(switched[name], base[name], metric, period)
    one, other = (
        paired(members[methods[0]], members[methods[1]], metric, period)
        for members in (switched, base)
    )
    return lead_over(one, other)


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
            found.append(_lead(full, period))
    verdicts = judge(found)
    orderings = []
    for number, text in enumerate(texts):
        here = slice(number * len(ALPHAS), (number + 1) * len(ALPHAS))
        leads = dict(zip(ALPHAS, (claim.found for claim in found[here])))
        orderings.append(Ordering(text, leads, _reproduced(verdicts[here])))
    return sorted(orderings, key=lambda ordering: ordering.reading)


def _lead(members: Mapping[str, RunGroup], period: str) -> Claim:
    """Whether F3AST is better than FedAvg."""
    if any(algorithm not in members for algorithm in LEAD):
        return Claim(None, obstacle="not run")
    a, b = (members[algorithm] for algorithm in LEAD)
    return Claim(paired(a, b, "sample_accuracy", period), obstacle=too_short((a, b)))


def _reproduced(verdicts: Sequence[Verdict]) -> str:
    words = [verdict.word for verdict in verdicts]
    if WORSE in words:
        return "no"
    if NOT_JUDGED in words:
        return NOT_ENOUGH
    return "yes" if {*words} == {BETTER} else "not shown"


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
