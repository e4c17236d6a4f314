"""The section on readings: which one moves the result, which reproduces Table IX's ordering."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import pandas as pd

from f3ast_tff.analysis.report import words
from f3ast_tff.analysis.report.document import Block, Grid, Section, Text
from f3ast_tff.analysis.report.paper_values import paper_values
from f3ast_tff.analysis.report.reading_study import (
    ALPHAS,
    Effect,
    Ordering,
    effects,
    table9_orderings,
)
from f3ast_tff.analysis.report.reading_summary import count, summarise
from f3ast_tff.analysis.report.samples import Sample

_METRIC = "sample_accuracy"


@dataclass(frozen=True, eq=False)
class ReadingSection:
    """The section, and its tables as CSV by name."""

    section: Section
    tables: dict[str, pd.DataFrame]


def reading_section(samples: Sequence[Sample], period: str) -> ReadingSection:
    """Builds the section from all samples, those with switched readings too."""
    found = effects(samples, _METRIC, period)
    orderings = table9_orderings(samples, period)
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
        blocks.append(Text(f"{words.NOT_RUN}: no two readings of one experiment."))
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
    return ReadingSection(Section("Readings: which one moves the result", blocks), tables)


def _summary(found: Sequence[Effect]) -> str:
    moving = [e for e in found if e.moves == "yes" and e.found is not None]
    moving.sort(key=lambda e: -abs(e.found.mean if e.found else 0.0))
    if not moving:
        return "No reading is seen to move a result."
    said = "; ".join(
        f"{e.switch} ({e.preset}, {e.place}): {_what(e)} {words.interval(e.found)}"
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
    whose = "" if first.what == "lead" else f"{_what(first)}, "
    return f"{words.interval(first.found)} ({whose}{first.preset}, {first.place})"


def _effect_grid(caption: str, found: Sequence[Effect]) -> Grid:
    head = (
        *("base", "where", "of", "switch", "base's score"),
        *("effect, 95% interval", "p", "seeds", "moves it"),
    )
    rows = tuple(
        (
            each.preset,
            each.place,
            _what(each),
            each.switch,
            words.number(each.base),
            words.interval(each.found),
            words.p_text(each.found),
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
            *(words.interval(each.leads[alpha]) for alpha in ALPHAS),
            each.reproduced,
        )
        for each in orderings
    )
    printed = paper_values("f3ast_arxiv_table9_heterogeneity.csv", "alpha")
    leads = [printed["synthetic", a, "f3ast"] - printed["synthetic", a, "fedavg"] for a in ALPHAS]
    said = ", ".join(f"{lead:+.2f}" for lead in leads)
    return Grid(f"Table IX's ordering by reading (the paper: {said})", head, rows)


def _what(effect: Effect) -> str:
    return "F3AST's lead" if effect.what == "lead" else words.name_of(effect.what)


def _effect_row(each: Effect) -> dict[str, object]:
    found = each.found
    return {
        "base": each.preset,
        "where": each.place,
        "of": each.what,
        "switch": each.switch,
        "base_score": each.base,
        "effect": None if found is None else found.mean,
        "low": None if found is None else found.low,
        "high": None if found is None else found.high,
        "p_value": None if found is None else found.p_value,
        "seeds": each.num_common,
        "moves": each.moves,
    }


def _ordering_row(each: Ordering, alpha: float) -> dict[str, object]:
    lead = each.leads[alpha]
    return {
        "reading": each.reading,
        "alpha": alpha,
        "lead": None if lead is None else lead.mean,
        "low": None if lead is None else lead.low,
        "high": None if lead is None else lead.high,
        "seeds": 0 if lead is None else lead.num_seeds,
        "reproduced": each.reproduced,
    }
