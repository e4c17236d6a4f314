"""Regret of choosing a method from other traces: each trace left out in turn.

python -m f3ast_tff.analysis.studies.real_phones.left_out
    --scores analysis/studies/real_phones/scores.csv
    --kept analysis/studies/availability_methods_synthetic/scores.csv

The fitted rule takes the method of highest mean accuracy on the other traces. The regret of a rule
on a trace is the mean accuracy of the method that is best there, minus that of the rule's method.
The best is chosen on the same draws, so a regret is not below 0 and somewhat too large. Beside the
fitted rule stand rules that always take one method: F3AST, the plain mean of available clients, and
the best of the kept study of generated regimes in the same objective.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from f3ast_tff.analysis.command_line import command
from f3ast_tff.analysis.compare.paired_difference import PairedDifference, paired_difference
from f3ast_tff.analysis.compare.scored import Pair, RunsError
from f3ast_tff.analysis.method_names import display_of
from f3ast_tff.analysis.study_runs import SHARE, method_name, read_studies
from f3ast_tff.analysis.texts import markdown_table
from f3ast_tff.files.messages import show
from f3ast_tff.settings import REQUIRED, parameter

# Settings that tell the methods of both studies apart.
METHOD = ("algorithm", "aggregation", "baseline_sampling")
ALWAYS = {"always F3AST": "f3ast/sum", "always the plain mean": "fedavg_all/mean"}
FITTED, KEPT = "best of the other traces", "always the kept study's best"
_SHARES = {"equal": "1 / N", "examples": "n_k / n"}
_REGIME, _DRAW = "availability", "draw"


@dataclass(frozen=True)
class Flags:
    """Flags of this command."""

    scores: str = parameter(REQUIRED, "CSV file of tidy_scores", is_path=True)
    kept: str = parameter(REQUIRED, "scores of the kept study of generated regimes", is_path=True)


@dataclass(frozen=True)
class Regret:
    """Regret of a rule in one task and objective.

    Attributes:
        chosen: Method that the rule takes on each trace, by trace.
        by_trace: Mean regret over draws on each trace.
        found: Regret in the mean of the traces, over draws.
    """

    chosen: Mapping[str, str]
    by_trace: Mapping[str, float]
    found: PairedDifference


@command(Flags, __doc__)
def main(flags: Flags) -> None:
    """Prints the regrets."""
    of_kept = _tables(flags.kept, "clients_per_round=10")
    kept = {share: table for (_, share), table in of_kept.items()}
    rows = []
    for (task, share), table in _tables(flags.scores).items():
        known = kept[share].mean().groupby(level="method").mean()
        best = str(known[known.index.isin(table.columns.unique(0))].idxmax())
        for rule, always in {FITTED: None, **ALWAYS, KEPT: best}.items():
            regret = regret_of(table, always)
            names = dict.fromkeys(_named(method) for method in regret.chosen.values())
            worst = max(regret.by_trace, key=lambda trace: regret.by_trace[trace])
            found = regret.found
            rows.append(
                [
                    display_of("task", task),
                    _SHARES[share],
                    rule,
                    "; ".join(names),
                    f"{found.mean:.3f} [{max(found.low, 0):.3f}, {found.high:.3f}]",
                    f"{regret.by_trace[worst]:.3f} ({worst})",
                ]
            )
    head = ["task", "p_k", "rule", "method", "mean regret", "largest"]
    show(markdown_table(head, rows))


def regret_of(table: pd.DataFrame, always: str | None = None) -> Regret:
    """Returns the regret of a rule.

    Args:
        table: Accuracy by draw, a row each; the columns are methods and traces, two levels.
        always: The method that the rule always takes; `None` for the best of the other traces.

    Raises:
        RunsError: If a method lacks a run.
    """
    if table.isna().to_numpy().any():
        raise RunsError("each method needs a run per trace and draw")
    means = table.mean().unstack()
    chosen: dict[str, str] = {}
    best: dict[str, str] = {}
    for trace in map(str, means.columns):
        others = means.drop(columns=trace).mean(axis="columns")
        chosen[trace] = str(others.idxmax()) if always is None else always
        best[trace] = str(means[trace].idxmax())
    mean: dict[Any, float] = table.mean().to_dict()
    by_trace = {t: mean[best[t], t] - mean[chosen[t], t] for t in chosen}
    found = paired_difference(_mean_of(table, best), _mean_of(table, chosen))
    return Regret(chosen, by_trace, found)


def _mean_of(table: pd.DataFrame, methods: Mapping[str, str]) -> dict[Pair, float]:
    """Accuracy in the mean of the traces, each with its method, by draw."""
    columns = [(method, trace) for trace, method in methods.items()]
    means: dict[Any, float] = table[columns].mean(axis=1).to_dict()
    return {Pair(int(draw), int(draw)): value for draw, value in means.items()}


def _tables(path: str, where: str | None = None) -> dict[tuple[str, str], pd.DataFrame]:
    """Accuracy by task and objective: a row per draw, methods and regimes as columns."""
    found = {}
    for task, study in read_studies(Path(path), [_REGIME], where).items():
        runs = study.runs
        keys = runs[list(METHOD)].to_numpy().tolist()
        runs = runs.assign(method=["/".join(filter(None, key)) for key in keys])
        for share, part in runs.groupby(SHARE, sort=False):
            of_draw = part.groupby([_DRAW, "method", _REGIME])["accuracy"].mean()
            found[task, str(share)] = of_draw.unstack(["method", _REGIME])
    return found


def _named(method: str) -> str:
    """The method in words."""
    parts = method.split("/")
    return method_name("synthetic", dict(zip(METHOD, [*parts, *[""] * (len(METHOD) - len(parts))])))


if __name__ == "__main__":
    sys.exit(main(sys.argv))
