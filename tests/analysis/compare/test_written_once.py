"""A comparison is written once: nothing else corrects, ranks a diverged run, or has own numbers."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from f3ast_tff.advice.own_verdict import Outcome
from f3ast_tff.analysis.compare import render
from f3ast_tff.analysis.compare.plan import read_plan
from f3ast_tff.analysis.compare.plan_verdicts import verdicts_of_plan
from f3ast_tff.analysis.report.build import build
from f3ast_tff.analysis.results_frame import read_results
from f3ast_tff.analysis.run_groups import collect
from f3ast_tff.analysis.runs import load_runs
from f3ast_tff.analysis.tidy_scores import read_scores, tidy_scores
from f3ast_tff.cli.compare import main
from f3ast_tff.cli.judge import main as judge_main
from tests.analysis.conftest import MakeRun

ROOT = Path(__file__).resolve().parents[3]
PRODUCT = [ROOT / "analysis", ROOT / "f3ast_tff"]
# Simulates intervals and families to find out how often they err.
MEASURES = "interval_coverage"
METHODS = {
    "fedavg": (0.30, 0.35, 0.30, 0.35, 0.30, 0.33),
    "f3ast": (0.40, 0.55, 0.60, 0.55, 0.40, 0.47),
}
PLAN = """
[plan]
asked = 2026-01-02T10:00:00Z
family = "one"
rows = ["algorithm"]
scores = "scores"
score = "sample_accuracy"

[[plan.question]]
minus = ["f3ast:fedavg"]
"""


def places_of(pattern: str) -> set[str]:
    """Modules of the product with such a line, outside comments and docstrings' prose."""
    found = set()
    for folder in PRODUCT:
        for path in folder.rglob("*.py"):
            if path.is_relative_to(ROOT / "f3ast_tff/analysis") or MEASURES in path.parts:
                continue
            if any(re.search(pattern, line) for line in path.read_text().splitlines()):
                found.add(path.relative_to(ROOT).as_posix())
    return found


@pytest.mark.parametrize(
    ("pattern", "places"),
    [
        # The correction of a family, a test's decision, and how often both err.
        (
            r"ERROR / |(?<![\w.])0?\.05 / |p_value\w*\W+[<>]|multipletests",
            {"analysis/compare/judge.py", "analysis/compare/null_families.py"},
        ),
        # The value of a run that diverged, and pairs that know which did.
        (
            r"-math\.inf if .*higher|0\.0 if .*(lost|diverged|worst)|nan_to_num",
            {"analysis/compare/pairs.py"},
        ),
        (
            r"\bPaired\($",
            {"analysis/compare/pairs.py", "analysis/study_runs.py"},
        ),
        # Times until a score: a run that diverged has none.
        (r"\bPaired\([^)]", {"analysis/compare/leads.py"}),
        # Paired intervals, of other things than claims: importance, regret, means, and
        # numbers of pages without a verdict.
        (r"[^_]paired_difference\(|difference_of_common\(", {
            "analysis/compare/paired_difference.py",
            "analysis/compare/pairs.py",
            "analysis/leaderboard/page.py",
            "analysis/studies/cafed_fig1a/importance_tables.py",
            "analysis/studies/cafed_fig2/optimal_kappa2.py",
            "analysis/studies/clinics/classes.py",
            "analysis/studies/page_numbers.py",
            "analysis/studies/real_phones/left_out.py",
            "f3ast_tff/advice/sites.py",
        }),
    ],
)  # fmt: skip
def test_places(pattern: str, places: set[str]) -> None:
    assert places_of(pattern) == places


def test_a_pair_has_the_same_numbers_wherever_it_is_shown(
    make_run: MakeRun, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name, scores in METHODS.items():
        for draw, score in enumerate(scores):
            make_run(f"{name}-{draw}", score, algorithm=name, data_seed=draw, seed=draw)
    runs = tmp_path / "runs"
    (row,) = read_results(runs).differences().to_dict("records")
    numbers = {name: row[name] for name in ("low", "high", "p", "draws", "verdict")}
    # The report.
    (same,) = build(collect(runs), "final").tables["differences"].to_dict("records")
    assert same == row
    # The terminal.
    assert main(["compare", f"--runs={runs}"]) == 0
    assert row["sentence"] in capsys.readouterr().out
    # The verdict of `try`, whose own method is the first.
    groups = {group.algorithm: group for group in collect(runs).groups}
    tried: Any = Outcome(
        made=None,
        runs={name: groups[name] for name in ("f3ast", "fedavg")},
        chosen={},
        score="sample_accuracy",
        higher=True,
    )
    *_, (verdict,) = (each.values() for each in tried.verdicts.values())
    of_try = render.row(verdict)
    assert {name: of_try[name] for name in numbers} == numbers
    # A table of anyone's scores.
    rows = [f"{n},{i},{s}" for n, all_of in METHODS.items() for i, s in enumerate(all_of)]
    (tmp_path / "table.csv").write_text("\n".join(["method,seed,accuracy", *rows]))
    assert judge_main(["judge", str(tmp_path / "table.csv")]) == 0
    (size,) = re.findall(r"by \S+ \[.*?\]", row["sentence"])
    assert f"f3ast is better than fedavg {size} over 6 seeds" in capsys.readouterr().out
    # A study's plan, from kept scores.
    kept = tmp_path / "scores.csv"
    tidy_scores(load_runs(runs)).to_csv(kept, index=False)
    (tmp_path / "plan.toml").write_text(PLAN)
    planned: pd.DataFrame = verdicts_of_plan(
        read_plan(str(tmp_path / "plan.toml")), read_scores(kept)
    )
    (of_plan,) = planned.to_dict("records")
    assert of_plan["mean"] == pytest.approx(row["difference"])
    assert {name: of_plan[name] for name in numbers} == {
        name: value if isinstance(value, str) else pytest.approx(value)
        for name, value in numbers.items()
    }
