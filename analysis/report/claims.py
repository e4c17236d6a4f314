"""A published table filled from runs: numbers beside the paper's, and verdicts on its claims.

A claim says that A is better than B. `fill` puts groups of runs into the cells of the table, pairs
the runs of A with the runs of B for each claim, and has the claims of one figure or table judged
together (`compare.judge`). `comparison_grid` is the result as the page shows it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from f3ast_tff.analysis.compare import judge
from f3ast_tff.analysis.compare.judge import Verdict
from f3ast_tff.analysis.compare.paired_difference import PairedDifference
from f3ast_tff.analysis.compare.pairs import lead_over, paired
from f3ast_tff.analysis.compare.render import grounds
from f3ast_tff.analysis.compare.scored import Score
from f3ast_tff.analysis.method_names import display_of
from f3ast_tff.analysis.report.document import Grid
from f3ast_tff.analysis.report.published_tables import Claim, PaperTable
from f3ast_tff.analysis.report.variants import PUBLISHED, SMALL, SMALL_ROUNDS, Variant, variants
from f3ast_tff.analysis.run_groups import RunGroup, in_order, score
from f3ast_tff.analysis.texts import (
    NOT_RUN,
    NOTHING,
    interval,
    of_intervals,
    one_availability,
    over,
    p_text,
)
from f3ast_tff.settings import builtin_registry
from f3ast_tff.settings.kinds import KINDS

NO_CLAIM = "no claim"
_SIGNS = {"better": ">", "same": "=", "not worse": "≥"}
_HEADS = {"synthetic_alpha": "alpha", "clients_per_round": "K"}


@dataclass(frozen=True)
class Comparison:
    """A claim in one column of its table.

    Attributes:
        claim: The claim; its source is "" for a comparison that no paper claims.
        at: The column.
        asked: Whether A is better than B in the runs of that column.
        verdict: The verdicts; `None` for a comparison that no paper claims, and before `judged`.
    """

    claim: Claim
    at: object
    asked: judge.Claim
    verdict: Verdict | None = None

    @property
    def found(self) -> PairedDifference | None:
        """A - B over common pairs of data draw and seed; `None` for fewer than 2 pairs."""
        return self.asked.found


def judged(comparisons: Sequence[Comparison]) -> tuple[Comparison, ...]:
    """Returns the comparisons of one table with verdicts; the claims of a source are a family."""
    verdicts: dict[int, Verdict] = {}
    for source in dict.fromkeys(each.claim.source for each in comparisons if each.claim.source):
        places = [n for n, each in enumerate(comparisons) if each.claim.source == source]
        verdicts.update(zip(places, judge.judge([comparisons[n].asked for n in places])))
    return tuple(
        replace(each, verdict=verdicts.get(place)) for place, each in enumerate(comparisons)
    )


# Synthetic(1, 1), and runs without these settings.
_ONE_ONE = ((1, 1), (None, None))


@dataclass(frozen=True)
class Cell:
    """A cell of a table: the paper's number and ours, each with its improvement over the baseline.

    Improvements are relative to the baseline's score. Values that were not run or printed are
    `None`, and so are improvements of or over runs that diverged.
    """

    paper: float | None
    ours: Score | None
    relative: float | None
    paper_relative: float | None


@dataclass(frozen=True, eq=False)
class FilledTable:
    """A published table filled from one variant of the runs.

    Attributes:
        table: The published table.
        variant: The runs; `None` for the tasks that were not run at all.
        columns: Heads of the columns.
        cells: Cells by task, algorithm and column, in the order of the rows.
        comparisons: Comparisons of claims, then comparisons that no paper claims.
    """

    table: PaperTable
    variant: Variant | None
    columns: tuple[Any, ...]
    cells: dict[tuple[str, str, Any], Cell]
    comparisons: tuple[Comparison, ...]

    @property
    def tasks(self) -> list[str]:
        """Tasks of the blocks."""
        return list(dict.fromkeys(task for task, _, _ in self.cells))

    def algorithms(self, task: str) -> list[str]:
        """Algorithms of a block's rows."""
        return list(dict.fromkeys(name for other, name, _ in self.cells if other == task))

    @property
    def of_paper(self) -> bool:
        """Whether runs of at least the paper's rounds are beside a number or claim of the paper."""
        if self.variant is None:
            return False
        needed = {task: rounds_of(self.table, self.variant.network, task) for task in self.tasks}
        long = {
            group.settings["task"]
            for group in self.variant.groups
            if group.settings["rounds"] >= needed.get(group.settings["task"], 0)
        }
        printed = {task for (task, *_), c in self.cells.items() if c.ours and c.paper is not None}
        claimed = {row.claim.task for row in self.ran if row.claim.source}
        return bool(long & (printed | claimed))

    @property
    def ran(self) -> list[Comparison]:
        """Comparisons with runs of both sides."""
        return [each for each in self.comparisons if each.asked.obstacle != NOT_RUN]

    @property
    def label(self) -> str:
        """The table's runs in words."""
        return NOT_RUN if self.variant is None else self.variant.label

    def display(self, name: Any, kind: str = "algorithm") -> str:
        """The name of a component in tables, whether it was run or not."""
        groups = () if self.variant is None else self.variant.groups
        names = (g.first.display(kind) for g in groups if g.settings.get(kind) == name)
        return next(names, display_of(kind, name))

    def heading(self, value: Any) -> str:
        """The head of a column: a value of the setting that the columns vary."""
        across = self.table.across
        if across in KINDS:
            return self.display(value, across)
        text = f"{value:g}" if isinstance(value, (int, float)) else str(value)
        return f"{_HEADS[across]} = {text}" if across in _HEADS else text


def fill(table: PaperTable, groups: Sequence[RunGroup], period: str) -> list[FilledTable]:
    """Fills a published table from runs; groups outside the table are ignored.

    Returns:
        A filled table for each set of runs that may be compared, then a table of the paper's tasks
        without published-network runs, if any.
    """
    fitting = [g.with_own(table.free) for g in groups if column_of(table, g) is not None]
    filled = []
    for variant in variants(fitting, ("task", table.across, *table.follows)):
        columns = _columns(table, variant)
        if table.columns or len(columns) > 1:
            found = {
                (g.settings["task"], g.algorithm, column_of(table, g)): g for g in variant.groups
            }
            there = in_order(variant.groups, "task")
            tasks = [task for task in table.tasks if task in there]
            tasks += [task for task in there if task not in tasks]
            filled.append(_of_tasks(table, variant, tasks, columns, found, period))
    published = [each for each in filled if each.variant and each.variant.network == PUBLISHED]
    ran = {task for each in published for task in each.tasks}
    rest = [t for t in table.tasks if t not in ran and any(c.task == t for c in table.claims)]
    if rest:
        filled.append(
            _of_tasks(
                table, variant=None, tasks=rest, columns=table.columns, found={}, period=period
            )
        )
    return filled


def published_rounds(task: str) -> int:
    """Returns the rounds of a task in its paper; 0 if unknown."""
    component = builtin_registry().components["task"].get(task)
    return 0 if component is None else component.config.published.get("rounds", 0)


def too_short(groups: Sequence[RunGroup], rounds: int | None = None) -> str:
    """Returns the reason why runs are too short for a claim of a paper, `""` if they are not.

    Args:
        groups: Runs of one task and number of rounds, at least one.
        rounds: Fewest rounds; `None` for those of the task's paper.
    """
    settings = groups[0].settings
    needed = published_rounds(settings["task"]) if rounds is None else rounds
    return (
        "" if settings["rounds"] >= needed else f"{settings['rounds']} rounds, {needed} are needed"
    )


def rounds_of(table: PaperTable, network: str, task: str) -> int:
    """Returns the rounds that a claim on a task needs; 0 if unknown."""
    own = {**table.rounds, **(SMALL_ROUNDS if network == SMALL else {})}
    return own.get(task) or published_rounds(task)


def column_of(table: PaperTable, group: RunGroup) -> Any | None:
    """Returns the column that a group of runs belongs into, `None` if there is no such column."""
    task = group.settings["task"]
    if not table.takes_task(task):
        return None
    if group.algorithm == "sequential_sgd":
        return "none" if "none" in table.columns else None
    if any(group.setting(name) != value for name, value in table.fixed.items()):
        return None
    # The papers lose no update.
    if group.setting("delivery") not in (None, "certain"):
        return None
    value = group.world.get(table.across)
    fixed = table.columns and table.across not in KINDS
    if value is None or (fixed and value not in table.columns):
        return None
    if any(group.world.get(name) != value for name in table.follows):
        return None
    # The paper's other tables are of Synthetic(1, 1).
    alpha = (group.setting("synthetic_alpha"), group.setting("synthetic_beta"))
    if task == "synthetic" and not table.follows and alpha not in _ONE_ONE:
        return None
    return value


def _columns(table: PaperTable, variant: Variant) -> tuple[Any, ...]:
    """The paper's columns, then further ones that were run."""
    present = {column_of(table, g): g for g in variant.groups}
    further: list[Any] = [at for at in present if at not in table.columns]
    if table.across in KINDS:
        return (*table.columns, *in_order([present[at] for at in further], table.across))
    return (*table.columns, *sorted(further))


def _of_tasks(
    table: PaperTable,
    variant: Variant | None,
    tasks: Sequence[str],
    columns: tuple[Any, ...],
    found: dict[tuple[str, str, Any], RunGroup],
    period: str,
) -> FilledTable:
    network = PUBLISHED if variant is None else variant.network
    cells: dict[tuple[str, str, Any], Cell] = {}
    comparisons: list[Comparison] = []
    for task in tasks:
        further = [a for t, a, _ in found if t == task and a not in table.algorithms]
        for algorithm in dict.fromkeys((*table.algorithms, *further)):
            # Sequential SGD has no clients, hence a separate column.
            own = [at for at in columns if (algorithm == "sequential_sgd") == (at == "none")]
            for at in own:
                cells[task, algorithm, at] = _cell(table, found, (task, algorithm, at), period)
        rounds = rounds_of(table, network, task)
        for claim, at in _to_compare(table, task, columns):
            a, b = (found.get((task, name, at)) for name in (claim.a, claim.b))
            # A difference of another network's runs is not the paper's.
            paper = claim.paper if network == PUBLISHED else None
            if a is not None and b is not None:
                asked = judge.Claim(
                    paired(a, b, claim.metric, period),
                    relation=claim.relation,
                    printed=paper,
                    obstacle=too_short((a, b), rounds),
                    fewest_pairs=claim.seeds,
                )
            else:
                asked = judge.Claim(None, claim.relation, printed=paper, obstacle=NOT_RUN)
            if claim.source or asked.obstacle != NOT_RUN:
                comparisons.append(Comparison(claim, at, asked))
        if table.across == "clients_per_round" and len(columns) > 1:
            ends = columns[0], columns[-1]
            comparisons += [
                _widening(claim, ends, found, period, rounds)
                for claim in table.claims
                if all((task, name, at) in found for name in (claim.a, claim.b) for at in ends)
            ]
    return FilledTable(table, variant, columns, cells, judged(comparisons))


def _widening(
    claim: Claim,
    ends: tuple[Any, Any],
    found: Mapping[tuple[str, str, Any], RunGroup],
    period: str,
    rounds: int,
) -> Comparison:
    """Compares the lead of A over B in two columns: "the gap widens" (F3AST Fig. 4).

    `found` has groups by task, algorithm and column, with A and B at both `ends`.
    """
    groups = [[found[claim.task, name, at] for name in (claim.a, claim.b)] for at in ends]
    first, last = (paired(a, b, claim.metric, period) for a, b in groups)
    wider = replace(claim, what="gap widens", relation="better", paper=None)
    asked = judge.Claim(
        lead_over(last, first),
        relation=wider.relation,
        obstacle=too_short([group for pair in groups for group in pair], rounds),
        fewest_pairs=claim.seeds,
    )
    return Comparison(wider, at=f"{ends[0]} to {ends[1]}", asked=asked)


def _cell(
    table: PaperTable,
    found: dict[tuple[str, str, Any], RunGroup],
    key: tuple[str, str, Any],
    period: str,
) -> Cell:
    task, algorithm, at = key
    base = table.baselines.get(algorithm, "")

    def ours(name: str) -> Score | None:
        group = found.get((task, name, at))
        metric = "converged_sample_accuracy" if name == "sequential_sgd" else table.metric
        return None if group is None else score(group, metric, period)

    def gain(value: float | None, of_base: float | None) -> float | None:
        if value is None or not of_base or math.isnan(value + of_base):
            return None
        return value / of_base - 1

    value, of_base = ours(algorithm), ours(base)
    mean, base_mean = (None if each is None else each.mean for each in (value, of_base))
    paper, paper_base = (table.values.get((task, at, name)) for name in (algorithm, base))
    return Cell(paper, value, gain(mean, base_mean), paper_relative=gain(paper, paper_base))


def _to_compare(table: PaperTable, task: str, columns: Sequence[Any]) -> list[tuple[Claim, Any]]:
    claimed = [
        (claim, at)
        for claim in table.claims
        for at in (columns if claim.at is None else [claim.at])
        if claim.task == task
    ]
    pairs = {(claim.a, claim.b, at) for claim, at in claimed}
    unclaimed = [
        (Claim("", table.metric, a, b, task), at)
        for a, b in table.baselines.items()
        for at in columns
        if (a, b, at) not in pairs
    ]
    return claimed + unclaimed


def comparison_grid(name: str, filled: FilledTable) -> Grid:
    """Returns a table's comparisons that were run, one per row."""
    head = (
        "claim",
        "paper: A − B",
        "ours: A − B, 95% interval",
        "p",
        "over",
        "direction (Holm)",
        "size (Holm)",
    )
    rows, groups = [], []
    for each in filled.ran:
        claim, found, verdict = each.claim, each.found, each.verdict
        rows.append(
            (
                claim_text(filled, each),
                NOTHING if claim.paper is None else f"{claim.paper:+.4g}",
                interval(found),
                p_text(found),
                over(found),
                f"{_word(verdict.word, verdict.level)}\n{grounds(verdict)}"
                if verdict
                else NO_CLAIM,
                _word(verdict.size, verdict.size_level) if verdict else NOTHING,
            )
        )
        groups.append(f"{claim.title or 'beside the claims'}, {filled.display(claim.task, 'task')}")
    shared = filled.variant is not None and one_availability(filled.variant.groups)
    covered = of_intervals((each.found for each in filled.comparisons), shared)
    caption = f"Paired differences ({filled.label}){covered and '; ' + covered}"
    return Grid(name, caption, head, tuple(rows), groups=tuple(groups))


def claim_text(filled: FilledTable, each: Comparison) -> str:
    """Returns a claim in words, such as `F3AST > FedAvg, Uneven`."""
    sign = _SIGNS[each.claim.relation] if each.claim.source else "against"
    pair = f"{filled.display(each.claim.a)} {sign} {filled.display(each.claim.b)}"
    return f"{pair}, {filled.heading(each.at)}"


def _word(verdict: str | None, level: float | None) -> str:
    """A verdict with the level of the interval behind it; `–` where the paper claims nothing."""
    return f"{verdict or NOTHING}{'' if level is None else f' (at {level:.2%})'}"
