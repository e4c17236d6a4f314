"""Regrets of rules, on accuracies made for known ones."""

from __future__ import annotations

from itertools import product
from pathlib import Path

import pandas as pd
import pytest

from f3ast_tff.analysis.compare.scored import RunsError
from f3ast_tff.analysis.studies.real_phones.left_out import main, regret_of
from tests.commands import Cli

TRACES = ("a", "b", "c")
# Accuracy of each method on a, b and c, without the draw's own part.
METHODS = {
    ("f3ast", "sum", ""): (0.60, 0.50, 0.40),
    ("fedavg_all", "mean", ""): (0.50, 0.50, 0.60),
    ("mifa", "mifa", ""): (0.55, 0.65, 0.20),
}


def table(swing: float = 0.0) -> pd.DataFrame:
    """Six draws; draw d adds d / 100 to all, and a swing of alternating sign to F3AST."""
    columns = {
        ("/".join(filter(None, method)), trace): [
            score + d / 100 + (swing * (-1) ** d if method[0] == "f3ast" else 0) for d in range(6)
        ]
        for method, scores in METHODS.items()
        for trace, score in zip(TRACES, scores)
    }
    found = pd.DataFrame(columns, index=pd.Index(range(6), name="draw"))
    found.columns = found.columns.set_names(["method", "availability"])
    return found


def test_each_trace_is_left_out_in_turn() -> None:
    """Left out a: the others' means are F3AST .45, mean .55, MIFA .425: the mean, .60 - .50.

    Left out b: F3AST .50, mean .55, MIFA .375: the mean, .65 - .50. Left out c: .55, .50, .60:
    MIFA, .60 - .20. In the mean (.10 + .15 + .40) / 3.
    """
    found = regret_of(table())
    assert found.chosen == {"a": "fedavg_all/mean", "b": "fedavg_all/mean", "c": "mifa/mifa"}
    assert found.by_trace == pytest.approx({"a": 0.10, "b": 0.15, "c": 0.40})
    assert found.found.mean == pytest.approx(0.65 / 3)
    assert found.found.num_draws == 6


def test_a_rule_that_always_takes_one_method() -> None:
    """F3AST: 0 on a, .65 - .50 on b, .60 - .40 on c; its swing makes the interval."""
    found = regret_of(table(0.03), "f3ast/sum")
    assert found.by_trace == pytest.approx({"a": 0, "b": 0.15, "c": 0.20})
    assert found.found.mean == pytest.approx(0.35 / 3)
    assert found.found.low < 0.35 / 3 < found.found.high


def test_a_missing_run_is_refused() -> None:
    holes = table()
    holes.iloc[2, 3] = float("nan")
    with pytest.raises(RunsError, match="a run per trace and draw"):
        regret_of(holes)


def test_the_table_names_rules_and_methods(tmp_path: Path, cli: Cli) -> None:
    """In the kept study MIFA is best, and a method that the study of phones lacks."""
    rows = []
    for (method, scores), d in product(METHODS.items(), range(6)):
        for trace, score in zip(TRACES, scores):
            settings = dict(zip(("algorithm", "aggregation", "baseline_sampling"), method))
            world = {"task": "synthetic", "availability": trace, "clients_per_round": 10}
            drawn = {"client_share": "equal", "data_seed": d, "seed": d, "round": 9}
            found = {"sample_accuracy": 0.1, "user_accuracy": score + d / 100}
            losses = {"sample_loss": 1.0, "user_loss": 1.0}
            rows.append({**world, **settings, **drawn, **found, **losses})
    scores_file, kept = tmp_path / "scores.csv", tmp_path / "kept.csv"
    phones = pd.DataFrame(rows)
    phones.to_csv(scores_file, index=False)
    best = phones.assign(user_accuracy=phones["algorithm"].map({"mifa": 0.7}).fillna(0.3))
    other = best[best["algorithm"] == "mifa"].assign(algorithm="scaffold", user_accuracy=0.9)
    pd.concat([best, other]).to_csv(kept, index=False)
    printed = cli.said(main(["x", f"--scores={scores_file}", f"--kept={kept}"])).out
    fitted = "Plain mean; MIFA | 0.217 [0.217, 0.217] | 0.400 (c) |"
    assert f"| Synthetic | 1 / N | best of the other traces | {fitted}" in printed
    assert "| always the kept study's best | MIFA | 0.150 " in printed
