"""Puts the report together."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import pandas as pd

from f3ast_tff.analysis.report import figures, selection_figures, words
from f3ast_tff.analysis.report.collect import Collected
from f3ast_tff.analysis.report.document import Block, Document, Grid, Listing, Section, Text
from f3ast_tff.analysis.report.published_tables import PaperTable, published_tables
from f3ast_tff.analysis.report.reading_section import reading_section
from f3ast_tff.analysis.report.reading_study import switched
from f3ast_tff.analysis.report.samples import PERIODS, Sample, Variant, freed, variants
from f3ast_tff.analysis.report.selections import Selections, selections_of
from f3ast_tff.analysis.report.tables import FilledTable, column_of, fill
from f3ast_tff.analysis.report.verdict import DOES_NOT_HOLD, HOLDS, MARGIN, NOT_ENOUGH
from f3ast_tff.analysis.runs import SCORES, RunsError

_MOST_LINES = 5
_VERDICTS = (HOLDS, DOES_NOT_HOLD, NOT_ENOUGH)
# Tables whose runs also give the figures of selections.
_SELECTIONS = ("table3", "cafed_fig1", "fedlaavg_table2")


def build(collected: Collected, period: str) -> Document:
    """Builds the report of all runs of a folder.

    Args:
        collected: The runs.
        period: `"final"` or `"mean_of_last_10_percent"`: what a run's score is.
    """
    pure = [sample for sample in collected.samples if not switched(sample)]
    published = published_tables()
    filled = {table.name: fill(table, pure, period) for table in published}
    readings = reading_section(collected.samples, period)
    selections, damaged = _selections(pure, published)
    sections = [
        _about(collected, damaged, period),
        _claims(filled),
        *(_table_section(table, filled[table.name]) for table in published),
        _curves(pure, published),
        _selection_section(selections),
        readings.section,
    ]
    tables = {
        "claims": words.comparison_frame([each for part in filled.values() for each in part]),
        **{name: words.table_frame(part) for name, part in filled.items() if _cells(part)},
        **readings.tables,
        "samples": _samples_frame(collected.samples),
    }
    return Document("Report: runs beside the papers' numbers", sections, tables)


def _about(collected: Collected, damaged: Sequence[str], period: str) -> Section:
    said = {"final": "at the last round", "mean_of_last_10_percent": "averaged over the last 10%"}
    blocks: list[Block] = [
        Text(
            f"{collected.num_finished} finished runs in {len(collected.samples)} groups that "
            f"differ by the seed alone. Scores are those {said[period]}, on test data. Only runs "
            "whose other settings agree (those that algorithms may differ in aside) are compared."
        ),
        Text(
            "± is one standard deviation over seeds (n - 1), the number of seeds in brackets; "
            "percentages are improvements relative to the baseline (F3AST over FedAvg, F3AST+Adam "
            "over FedAdam). A − B is a paired difference over common seeds, which share their "
            "availability draws, with its 95% t interval and the p value of the paired t test; "
            "intervals are not corrected for their number."
        ),
        Text(
            "A claim holds if the interval lies on its side of 0; it does not hold if the interval "
            "lies on the other side, or holds 0 and leaves out the paper's difference (where it "
            f"prints none: {MARGIN}). Otherwise, and with fewer seeds or other numbers of rounds "
            "than the paper's, there are not enough runs."
        ),
    ]
    if any(s.setting("availability_draws") == "by_round_only" for s in collected.samples):
        blocks.append(
            Text(
                "Under R13's by_round_only all seeds share one draw of the availability: standard "
                "deviations and intervals of these runs do not cover it."
            )
        )
    for title, lines in (
        ("Unfinished, left out", collected.unfinished),
        ("Damaged, left out", collected.damaged),
        ("Selections that cannot be read", damaged),
        ("There twice, left out", _shortened(collected.repeated)),
    ):
        if lines:
            blocks.append(Listing(title, tuple(lines)))
    return Section("What this is made of", blocks)


def _shortened(lines: Sequence[str]) -> list[str]:
    """Returns the first lines, and how many follow: campaigns may share hundreds of runs."""
    rest = len(lines) - _MOST_LINES
    return [*lines[:_MOST_LINES], f"and {rest} more"] if rest > 1 else list(lines)


def _claims(filled: dict[str, list[FilledTable]]) -> Section:
    counts: dict[tuple[str, str], Counter[str]] = {}
    for part in filled.values():
        for each in part:
            label = words.NOT_RUN if each.variant is None else each.variant.label
            for comparison in each.comparisons:
                if comparison.verdict is not None:
                    key = (comparison.claim.source, label)
                    counts.setdefault(key, Counter())[comparison.verdict.verdict] += 1
    rows = tuple((*key, *(str(count[v]) for v in _VERDICTS)) for key, count in counts.items())
    total = sum(counts.values(), Counter())
    said = ", ".join(f"{total[verdict]} {verdict}" for verdict in _VERDICTS)
    head = ("source", "runs", *_VERDICTS)
    grid = Grid("Number of claims by verdict", head, rows)
    return Section("Claims of the papers", [Text(f"Over all sets of runs: {said}."), grid])


def _table_section(table: PaperTable, filled: Sequence[FilledTable]) -> Section:
    blocks: list[Block] = [Text(table.note)] if table.note else []
    for number, each in enumerate(filled, start=1):
        if not each.cells:
            blocks.append(Text(f"{words.NOT_RUN}: no runs that vary {table.across}."))
            continue
        blocks.append(words.table_grid(each))
        if each.comparisons:
            blocks.append(words.comparison_grid(each))
        if table.across == "clients_per_round":
            blocks.append(figures.against_k(f"against_k_{number}", each))
    if not filled:
        blocks.append(Text(words.NOT_RUN))
    return Section(table.title, blocks)


def _curves(samples: Sequence[Sample], tables: Sequence[PaperTable]) -> Section:
    blocks: list[Block] = []
    for task in _tasks(samples):
        # CA-Fed compares methods of different K.
        free = next((t.free for t in tables if task in t.tasks and t.free), ())
        of_task = [freed(s, free) for s in samples if s.world["task"] == task]
        for number, variant in enumerate(_variants(of_task), start=1):
            blocks.append(figures.curves(f"curves_{task}_{number}", task, variant))
    return Section("Curves", blocks or [Text(words.NOT_RUN)])


def _selection_section(found: dict[Sample, Selections]) -> Section:
    blocks: list[Block] = []
    for task in _tasks(list(found)):
        of_task = [s for s in found if s.world["task"] == task]
        for number, variant in enumerate(_variants(of_task), start=1):
            for kind in (selection_figures.picked, selection_figures.rates):
                picture = kind(f"{kind.__name__}_{task}_{number}", task, variant, found)
                if picture is not None:
                    blocks.append(picture)
    return Section("Who was picked how often, and F3AST's rates", blocks or [Text(words.NOT_RUN)])


def _selections(
    samples: Sequence[Sample], tables: Sequence[PaperTable]
) -> tuple[dict[Sample, Selections], list[str]]:
    kept = [table for table in tables if table.name in _SELECTIONS]
    found, damaged = {}, []
    for sample in samples:
        if any(column_of(table, sample) is not None for table in kept):
            try:
                found[sample] = selections_of(sample)
            except RunsError as error:
                damaged.append(str(error))
    return found, damaged


def _variants(samples: Sequence[Sample]) -> list[Variant]:
    named = ("reading", "clients_per_round", "rounds")
    return variants(samples, ("task", "availability"), named)


def _tasks(samples: Sequence[Sample]) -> list[str]:
    return list(dict.fromkeys(str(sample.world["task"]) for sample in samples))


def _cells(filled: Sequence[FilledTable]) -> bool:
    return any(each.cells for each in filled)


def _samples_frame(samples: Sequence[Sample]) -> pd.DataFrame:
    """Every group of runs, a row each, with what sets it apart."""
    settings = [{**s.world, **s.own} for s in samples]
    names = dict.fromkeys(name for each in settings for name in each)
    shown = [n for n in names if len({repr(each.get(n)) for each in settings}) > 1]
    always = ["task", "availability", "reading"]
    rows = []
    for sample in samples:
        row = {name: sample.setting(name) for name in always}
        row["algorithm"] = sample.algorithm
        row.update({name: sample.setting(name) for name in shown if name not in always})
        row["seeds"] = len(sample.runs)
        for period in PERIODS:
            for metric in SCORES:
                values = pd.Series(sample.scores(metric, period), dtype=float)
                row[f"{period}_{metric}"] = values.mean(skipna=False)
                row[f"{period}_{metric}_sd"] = values.std(ddof=1, skipna=False)
        rows.append(row)
    return pd.DataFrame(rows)
