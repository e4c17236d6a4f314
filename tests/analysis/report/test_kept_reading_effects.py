"""The kept effects of readings follow from the kept scores."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from f3ast_tff.analysis.compare.times import PERIODS
from f3ast_tff.analysis.report.reading_section import reading_section
from f3ast_tff.analysis.run_groups import comparable_groups
from f3ast_tff.analysis.runs import SCORES, load_runs
from tests.analysis.kept_results import load

ROOT = Path(__file__).resolve().parents[3]
KEY = ("base", "where", "of", "switch")
# Scores are kept with six decimals. The ends of an interval have several times that error, and a p
# value has a larger relative error than the effect.
TOLERANCE, OF_P = 1e-5, 0.01


def write_runs(campaign: str, folder: Path) -> None:
    """Writes the runs of a kept file, with the settings that the campaign gives them."""
    kept = load(Path("analysis", "studies", campaign, "scores.csv"))
    planned = {kept.planned_key(run): run.configuration for run in kept.planned}
    for number, run in enumerate(kept.runs):
        configuration = planned[kept.key(run)]
        path = folder / f"{campaign}-{number}"
        path.mkdir()
        config = {"settings": dict(configuration.settings), **configuration.describe()}
        (path / "config.json").write_text(json.dumps(config))
        last: dict[str, float] = {"round": max(run.scores)}
        last.update({f"test_{score}": run.scores[max(run.scores)][score] for score in SCORES})
        lines = [",".join(last), ",".join(map(str, last.values()))]
        (path / "metrics.csv").write_text("\n".join(lines) + "\n")
        (path / "summary.json").write_text(json.dumps(dict.fromkeys(PERIODS, last)))


def by_key(table: pd.DataFrame) -> dict[tuple[str, ...], dict[Any, Any]]:
    found = {tuple(row[name] for name in KEY): row for row in table.to_dict("records")}
    assert len(found) == len(table)
    return found


@pytest.mark.long
def test_of_the_presets_and_the_switches(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """From `table3_synthetic` and `readings_synthetic`, as the second one's page says."""
    monkeypatch.chdir(ROOT)
    for name in ("table3_synthetic", "readings_synthetic"):
        write_runs(name, tmp_path)
    groups, _ = comparable_groups(load_runs(tmp_path))
    made = reading_section(groups, "final")[1]["reading_effects"]
    kept = pd.read_csv("analysis/studies/readings_synthetic/effects.csv")
    assert list(made.columns) == list(kept.columns)
    ours, theirs = by_key(made), by_key(kept)
    assert ours.keys() == theirs.keys()
    for key, row in theirs.items():
        for name, value in row.items():
            is_number = isinstance(value, float) and not math.isnan(value)
            rel = OF_P if name == "p_value" else 0.0
            expected = pytest.approx(value, rel=rel, abs=TOLERANCE) if is_number else value
            assert ours[key][name] == expected, (key, name)
