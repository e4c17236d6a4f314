"""The section on readings: which one moves the result, which reproduces Table IX's ordering."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import pandas as pd

from f3ast_tff.analysis.report import layout
from f3ast_tff.analysis.report.claims import paper_values
from f3ast_tff.analysis.report.document import Block, Grid, Section, Text
from f3ast_tff.analysis.report.reading_effects import (
    ALPHAS,
    Effect,
    Ordering,
    effects,
    table9_orderings,
)
from f3ast_tff.analysis.report.readings import readings
from f3ast_tff.analysis.run_groups import RunGroup

_METRIC = "sample_accuracy"
# Those that no setting switches.
ONE_FORM = {
    "R7": "the LSTM has one form here",
    "R8": "Shakespeare's clients and sequences have one form here",
    "R14": "local steps are a setting of the task in both",
    "R15": "a round without clients is the same in both",
}
# Two tasks.
_OTHER_TASK = "R6"


@dataclass(frozen=True)
class ReadingSummary:
    """What one reading does, over all places where it was switched alone.

    Attributes:
        number: `"R1"` to `"R18"`.
        leads: Effects on F3AST's lead over FedAvg.
        scores: Effects on algorithms' scores.
    """

    number: str
    leads: tuple[Effect, ...]
    scores: tuple[Effect, ...]

    @property
    def moves(self) -> str:
        """`yes` if any effect leaves out 0, `not seen` if all were judged and none does."""
        every = [effect.moves for effect in (*self.leads, *self.scores)]
        if not every:
            return ONE_FORM.get(self.number, "not run")
        if "yes" in every:
            return "yes"
        return "not seen" if "not seen" in every else "not enough runs"


def reading_section(
    groups: Sequence[RunGroup], period: str
) -> tuple[Section, dict[str, pd.DataFrame]]:
    """Builds the section, and its tables as CSV by name, of all runs, switched readings too."""
    found = effects(groups, _METRIC, period)
    orderings = table9_orderings(groups, period)
    blocks: list[Block] = []
    if found:
        blocks += [
            Text(
                "A base is a preset; a switch is the one reading that differs, or the whole other "
                "preset. The effect is the switched runs' sample accuracy minus the base's, seed "
                "by seed; the lead is F3AST minus FedAvg, where a reading that does not concern an "
                "algorithm leaves its runs of the base in place."
            ),
            Text(_summary(found)),
            _summary_grid(found),
            _effect_grid("Effect on the lead", [e for e in found if e.what == "lead"]),
            _effect_grid("Effect on each algorithm", [e for e in found if e.what != "lead"]),
        ]
    else:
        blocks.append(Text(f"{layout.NOT_RUN}: no two readings of one experiment."))
    if orderings:
        blocks.append(_ordering_grid(orderings))
        same = [each.reading for each in orderings if each.reproduced == "yes"]
        blocks.append(Text(f"Reproduced under: {'; '.join(same) or 'no reading run so far'}."))
    tables = {}
    if found:
        tables["reading_effects"] = pd.DataFrame([_effect_row(each) for each in found])
    if orderings:
        tables["table9_orderings"] = pd.DataFrame(
            [_ordering_row(each, alpha) for each in orderings for alpha in ALPHAS]
        )
    return Section("Readings: which one moves the result", blocks), tables


def summarise(effects: Sequence[Effect]) -> list[ReadingSummary]:
    """Returns a summary for each reading that paper and released code may differ in, in order.

    Its effects are sorted: those that leave out 0 first, the largest of them first.
    """
    every = [each.reading for each in readings().values()]
    differ = {reading.number for reading in every if reading.paper != reading.released}
    numbers = sorted({*differ, *ONE_FORM, _OTHER_TASK}, key=lambda number: int(number[1:]))
    found = []
    for number in numbers:
        of_it = [e for e in effects if e.switch.partition(" ")[0] == number and e.found is not None]
        of_it.sort(key=lambda e: (e.moves != "yes", -abs(e.found.mean) if e.found else 0.0))
        leads = tuple(e for e in of_it if e.what == "lead")
        found.append(ReadingSummary(number, leads, tuple(e for e in of_it if e.what != "lead")))
    return found


def count(effects: Sequence[Effect]) -> str:
    """Returns in how many of their places effects leave out 0, such as `2 of 5`."""
    return f"{sum(e.moves == 'yes' for e in effects)} of {len(effects)}" if effects else "–"


def _summary(found: Sequence[Effect]) -> str:
    moving = [e for e in found if e.moves == "yes" and e.found is not None]
    moving.sort(key=lambda e: -abs(e.found.mean if e.found else 0.0))
    if not moving:
        return "No reading is seen to move a result."
    said = "; ".join(
        f"{e.switch} ({e.preset}, {e.place}): {e.display} {layout.interval(e.found)}"
        for e in moving[:5]
    )
    return f"{len(moving)} of {len(found)} effects leave out 0. The largest: {said}."


def _summary_grid(found: Sequence[Effect]) -> Grid:
    head = ("reading", "moves a result", "the lead in", "most", "scores in", "most")
    rows = tuple(
        (
            each.number,
            each.moves,
            count(each.leads),
            _largest(each.leads),
            count(each.scores),
            _largest(each.scores),
        )
        for each in summarise(found)
    )
    return Grid("Each reading alone (how many of its cases leave out 0)", head, rows)


def _largest(effects: Sequence[Effect]) -> str:
    if not effects:
        return "–"
    first = effects[0]
    whose = "" if first.what == "lead" else f"{first.display}, "
    return f"{layout.interval(first.found)} ({whose}{first.preset}, {first.place})"


def _effect_grid(caption: str, found: Sequence[Effect]) -> Grid:
    head = (
        *("base", "where", "of", "switch", "base's score"),
        *("effect, 95% interval", "p", "seeds", "moves it"),
    )
    rows = tuple(
        (
            each.preset,
            each.place,
            each.display,
            each.switch,
            layout.number(each.base),
            layout.interval(each.found),
            layout.p_text(each.found),
            str(each.num_common),
            each.moves,
        )
        for each in found
    )
    return Grid(caption, head, rows)


def _ordering_grid(orderings: Sequence[Ordering]) -> Grid:
    head = (
        "reading",
        *(f"F3AST − FedAvg, alpha = {alpha:g}" for alpha in ALPHAS),
        "F3AST above for every alpha",
    )
    rows = tuple(
        (
            each.reading,
            *(layout.interval(each.leads[alpha]) for alpha in ALPHAS),
            each.reproduced,
        )
        for each in orderings
    )
    printed = paper_values("f3ast_arxiv_table9_heterogeneity.csv", "alpha")
    leads = [printed["synthetic", a, "f3ast"] - printed["synthetic", a, "fedavg"] for a in ALPHAS]
    said = ", ".join(f"{lead:+.2f}" for lead in leads)
    return Grid(f"Table IX's ordering by reading (the paper: {said})", head, rows)


def _effect_row(each: Effect) -> dict[str, object]:
    found = each.found
    return {
        "base": each.preset,
        "where": each.place,
        "of": each.what,
        "switch": each.switch,
        "base_score": each.base,
        **layout.interval_columns(found, "effect"),
        "p_value": None if found is None else found.p_value,
        "seeds": each.num_common,
        "moves": each.moves,
    }


def _ordering_row(each: Ordering, alpha: float) -> dict[str, object]:
    lead = each.leads[alpha]
    return {
        "reading": each.reading,
        "alpha": alpha,
        **layout.interval_columns(lead, "lead"),
        "seeds": 0 if lead is None else lead.num_seeds,
        "reproduced": each.reproduced,
    }
