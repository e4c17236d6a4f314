"""The head of the report: runs read, runs left out, and a line for each claim judged."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from f3ast_tff.analysis.report import layout
from f3ast_tff.analysis.report.document import Block, Grid, Listing, Section, Text
from f3ast_tff.analysis.report.tables import FilledTable
from f3ast_tff.analysis.report.variants import PUBLISHED
from f3ast_tff.analysis.run_groups import Collected
from f3ast_tff.analysis.texts import ONE_AVAILABILITY, interval, one_availability
from f3ast_tff.analysis.verdicts import DIRECTIONS, SIZES, Verdict

_MAX_LINES = 5
_MAX_ROWS = 30


def summary(
    collected: Collected, filled: Sequence[tuple[str, FilledTable]], damaged: Sequence[str]
) -> Section:
    """Returns the section.

    Args:
        collected: The runs.
        filled: The papers' tables, each with the name of its table of comparisons.
        damaged: A line for each selection that cannot be read.
    """
    num_groups = len(collected.groups)
    read = (
        f"{collected.num_finished} finished run{'s' * (collected.num_finished != 1)} in "
        f"{num_groups} group{'s' * (num_groups != 1)} "
        "that differ by data draw and seed alone."
    )
    blocks: list[Block] = [Text(read)]
    if lost := sum(group.num_guessing for group in collected.groups):
        text = f"{lost} of them end no better than a guess among the classes: sample loss at least "
        blocks.append(Text(f"{text}ln C; the last column of Runs counts them."))
    if one_availability(collected.groups):
        blocks.append(Text(f"R{ONE_AVAILABILITY[1:]}: neither by ± nor by intervals."))
    for title, lines in (
        ("Unfinished, left out", collected.unfinished),
        ("Damaged, left out", collected.damaged),
        ("Selections that cannot be read", damaged),
        ("There twice, left out", _shortened(collected.repeated)),
    ):
        if lines:
            blocks.append(Listing(title, tuple(lines)))
    return Section("Summary", [*blocks, *(_claims(filled) if filled else [])])


def _shortened(lines: Sequence[str]) -> list[str]:
    """Returns the first lines, and how many follow: campaigns may share hundreds of runs."""
    rest = len(lines) - _MAX_LINES
    return [*lines[:_MAX_LINES], f"and {rest} more"] if rest > 1 else list(lines)


def _claims(filled: Sequence[tuple[str, FilledTable]]) -> list[Block]:
    """Counts of verdicts by network, and a line for each claim of which both sides were run."""
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
            text = where + layout.claim_text(each, comparison)
            both = (verdict.direction or "–", verdict.size or "–")
            row = (text, *both, interval(comparison.found), verdict.reason)
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
        fold = len(rows) > _MAX_ROWS
        caption = "Claims of the papers"
        blocks.append(Grid("verdicts", caption, head, rows, fold, groups=groups, links=links))
    return blocks


def _counted(network: str, verdicts: Sequence[Verdict], num_not_run: int) -> str:
    directions = Counter(verdict.direction for verdict in verdicts)
    sizes = Counter(verdict.size for verdict in verdicts)
    said = [f"{directions[v]} {v}" for v in DIRECTIONS if directions[v]]
    parts = [f"direction: {', '.join(said)}"] if said else []
    said = [f"{sizes[v]} {v}" for v in SIZES if sizes[v]]
    parts += [f"size: {', '.join(said)}"] if said else []
    parts += [f"{num_not_run} not run"] if num_not_run else []
    whose = f" ({network})" if network else ""
    return f"Claims of the papers{whose}: {'; '.join(parts) or 'none'}."


def _families(families: Mapping[tuple[str, str], Sequence[Verdict]]) -> list[str]:
    """A line on the families of directions, and one on those of sizes, with their numbers."""
    labels = {label for label, _ in families}
    texts = []
    for what, level in (("direction", "confidence"), ("size", "size_confidence")):
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
