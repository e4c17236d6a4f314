"""The sections of the runs: comparisons of methods, then tables and curves of each task."""

from __future__ import annotations

import math
import textwrap
from collections import Counter
from collections.abc import Callable, Collection, Sequence

import numpy as np
import pandas as pd

from f3ast_tff.analysis.compare.equal_seconds import AtSeconds, by_arrivals
from f3ast_tff.analysis.compare.judge import (
    AS_PRINTED,
    BETTER,
    CLOSE,
    ERROR,
    FEWEST_DRAWS,
    LARGER,
    NOT_JUDGED,
    OPEN,
    SMALLER,
    WORSE,
)
from f3ast_tff.analysis.compare.methods import Methods, differences, heading, in_words, methods_of
from f3ast_tff.analysis.compare.render import COLOUR_NAMES, COLOURS
from f3ast_tff.analysis.compare.scored import varying
from f3ast_tff.analysis.compare.times import at
from f3ast_tff.analysis.curves import Trace, has_clock, plain
from f3ast_tff.analysis.line_styles import labelled, literal
from f3ast_tff.analysis.method_names import FORMS
from f3ast_tff.analysis.report.document import Block, Grid, Listing, Picture, Section, Text
from f3ast_tff.analysis.report.figures import (
    MAX_LINES,
    PANEL_WIDTH,
    curve_figures,
    new_figure,
    to_show,
)
from f3ast_tff.analysis.report.published_tables import PaperTable
from f3ast_tff.analysis.report.variants import SMALL_ROUNDS, network_of, told_apart
from f3ast_tff.analysis.run_groups import CONDITION, RunGroup, describe, in_order, score
from f3ast_tff.analysis.score_directions import check_score, own_scores_said, scores_in
from f3ast_tff.analysis.texts import NOTHING, file_stem, of_spread, over, p_value_text, spread_text

# Number of rows above which lists and tables are folded; a picture shows at most as many.
_MAX_ROWS = 40
_ROW_HEIGHT = 0.42
# Shared settings that a caption names.
_NAMED = ("clients_per_round", "constraint", "rounds")
# Characters of a name in its usual size, and in its smallest.
_CHARACTERS, _MOST_CHARACTERS = 58, 112
_NO_WHERE = "None of the settings below"
# A repeated client is not listed, because the papers sample with replacement.
_MAY = {
    "too_many": "more clients than the constraint allows",
    "unavailable": "clients that are not available",
}


def differences_section(
    groups: Sequence[RunGroup],
    score: str,
    period: str,
    baseline: str | None,
    may_differ: Sequence[str] = (),
) -> tuple[Section, pd.DataFrame]:
    """Builds the section; without blocks if no two methods ran under equal conditions.

    Asynchronous runs with a clock, and the runs beside them, are compared at equal seconds.

    Returns:
        The section, and the table of `differences.differences` for these arguments.
    """
    time = at(period)
    if by_arrivals(groups) and all(map(has_clock, groups)):
        equal = AtSeconds()
        may_differ = [*dict.fromkeys([*may_differ, *equal.theirs(groups)])]
        time = equal.time(groups)
    methods = methods_of(groups, may_differ)
    table = differences(methods, score=score, time=time, baseline=baseline)
    title, name = "Is one better?", score.replace("_", " ")
    said = heading(methods, table, score, time, baseline)
    if table.empty:
        several = len(set(methods.labels.values())) > 1
        return Section(title, [Text(said)] if several else []), table
    text = (
        f"{said} {'Higher' if check_score(groups, score) else 'Lower'} is better. Two methods are "
        "compared where task, availability and all settings agree, except what is theirs: their "
        "own settings, optimizers, penalty and local work. Too close to call: the interval "
        "contains 0. More draws make it shorter; choose their number beforehand."
    )
    drawn = [_forest(table, name)] if table["difference"].notna().any() else []
    blocks: list[Block] = [*drawn]
    for where, part in table.groupby("where", sort=False):
        sentences = [" ".join(map(str.strip, in_words(row))) for row in part.to_dict("records")]
        none = _NO_WHERE if table["where"].nunique() > 1 else "All runs"
        blocks.append(Listing(str(where) or none, tuple(sentences), folded=len(table) > _MAX_ROWS))
    if notes := _notes(methods_of(groups, may_differ)):
        blocks.append(Listing("Beside these", notes, folded=False))
    blocks.append(Text(text))
    return Section(title, [*blocks, _grid(table, name)]), table


def _notes(methods: Methods) -> tuple[str, ...]:
    """Methods that break a rule of selection, or end no better than a guess."""
    lines = []
    for group in methods.groups:
        label = methods.labels[group]
        summaries = [run.summary or {} for run in group.runs.values()]
        rules = {rule for summary in summaries for rule in summary.get("may_select", ())}
        if said := [words for rule, words in _MAY.items() if rule in rules]:
            lines.append(f"{label} may select {' and '.join(said)}.")
        if count := group.num_guessing:
            many = f"{count} of {len(group.runs)} runs"
            lines.append(f"{label}: {many} end no better than a guess among the classes.")
    return tuple(dict.fromkeys(lines))


def _grid(table: pd.DataFrame, name: str) -> Grid:
    rows = tuple(
        (
            f"{row['a']} − {row['b']}",
            _number(row["difference"]),
            _number(row["low"]),
            _number(row["high"]),
            p_value_text(row["p"]),
            str(row["draws"]),
            str(row["pairs"]),
            row["verdict"],
        )
        for row in table.to_dict("records")
    )
    several = table["where"].nunique() > 1
    groups = tuple(where or _NO_WHERE for where in table["where"]) if several else ()
    head = ("A − B", "difference", "low", "high", "p (Holm)", "draws", "pairs", "A is")
    caption = f"Paired differences in {name}"
    return Grid("differences", caption, head, rows, folded=True, groups=groups)


def _number(value: float) -> str:
    return NOTHING if math.isnan(value) else f"{value:+.4f}"


def _forest(table: pd.DataFrame, name: str) -> Picture:
    """Draws the differences and their intervals, each on a line under its name."""
    shown = table[table["difference"].notna()].head(_MAX_ROWS)
    conditions = list(dict.fromkeys(shown["where"]))
    headings = len(conditions) if len(conditions) > 1 else 0
    rows = len(shown) + headings
    size = PANEL_WIDTH, _ROW_HEIGHT * rows + 0.2
    figure, panels = new_figure(1, columns=1, panel=size, legend_rows=0, title_lines=0)
    panel, traces, place = panels[0, 0], [], 0
    figure.subplots_adjust(left=0.03)

    def write(text: str, weight: str = "normal") -> None:
        text = textwrap.shorten(text, _MOST_CHARACTERS, placeholder=" ...")
        panel.annotate(
            literal(text),
            xy=(0, place),
            xycoords=("axes fraction", "data"),
            xytext=(4, 7),
            textcoords="offset points",
            fontsize=9 * min(1.0, _CHARACTERS / len(text)),
            fontweight=weight,
            # The line at 0 and the grid stop at a name.
            bbox={"facecolor": "white", "edgecolor": "none", "pad": 1.0},
        )

    for where, part in shown.groupby("where", sort=False):
        if headings:
            write(str(where) or _NO_WHERE, "bold")
            place += 1
        for row in part.to_dict("records"):
            color = COLOURS[row["verdict"]]
            ends = [row["low"], row["high"]]
            panel.plot(ends, [place, place], color=color, linewidth=2.2, solid_capstyle="butt")
            panel.plot([row["difference"]], [place], marker="o", color=color, linestyle="none")
            label = f"{row['a']} − {row['b']}"
            write(label)
            at = np.array([row["difference"]])
            traces.append(Trace(label, row["verdict"], at, np.array([place])))
            place += 1
    panel.axvline(0, color="0.35", linewidth=1)
    panel.set_ylim(rows - 0.5, -0.8)
    panel.set_yticks([])
    panel.set_xlabel(f"difference in {name}")
    plain(panel)
    panel.spines["left"].set_visible(False)
    more = len(table) - len(shown)
    left_out = f"; {more} more are in the table" if more else ""
    told = ", ".join(words for each, words in COLOUR_NAMES.items() if each in {*shown["verdict"]})
    caption = f"Differences in {name} with their intervals: {told}{left_out}."
    return Picture("differences_forest", caption, figure, (to_show(panel, "difference", traces),))


def results_sections(
    groups: Sequence[RunGroup],
    pure: Collection[RunGroup],
    tables: Sequence[PaperTable],
    period: str,
) -> list[Section]:
    """Returns a section for each task: a table of all runs, and their curves.

    If lines are many, only the groups in `pure`, of one reading, have curves.
    The papers' tables define the settings in which methods may differ.
    """
    sections = []
    for task in in_order(groups, "task"):
        members = [group for group in groups if group.settings["task"] == task]
        # CA-Fed compares methods of different K.
        free = next((t.free for t in tables if task in t.tasks and t.free), ())
        lines = Counter(group.settings["availability"] for group in members)
        many = max(lines.values()) > MAX_LINES
        drawn = [group for group in members if group in pure or not many]
        blocks: list[Block] = [_runs_grid(file_stem(f"runs_{task}"), members, period)]
        if same := _shared(members, lambda name: name not in _NAMED):
            blocks.append(Text(f"The same in all: {same}."))
        if forms := _forms_said(members):
            blocks.append(Text(forms))
        blocks += curve_figures(task, drawn, free) if drawn else []
        sections.append(Section(f"Runs: {members[0].first.display('task')}", blocks))
    return sections


def _shared(groups: Sequence[RunGroup], wanted: Callable[[str], bool]) -> str:
    """The settings of the condition, except task and availability, that all groups share."""
    apart = ("task", "availability", *varying(groups, CONDITION))
    shared = [name for name in CONDITION if name not in apart and wanted(name)]
    return describe(groups[0].condition(shared), shared)


def _forms_said(groups: Sequence[RunGroup]) -> str:
    """Which form of a method runs have whose name does not say it: FedAvg with replacement."""
    told = told_apart(groups)
    found: dict[str, dict[str, None]] = {}
    for group in groups:
        for name in FORMS:
            if name not in told[group] and (value := group.setting(name)) is not None:
                found.setdefault(str(value).replace("_", " "), {})[group.display] = None
    return " ".join(f"{', '.join(names)}: {form}." for form, names in found.items())


def _runs_grid(name: str, groups: Sequence[RunGroup], period: str) -> Grid:
    told = told_apart(groups)
    order = in_order(groups, "availability")
    ordered = sorted(groups, key=lambda g: order.index(g.settings["availability"]))
    rows, headings, shown = [], [], scores_in(groups)
    lost = any(group.num_guessing for group in groups)
    for group in ordered:
        scores = {n: score(group, n, period) for n in group.score_names}
        texts = [spread_text(scores[n]) if n in scores else NOTHING for n in shown]
        count = group.num_guessing
        ends = [f"{count} of {len(group.runs)}" if count else ""] if lost else []
        rows.append(
            (labelled(group, told[group]), over(next(iter(scores.values()))), *texts, *ends)
        )
        headings.append(group.first.display("availability"))
    metrics = [metric.replace("_", " ") for metric in shown]
    head = ("algorithm", "over", *metrics, *(["no better than a guess"] if lost else []))
    condition = _shared(groups, lambda name: name in _NAMED)
    networks = {network_of(group) for group in groups}
    network = networks.pop() if len(networks) == 1 else ""
    parts = [groups[0].first.display("task"), *filter(None, [network, condition])]
    better = own_scores_said(groups)
    caption = f"{', '.join(parts)}; {of_spread(groups)}{f'; {better}' if better else ''}"
    fold = len(rows) > _MAX_ROWS
    return Grid(name, caption, head, tuple(rows), folded=fold, groups=tuple(headings))


_PERIODS = {"final": "at the last round", "mean_of_last_10_percent": "averaged over the last 10%"}


def explanation(period: str, of_papers: bool, on: str = "test data") -> Section:
    """Returns the section on how to read the report, and claims of papers if it has any.

    `on` names the data of the scores, of `texts.scored_on`.
    """
    scores = (
        f"Scores are those {_PERIODS[period]}, on {on}. Only runs whose other settings agree "
        "(those that algorithms may differ in aside) are compared."
    )
    small = ", ".join(str(rounds) for rounds in SMALL_ROUNDS.values())
    every = [
        Text(scores),
        Text(
            "± is one standard deviation (n - 1) over draws of the data, of each draw's mean over "
            "its seeds, or over the seeds of a single draw. A − B is a paired difference over "
            "common pairs of data draw and seed, which share data and availability. Its interval "
            "and p value are over draws by a two-level model (draws, and seeds within a draw) "
            "where there are several draws, over the seeds of one draw otherwise. An interval over "
            "seeds says nothing of other draws. An interval is Student's t interval, its end on "
            "the side of the longer tail stretched for the skewness of the differences. A verdict "
            f"needs {FEWEST_DRAWS} draws of data that the task generates."
        ),
        Text(
            "A run has diverged if its score or its sample loss is not finite. A method that "
            "diverged in more than half of the runs loses, without a test. If fewer runs diverged "
            "and leave no mean, the exact sign test over draws decides the direction: a diverged "
            "run is worse than any other, and the size is open."
        ),
    ]
    of_claims = [
        Text(
            "Percentages are improvements relative to the baseline (F3AST over FedAvg, F3AST+Adam "
            "over FedAdam). Beside the papers' claims intervals and p values are not corrected for "
            "their number; verdicts are. A claim "
            "has two: its direction and its size. The claims of one figure or table that were "
            "run under the same settings are a family, of directions and of sizes each: "
            "Holm's rule sets the level of the interval that judges each, in brackets, so that "
            f"a family of directions without effects has a false '{BETTER}' or '{WORSE}' in at "
            f"most {ERROR:.0%} of studies, as far as intervals cover what they say. Tables III "
            "and IV, VII and VIII, and Figs. 2 and 3 read the same runs, and each is a family "
            "by itself. There is no correction across figures and tables."
        ),
        Text(
            f"The direction is {BETTER} if that interval lies on A's side of 0, {WORSE} if it lies "
            f"on B's, {CLOSE} if it contains 0. 'Not worse' is judged as 'better' is. The size "
            f"asks for the paper's number, where it prints one: {SMALLER} or {LARGER} if the "
            f"interval lies below or above it, {AS_PRINTED} if the interval holds it and is "
            f"shorter than it is large, {OPEN} otherwise. Where the paper prints two equal "
            "numbers, there is a size alone. The share of the paper's difference has its "
            f"uncorrected 95% interval. A direction is {NOT_JUDGED}, and a size {OPEN}, with fewer "
            f"than {FEWEST_DRAWS} draws of data that the task generates, fewer runs than the paper "
            "averages over, or fewer rounds than the paper's (the task's where it gives none)."
        ),
        Text(
            "Runs with another network than the paper's have tables and verdicts of their own. "
            "These judge the direction alone: the paper's difference stands beside them and "
            "judges nothing. Small networks are a small CNN on CIFAR-100 and an LSTM of 32 "
            f"units on Shakespeare; a verdict on them needs {small} rounds."
        ),
    ]
    of_own = [Text("Beside a paper's numbers stand runs of at least its number of rounds.")]
    return Section("How to read this", [*every, *(of_claims if of_papers else of_own)])
