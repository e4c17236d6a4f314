"""The runs themselves: a table and learning curves for each task, whatever its components."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from f3ast_tff.analysis.line_styles import labelled
from f3ast_tff.analysis.report.document import Block, Grid, Section, Text
from f3ast_tff.analysis.report.figures import curve_figures
from f3ast_tff.analysis.report.published_tables import PaperTable
from f3ast_tff.analysis.report.variants import SMALL_ROUNDS, network_of, told_apart
from f3ast_tff.analysis.run_groups import CONDITION, RunGroup, describe, in_order, score, varying
from f3ast_tff.analysis.runs import SCORES
from f3ast_tff.analysis.texts import of_spread, over, spread_text
from f3ast_tff.analysis.verdicts import ERROR, FEWEST_DRAWS

# Of a table that need not be opened.
_MAX_ROWS = 40


def results_sections(
    groups: Sequence[RunGroup],
    pure: Collection[RunGroup],
    tables: Sequence[PaperTable],
    period: str,
) -> list[Section]:
    """Returns a section for each task: a table of all runs, and curves of those in `pure`.

    The papers' tables say what methods may differ in.
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


def _grid(name: str, groups: Sequence[RunGroup], period: str) -> Grid:
    told = told_apart(groups)
    order = in_order(groups, "availability")
    ordered = sorted(groups, key=lambda g: order.index(g.settings["availability"]))
    rows, headings = [], []
    lost = any(group.num_guessing for group in groups)
    for group in ordered:
        scores = [score(group, metric, period) for metric in SCORES]
        texts = map(spread_text, scores)
        count = group.num_guessing
        ends = [f"{count} of {len(group.runs)}" if count else ""] if lost else []
        rows.append((labelled(group, told[group]), over(scores[0]), *texts, *ends))
        headings.append(group.first.display("availability"))
    metrics = [metric.replace("_", " ") for metric in SCORES]
    head = ("algorithm", "over", *metrics, *(["no better than a guess"] if lost else []))
    apart = ("task", "availability", *varying(groups, CONDITION))
    shared = [name for name in CONDITION if name not in apart]
    condition = describe(groups[0].condition(shared), shared)
    networks = {network_of(group) for group in groups}
    network = networks.pop() if len(networks) == 1 else ""
    parts = [groups[0].first.display("task"), *filter(None, [network, condition])]
    caption = f"{', '.join(parts)}; {of_spread(groups)}"
    fold = len(rows) > _MAX_ROWS
    return Grid(name, caption, head, tuple(rows), folded=fold, groups=tuple(headings))


_PERIODS = {"final": "at the last round", "mean_of_last_10_percent": "averaged over the last 10%"}


def explanation(period: str, of_papers: bool) -> Section:
    """Returns the section on how to read the report, and claims of papers if it has any."""
    scores = (
        f"Scores are those {_PERIODS[period]}, on test data. Only runs whose other settings agree "
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
            "a family of directions without effects has a false 'holds' or 'reversed' in at "
            f"most {ERROR:.0%} of studies, as far as intervals cover what they say. Tables III "
            "and IV, VII and VIII, and Figs. 2 and 3 read the same runs, and each is a family "
            "by itself. There is no correction across figures and tables."
        ),
        Text(
            "The direction holds if that interval lies on A's side of 0, is reversed if it "
            "lies on B's, and is open if it holds 0. 'Not worse' is judged as 'better' is. The "
            "size asks for the paper's number, where it prints one: smaller or larger if the "
            "interval lies below or above it, as printed if the interval holds it and is "
            "shorter than it is large, open otherwise. Where the paper prints two equal "
            "numbers, there is a size alone. The share of the paper's difference has its "
            "uncorrected 95% interval. Both are open with fewer than "
            f"{FEWEST_DRAWS} draws of data that the task generates, fewer runs than the paper "
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
