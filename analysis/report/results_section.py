"""The runs themselves: a table and learning curves for each task, whatever its components."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from f3ast_tff.analysis.line_styles import labelled
from f3ast_tff.analysis.report.curve_figures import curve_figures
from f3ast_tff.analysis.report.document import Block, Grid, Section
from f3ast_tff.analysis.report.networks import network_of
from f3ast_tff.analysis.report.published_tables import PaperTable
from f3ast_tff.analysis.report.told_apart import told_apart
from f3ast_tff.analysis.run_groups import CONDITION, RunGroup, describe, in_order, score
from f3ast_tff.analysis.runs import SCORES
from f3ast_tff.analysis.texts import of_spread, over, spread_text

# Of a table that need not be opened.
_MOST_ROWS = 40


def results_sections(
    groups: Sequence[RunGroup],
    pure: Collection[RunGroup],
    tables: Sequence[PaperTable],
    period: str,
) -> list[Section]:
    """Returns a section for each task.

    Args:
        groups: All runs.
        pure: Those without a switched reading, whose curves are drawn.
        tables: The papers' tables, for what methods may differ in.
        period: As `RunGroup.scores` takes it.
    """
    sections = []
    for task in in_order(groups, "task"):
        members = [group for group in groups if group.settings["task"] == task]
        # CA-Fed compares methods of different K.
        free = next((t.free for t in tables if task in t.tasks and t.free), ())
        drawn = [group for group in members if group in pure]
        blocks: list[Block] = [_grid(f"runs_{task}", members, period)]
        blocks += curve_figures(task, drawn, free) if drawn else []
        sections.append(Section(f"Runs: {members[0].first.display('task')}", blocks))
    return sections


def guessing(group: RunGroup) -> int:
    """Returns how many runs end with a sample loss that is not below a guess's, ln C."""
    loss = group.first.guess_loss
    if loss is None:
        return 0
    # Not finite: no better either.
    return sum(not value < loss for value in group.scores("sample_loss", "final").values())


def _grid(name: str, groups: Sequence[RunGroup], period: str) -> Grid:
    told = told_apart(groups)
    order = in_order(groups, "availability")
    ordered = sorted(groups, key=lambda g: order.index(g.settings["availability"]))
    rows, headings = [], []
    lost = any(guessing(group) for group in groups)
    for group in ordered:
        scores = [score(group, metric, period) for metric in SCORES]
        texts = map(spread_text, scores)
        count = guessing(group)
        ends = [f"{count} of {len(group.runs)}" if count else ""] if lost else []
        rows.append((labelled(group, told[group]), over(scores[0]), *texts, *ends))
        headings.append(group.first.display("availability"))
    metrics = [metric.replace("_", " ") for metric in SCORES]
    head = ("algorithm", "over", *metrics, *(["no better than a guess"] if lost else []))
    shared = [
        n
        for n in CONDITION
        if n not in ("task", "availability") and len({repr(g.setting(n)) for g in groups}) == 1
    ]
    condition = describe(groups[0].condition(shared), shared)
    networks = {network_of(group) for group in groups}
    network = networks.pop() if len(networks) == 1 else ""
    parts = [groups[0].first.display("task"), *filter(None, [network, condition])]
    caption = f"{', '.join(parts)}; {of_spread(groups)}"
    fold = len(rows) > _MOST_ROWS
    return Grid(name, caption, head, tuple(rows), folded=fold, groups=tuple(headings))
