"""Puts the report together."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

import pandas as pd

from f3ast_tff.analysis.compare.judge import SIZES, WORDS, Verdict
from f3ast_tff.analysis.compare.render import grounds
from f3ast_tff.analysis.compare.scored import RunsError, varying
from f3ast_tff.analysis.report import figures, layout, selection_figures
from f3ast_tff.analysis.report.claims import FilledTable, claim_text, comparison_grid, fill
from f3ast_tff.analysis.report.document import (
    Block,
    Document,
    Grid,
    Listing,
    Picture,
    Section,
    Text,
)
from f3ast_tff.analysis.report.opening import clients_left_out, date_of, title_of, who_waits
from f3ast_tff.analysis.report.published_tables import PaperTable, published_tables
from f3ast_tff.analysis.report.reading_section import reading_section
from f3ast_tff.analysis.report.readings import switched, varied
from f3ast_tff.analysis.report.results_section import (
    differences_section,
    explanation,
    results_sections,
)
from f3ast_tff.analysis.report.selection_figures import Selections, selections_of
from f3ast_tff.analysis.report.variants import PUBLISHED
from f3ast_tff.analysis.results_frame import final_table
from f3ast_tff.analysis.run_groups import Collected, RunGroup, in_order
from f3ast_tff.analysis.score_directions import score_of_objective
from f3ast_tff.analysis.texts import (
    ONE_AVAILABILITY,
    file_stem,
    interval,
    one_availability,
    scored_on,
    several_versions,
    users_scored,
)


def build(
    collected: Collected,
    period: str,
    score: str | None = None,
    baseline: str | None = None,
    may_differ: Sequence[str] = (),
) -> Document:
    """Builds the report of all runs of a folder.

    `period`, of `PERIODS`, is the time of a run's score. Methods are compared by `score`, by
    default that of `score_of_objective`, with `baseline` if given. Besides what is theirs they may
    differ in the settings `may_differ`.
    """
    pure = [group for group in collected.groups if not switched(group)]
    compared_groups = [g for g in collected.groups if g in pure or not varied(g, collected.groups)]
    published = published_tables()
    of_classes = [g for g in collected.groups if "sample_accuracy" in g.score_names]
    printed = [group for group in pure if group in of_classes]
    filled = {table.name: fill(table, printed, period) for table in published}
    readings, reading_tables = reading_section(of_classes, period)
    selections, damaged = _selections(compared_groups)
    named = [
        (_name_of_claims(name, number), each)
        for name, part in filled.items()
        for number, each in enumerate(part, start=1)
    ]
    sections = [
        *results_sections(collected.groups, compared_groups, published, period),
        _selection_section(selections),
    ]
    of_papers = any(each.of_paper for part in filled.values() for each in part)
    if of_papers:
        sections += [_table_section(table, filled[table.name]) for table in published]
    if of_papers or "reading_effects" in reading_tables:
        sections.append(readings)
    else:
        reading_tables = {}
    empty = tuple(section.title for section in sections if not section.blocks and of_papers)
    score = score or score_of_objective(collected.groups)
    compared, differences = differences_section(
        collected.groups, score, period, baseline, may_differ
    )
    if compared.blocks and (left := len(collected.unfinished)):
        said = f"{left} unfinished run{'s are' if left > 1 else ' is'} left out: see Summary."
        compared = Section(compared.title, [*compared.blocks, Text(said)])
    if compared.blocks and (users := users_scored(collected.groups, if_not_all=True)):
        compared = Section(compared.title, [*compared.blocks, Text(users)])
    waits, more_damaged = _who_waits(collected.groups)
    damaged += more_damaged
    document_sections = [
        compared,
        Section("Which clients wait?", waits),
        summary(collected, named if of_papers else [], damaged),
        *(section for section in sections if section.blocks),
        Section("Not run", [Listing("Without runs here", empty, folded=False)] if empty else []),
        explanation(period, of_papers, scored_on(collected.groups)),
    ]
    tables = {"run_groups": _groups_frame(collected.groups), **reading_tables}
    if not differences.empty:
        tables["differences"] = differences
    if of_papers:
        every = [each for part in filled.values() for each in part]
        tables["claims"] = layout.comparison_frame(every)
        ran = {name: part for name, part in filled.items() if any(each.cells for each in part)}
        tables.update({name: layout.table_frame(part) for name, part in ran.items()})
    kept = [section for section in document_sections if section.blocks]
    title = title_of(collected.groups, of_papers)
    return Document(title, kept, tables, date_of(collected.groups))


def _name_of_claims(table: str, number: int) -> str:
    return f"{table}_{number}_claims"


def _table_section(table: PaperTable, filled: Sequence[FilledTable]) -> Section:
    """A published table's runs; without blocks if there are none."""
    blocks: list[Block] = []
    for number, each in enumerate(filled, start=1):
        if each.variant is None or not each.cells:
            continue
        blocks += layout.table_grids(f"{table.name}_{number}", each)
        if each.ran:
            blocks.append(comparison_grid(_name_of_claims(table.name, number), each))
        if table.across == "clients_per_round":
            blocks.append(figures.against_k(f"against_k_{number}", each))
    if blocks:
        blocks = [*([Text(table.note)] if table.note else []), *blocks, *_not_run(filled)]
    return Section(table.title, blocks)


def _not_run(filled: Sequence[FilledTable]) -> list[Block]:
    """A line on the tasks that were not run with the paper's network."""
    tasks = [each.display(t, "task") for each in filled if not each.variant for t in each.tasks]
    others = any(each.variant and each.variant.network != PUBLISHED for each in filled)
    with_it = " with the paper's network" if others else ""
    return [Text(f"Not run{with_it}: {', '.join(tasks)}.")] if tasks else []


def _selection_section(found: Mapping[RunGroup, Selections]) -> Section:
    blocks: list[Block] = []
    for task in in_order(found, "task"):
        of_task = {g: each for g, each in found.items() if g.settings["task"] == task}
        display = next(iter(of_task)).first.display("task")
        blocks.append(selection_figures.picked(file_stem(f"picked_{task}"), display, of_task))
        blocks += selection_figures.rates(file_stem(f"rates_{task}"), display, of_task)
    return Section("Who was picked how often, and the rates r", blocks)


def _who_waits(groups: Sequence[RunGroup]) -> tuple[list[Picture], list[str]]:
    try:
        return who_waits(groups), []
    except RunsError as error:
        return [], [str(error)]


def _selections(groups: Sequence[RunGroup]) -> tuple[dict[RunGroup, Selections], list[str]]:
    found, damaged = {}, []
    for group in groups:
        try:
            found[group] = selections_of(group)
        except RunsError as error:
            damaged.append(str(error))
    return found, damaged


def _groups_frame(groups: Sequence[RunGroup]) -> pd.DataFrame:
    """Every group of runs as a row, with its distinguishing settings."""
    always = ["task", "availability", "reading", "algorithm"]
    shown = [*always, *(name for name in varying(groups) if name not in always)]
    table = final_table(groups, [name for name in shown if name != "algorithm"])
    scores = [name for name in table if name not in (*shown, "display")]
    return table.reindex(columns=[*shown, *scores])


_MAX_LINES = 5
_MAX_ROWS = 30


def summary(
    collected: Collected, filled: Sequence[tuple[str, FilledTable]], damaged: Sequence[str]
) -> Section:
    """Returns the head of the report: runs read, runs left out, and a line per judged claim.

    `filled` are the papers' tables, each with the name of its table of comparisons, `damaged` a
    line for each selection that cannot be read.
    """
    num_groups = len(collected.groups)
    read = (
        f"{collected.num_finished} finished run{'s' * (collected.num_finished != 1)} in "
        f"{num_groups} group{'s' * (num_groups != 1)}. "
        "Runs of one group differ by data draw and seed alone."
    )
    blocks: list[Block] = [Text(read)]
    if users := users_scored(collected.groups):
        blocks.append(Text(users))
    if versions := several_versions(collected.groups):
        blocks.append(Text(versions))
    if lost := sum(group.num_guessing for group in collected.groups):
        text = f"{lost} of the runs end no better than a guess among the classes: sample loss at "
        blocks.append(Text(f"{text}least ln C; the last column of Runs counts them."))
    if one_availability(collected.groups):
        blocks.append(Text(f"R{ONE_AVAILABILITY[1:]}: neither by ± nor by intervals."))
    lost_clients = clients_left_out(collected.groups)
    for title, lines in (
        ("Unfinished, left out", collected.unfinished),
        ("Damaged, left out", collected.damaged),
        ("Selections that cannot be read", damaged),
        ("There twice, left out", _shortened(collected.repeated)),
        ("Clients whose updates are left out most of the time", _shortened(lost_clients)),
    ):
        if lines:
            blocks.append(Listing(title, tuple(lines)))
    return Section("Summary", [*blocks, *(_claims(filled) if filled else [])])


def _shortened(lines: Sequence[str]) -> list[str]:
    """Returns the first lines and the number of further lines, which may be hundreds."""
    rest = len(lines) - _MAX_LINES
    return [*lines[:_MAX_LINES], f"and {rest} more"] if rest > 1 else list(lines)


def _claims(filled: Sequence[tuple[str, FilledTable]]) -> list[Block]:
    """Counts of verdicts by network, and a line for each claim whose both sides were run."""
    verdicts: dict[str, list[Verdict]] = {PUBLISHED: []}
    families: dict[tuple[str, str], list[Verdict]] = {}
    ran: set[object] = set()
    lines: dict[str, list[tuple[str, tuple[str, ...]]]] = {}
    for name, each in filled:
        for place, comparison in enumerate(each.ran):
            if each.variant is None or comparison.verdict is None:
                continue
            verdict, claim = comparison.verdict, comparison.claim
            verdicts.setdefault(each.variant.network, []).append(verdict)
            families.setdefault((each.label, claim.source), []).append(verdict)
            if each.variant.network == PUBLISHED:
                ran.add((claim, comparison.at))
            where = f"{claim.title}, {each.display(claim.task, 'task')}: "
            text = where + claim_text(each, comparison)
            both = (verdict.word or "–", verdict.size or "–")
            row = (text, *both, interval(comparison.found), grounds(verdict))
            lines.setdefault(each.label, []).append((f"{name}-{place}", row))
    claims = {
        (comparison.claim, comparison.at)
        for _, each in filled
        for comparison in each.comparisons
        if comparison.claim.source
    }
    texts = [
        _counted(network, judged, len(claims - ran) if network == PUBLISHED else 0)
        for network, judged in verdicts.items()
    ]
    blocks: list[Block] = [Text(text) for text in [*texts, *_families(families)]]
    if lines:
        head = ("claim", "direction", "size", "A − B, 95% interval", "why")
        rows = tuple(row for of_label in lines.values() for _, row in of_label)
        groups = tuple(label for label, of_label in lines.items() for _ in of_label)
        links = tuple(link for of_label in lines.values() for link, _ in of_label)
        folded = len(rows) > _MAX_ROWS
        about = "Claims of the papers"
        blocks.append(Grid("verdicts", about, head, rows, folded, groups=groups, links=links))
    return blocks


def _counted(network: str, verdicts: Sequence[Verdict], num_not_run: int) -> str:
    directions = Counter(verdict.word for verdict in verdicts)
    sizes = Counter(verdict.size for verdict in verdicts)
    said = [f"{directions[v]} {v}" for v in WORDS if directions[v]]
    parts = [f"direction: {', '.join(said)}"] if said else []
    said = [f"{sizes[v]} {v}" for v in SIZES if sizes[v]]
    parts += [f"size: {', '.join(said)}"] if said else []
    parts += [f"{num_not_run} not run"] if num_not_run else []
    whose = f" ({network})" if network else ""
    return f"Claims of the papers{whose}: {'; '.join(parts) or 'none'}."


def _families(families: Mapping[tuple[str, str], Sequence[Verdict]]) -> list[str]:
    """A line on the families of directions and a line on the families of sizes, with numbers."""
    labels = {label for label, _ in families}
    texts = []
    for what, level in (("direction", "level"), ("size", "size_level")):
        sizes = {
            f"{source} ({label})" if len(labels) > 1 else source: sum(
                getattr(verdict, level) is not None for verdict in verdicts
            )
            for (label, source), verdicts in families.items()
        }
        said = [f"{name}: {size}" for name, size in sizes.items() if size]
        if said:
            number = "1 family" if len(said) == 1 else f"{len(said)} families"
            texts.append(
                f"Tests of a {what} are corrected within {number}, a figure or table each "
                f"({'; '.join(said)})."
            )
    return texts
