"""Which kappa^2 is best after T rounds (CA-Fed, Fig. 2b): Markdown tables.

python -m f3ast_tff.analysis.studies.cafed_fig2.optimal_kappa2
    --scores analysis/studies/cafed_fig2/scores.csv

The first table has the mean accuracy of each method, the second the kappa^2 of the best mean.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from f3ast_tff.analysis.command_line import command
from f3ast_tff.analysis.compare.cells import only_group, ordered_keys
from f3ast_tff.analysis.compare.paired_difference import PairedDifference, paired_difference
from f3ast_tff.analysis.compare.scored import Kept, Pair, RunsError
from f3ast_tff.analysis.texts import counted, interval, markdown_table, number, of_intervals
from f3ast_tff.analysis.tidy_scores import Key, kept_groups, label, read_scores, require_setting
from f3ast_tff.files.messages import show
from f3ast_tff.settings import REQUIRED, parameter

# Values of T. Fig. 2a has 500 rounds, and the paper compares at 40.
DURATIONS = (10, 20, 30, 40, 50, 100, 200, 300, 400, 500)
_ROWS = ("algorithm", "kappa2")
_SCORE = "sample_accuracy"
Scores = Mapping[Pair, float]


@dataclass(frozen=True)
class Flags:
    """Flags of this command."""

    scores: str = parameter(REQUIRED, "CSV file of tidy_scores", is_path=True)


@dataclass(frozen=True)
class Optimum:
    """The kappa^2 with the best mean accuracy.

    Attributes:
        best: Its value, as the scores have it.
        second: Value of the next best mean.
        times_best: Number of draws in which each value is best; a draw in which two are level
            counts for both.
        lead: Best minus second.
    """

    best: str
    second: str
    times_best: Mapping[str, int]
    lead: PairedDifference


@command(Flags, __doc__)
def main(flags: Flags) -> None:
    """Prints the tables."""
    table = read_scores(Path(flags.scores))
    for name in _ROWS:
        require_setting("scores", name, table)
    methods = _by_method(kept_groups(table))
    at = {
        rounds: {key: group.at(_SCORE, rounds) for key, group in methods.items()}
        for rounds in DURATIONS
    }
    optima = {
        rounds: optimum({kappa2: found for (_, kappa2), found in cells.items() if kappa2})
        for rounds, cells in at.items()
    }
    means = [
        (f"{rounds}", *(number(float(np.mean([*found.values()]))) for found in cells.values()))
        for rounds, cells in at.items()
    ]
    leads = [
        (
            f"{rounds}",
            found.best,
            ", ".join(f"{n}" for n in found.times_best.values()),
            found.second,
            interval(found.lead, 3),
        )
        for rounds, found in optima.items()
    ]
    kappas = ", ".join(next(iter(optima.values())).times_best)
    columns = ["T", *(kappa2 or label(_ROWS, (name, kappa2)) for name, kappa2 in methods)]
    headings = ["T", "best kappa^2", f"draws in which {kappas} is best", "second", "best − second"]
    population = counted(group.courses.keys() for group in methods.values())
    covered = of_intervals([found.lead for found in optima.values()])
    parts = (
        f"Sample accuracy after T rounds, of CA-Fed by kappa^2, means over {population}:",
        markdown_table(columns, means),
        "The kappa^2 of the best mean:",
        markdown_table(headings, leads),
        f"A draw in which two are level counts for both. 95% {covered}, not corrected.",
    )
    show("\n\n".join(parts))


def _by_method(groups: Sequence[Kept]) -> Mapping[Key, Kept]:
    found: dict[Key, list[Kept]] = {}
    for group in groups:
        found.setdefault(tuple(group.settings[name] for name in _ROWS), []).append(group)
    advice = "they may differ in kappa2 alone"
    return {key: only_group(found[key], "method", advice) for key in ordered_keys(found, _ROWS)}


def optimum(scores: Mapping[str, Scores]) -> Optimum:
    """Returns the best kappa^2.

    Args:
        scores: Accuracy of each pair of draw and seed, by kappa^2; two values or more, of common
            pairs.

    Raises:
        RunsError: If there are fewer values or other pairs, or an accuracy is not finite.
    """
    pairs = [*next(iter(scores.values()), {})]
    if len(scores) < 2 or any({*found} != {*pairs} for found in scores.values()):
        raise RunsError("needs two kappa2 or more, each with the same draws")
    every = np.array([[found[pair] for pair in pairs] for found in scores.values()])
    if not np.isfinite(every).all():
        raise RunsError(f"a {_SCORE} is not finite")
    times = (every == every.max(axis=0)).sum(axis=1)
    best, second = [
        [*scores][place] for place in np.argsort(-every.mean(axis=1), kind="stable")[:2]
    ]
    return Optimum(
        best=best,
        second=second,
        times_best=dict(zip(scores, times.tolist())),
        lead=paired_difference(scores[best], scores[second]),
    )


if __name__ == "__main__":
    sys.exit(main(sys.argv))
