"""The section on readings: their effects, and Table IX's ordering under each."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from f3ast_tff.analysis.compare.paired_difference import PairedDifference
from f3ast_tff.analysis.report import layout
from f3ast_tff.analysis.report.document import Block, Grid, Listing, Section, Text
from f3ast_tff.analysis.report.published_tables import paper_values
from f3ast_tff.analysis.report.reading_effects import (
    ALPHAS,
    NOT_ENOUGH,
    Effect,
    Ordering,
    effects,
    table9_orderings,
)
from f3ast_tff.analysis.report.readings import forms, readings
from f3ast_tff.analysis.run_groups import RunGroup
from f3ast_tff.analysis.texts import (
    NOTHING,
    interval,
    number,
    of_intervals,
    one_availability,
    over,
    p_text,
)

_METRIC = "sample_accuracy"
# Largest number of rows of an unfolded table.
_MAX_ROWS = 40
# Readings that no setting switches.
ONE_FORM = {
    "R7": "the LSTM has one form here",
    "R8": "Shakespeare's clients and sequences have one form here",
    "R14": "local steps are a setting of the task in both",
    "R15": "a round without clients is the same in both",
}
# A reading whose two values are two tasks.
_OTHER_TASK = "R6"


def reading_section(
    groups: Sequence[RunGroup], period: str
) -> tuple[Section, dict[str, pd.DataFrame]]:
    """Builds the section of all runs, with switched readings, and its tables as CSV by name."""
    by_form, left_out = forms(groups)
    found = effects(by_form, _METRIC, period)
    orderings = table9_orderings(by_form, period)
    leads, scores = ([e for e in found if (e.what == "lead") == lead] for lead in (True, False))
    blocks: list[Block] = []
    if found:
        blocks += [
            Text(
                "A base is a preset; a switch is the one reading that differs, or a whole other "
                "preset. Runs of a method with a setting of its own that is not its default, such "
                "as another step size, have a base of their own. The effect is the switched runs' "
                "sample accuracy minus the base's, pair by pair of data draw and seed, with its "
                "95% interval; the lead is F3AST minus FedAvg, where a reading that does not "
                "concern an algorithm leaves its runs of the base in place. It moves the result if "
                "its interval leaves out 0 at the level that Holm's rule gives it among all leads, "
                "or among all scores; draws and rounds that are too few for a claim are too few "
                "here."
            ),
            Text(_summary(found)),
            *_summary_blocks(found, groups),
            *(
                _effect_grid(name, caption, members, groups)
                for name, caption, members in (
                    ("effects_on_lead", "Effect on the lead", leads),
                    ("effects_on_scores", "Effect on each algorithm", scores),
                )
                if members
            ),
        ]
    if left_out:
        title = "Left out here, since several groups of runs claim to be one form"
        blocks.append(Listing(title, tuple(left_out)))
    if orderings:
        blocks.append(_ordering_grid(orderings, groups))
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


def by_reading(found: Sequence[Effect]) -> list[tuple[str, ...]]:
    """Returns a row per switched reading, in the order of their numbers.

    The cells of a row: the number; `yes` if any effect moves the result, `not seen` if effects were
    judged and none moves it, or `not enough runs`; the number of cases in which leads are moved,
    and the largest effect on leads; then the number and the largest effect for scores.
    """
    cases = [e for e in found if e.found is not None and not e.switch.startswith("all:")]
    frame = pd.DataFrame(
        {
            "reading": [int(e.switch.partition(" ")[0][1:]) for e in cases],
            "lead": [e.what == "lead" for e in cases],
            "moves": [e.moves for e in cases],
            "size": [e.size for e in cases],
            "effect": cases,
        }
    )
    frame = frame.sort_values("size", ascending=False, kind="stable")
    frame = frame.sort_values("moves", key=lambda moves: moves != "yes", kind="stable")
    rows = []
    for reading, part in frame.groupby("reading"):
        moves = next(m for m in ("yes", "not seen", NOT_ENOUGH) if m in {*part["moves"]})
        row = [f"R{reading}", moves]
        for members in (part[part["lead"]], part[~part["lead"]]):
            moved = (members["moves"] == "yes").sum()
            row.append(f"{moved} of {len(members)}" if len(members) else NOTHING)
            row.append(_largest(members["effect"].iloc[0]) if len(members) else NOTHING)
        rows.append(tuple(row))
    return rows


def _not_switched(rows: Sequence[tuple[str, ...]]) -> str:
    """The readings in which presets differ, or that have one form, and that no run switches."""
    every = [each.reading for each in readings().values()]
    presets = ("released", "textbook")
    differ = {r.number for r in every if any(r.value(name) != r.paper for name in presets)}
    numbers = {*differ, *ONE_FORM, _OTHER_TASK} - {row[0] for row in rows}
    return ", ".join(
        f"{number} ({ONE_FORM[number]})" if number in ONE_FORM else number
        for number in sorted(numbers, key=lambda number: int(number[1:]))
    )


def _summary(found: Sequence[Effect]) -> str:
    moving = sorted((e for e in found if e.moves == "yes"), key=lambda e: -e.size)
    if not moving:
        return "No reading is seen to move a result."
    said = "; ".join(
        f"{e.switch} ({e.preset}, {e.place}): {e.display} {interval(e.found)} over {over(e.found)}"
        for e in moving[:5]
    )
    return f"{len(moving)} of {len(found)} effects move a result. The largest: {said}."


def _summary_blocks(found: Sequence[Effect], groups: Sequence[RunGroup]) -> list[Block]:
    """A row per switched reading, and a line on readings that were not switched."""
    head = ("reading", "moves a result", "the lead in", "most", "scores in", "most")
    rows = by_reading(found)
    caption = "Each reading alone (in how many cases it moves the result)"
    caption = _covered(caption, [e.found for e in found], groups)
    blocks: list[Block] = (
        [Grid("readings", caption=caption, head=head, rows=tuple(rows))] if rows else []
    )
    others = _not_switched(rows)
    return [*blocks, Text(f"Not switched in these runs: {others}.")] if others else blocks


def _covered(
    caption: str, found: Sequence[PairedDifference | None], groups: Sequence[RunGroup]
) -> str:
    covered = of_intervals(found, one_availability(groups))
    return f"{caption}; {covered}" if covered else caption


def _largest(effect: Effect) -> str:
    method = "" if effect.what == "lead" else f"{effect.display}, "
    where = f"{method}{effect.preset}, {effect.place}, {over(effect.found)}"
    return f"{interval(effect.found)} ({where})"


def _effect_grid(
    name: str, caption: str, found: Sequence[Effect], groups: Sequence[RunGroup]
) -> Grid:
    head = ("switch", "of", "base's score", "effect, 95% interval", "p", "over", "moves it (Holm)")
    rows = tuple(
        (
            each.switch,
            each.display,
            number(each.base),
            interval(each.found),
            p_text(each.found),
            over(each.found),
            "\n".join(filter(None, [each.moves, each.asked.reason_not_judged])),
        )
        for each in found
    )
    grouped = tuple(f"{each.place}, reading {each.preset}" for each in found)
    return Grid(
        name,
        _covered(caption, [e.found for e in found], groups),
        head,
        rows,
        groups=grouped,
        folded=len(rows) > _MAX_ROWS,
    )


def _ordering_grid(orderings: Sequence[Ordering], groups: Sequence[RunGroup]) -> Grid:
    head = (
        "reading",
        *(f"F3AST − FedAvg, alpha = {alpha:g}" for alpha in ALPHAS),
        "F3AST above for every alpha (Holm)",
    )
    rows = tuple(
        (
            each.reading,
            *(interval(d) + (f"\n{over(d)}" if d else "") for d in each.leads.values()),
            each.reproduced,
        )
        for each in orderings
    )
    printed = paper_values("f3ast_arxiv_table9_heterogeneity.csv", "alpha")
    leads = [printed["synthetic", a, "f3ast"] - printed["synthetic", a, "fedavg"] for a in ALPHAS]
    said = ", ".join(f"{lead:+.2f}" for lead in leads)
    found = [lead for each in orderings for lead in each.leads.values()]
    caption = f"Table IX's ordering by reading (the paper: {said})"
    return Grid("table9_orderings", caption=_covered(caption, found, groups), head=head, rows=rows)


def _effect_row(each: Effect) -> dict[str, object]:
    return {
        "base": each.preset,
        "where": each.place,
        "of": each.what,
        "switch": each.switch,
        "base_score": each.base,
        **layout.difference_columns(each.found, "effect"),
        "moves": each.moves,
    }


def _ordering_row(each: Ordering, alpha: float) -> dict[str, object]:
    lead = layout.difference_columns(each.leads[alpha], "lead")
    del lead["p_value"]
    return {"reading": each.reading, "alpha": alpha, **lead, "reproduced": each.reproduced}
