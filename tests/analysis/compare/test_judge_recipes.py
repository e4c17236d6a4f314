"""The recipes of docs/judge.md make tables that are judged."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from types import SimpleNamespace

import pandas as pd
import pytest

from f3ast_tff.cli.main import main
from f3ast_tff.records.tensorboard_events import TensorBoardEvents

PAGE = Path(__file__).resolve().parents[3] / "docs" / "judge.md"
# Three rounds, the last of which is judged; seeds differ by .01, methods by .1 in each seed.
RUNS = [
    (method, seed, [round(0.4 + lead + seed / 100 + number / 10, 3) for number in (1, 2, 3)])
    for method, lead in (("mine", 0.1), ("fedavg", 0.0))
    for seed in range(3)
]
SAID = "mine is better than fedavg by .100 [.100, .100]"


def recipe(module: str) -> str:
    blocks = re.findall(r"```python\n(.*?)```", PAGE.read_text(), flags=re.DOTALL)
    (found,) = [block for block in blocks if f"import {module}" in block]
    return found


def judged(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    assert main(["f3ast-tff", "judge", *words]) == 0
    return capsys.readouterr().out


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def test_flower(capsys: pytest.CaptureFixture[str]) -> None:
    for method, seed, scores in RUNS:
        path = Path("outputs", method, str(seed), "results.json")
        path.parent.mkdir(parents=True)
        rows = [{"round": n, "centralized_accuracy": v} for n, v in enumerate(scores, 1)]
        path.write_text(json.dumps({"centralized_evaluate": rows}))
    exec(recipe("json"), {})
    assert f"{SAID} at round 3 over 3 seeds" in judged(capsys, "scores.csv")


def test_tensorboard(capsys: pytest.CaptureFixture[str]) -> None:
    for method, seed, scores in RUNS:
        folder = Path("runs", method, str(seed))
        folder.mkdir(parents=True)
        events = TensorBoardEvents(folder, {})
        events.begin()
        for number, value in enumerate(scores, 1):
            events.add(number, {"test/accuracy": value})
        events.close(True)
    recipe_ = recipe("pandas as pd\nfrom tensorboard")
    exec(recipe_, {})
    # Its numbers are float32.
    assert f"{SAID} at round 3 over 3 seeds" in judged(capsys, "scores.csv")


def test_wandb(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """A history has a row per log call: the score is missing at steps that logged another value."""
    runs = []
    for method, seed, scores in RUNS:
        gaps = [{"_step": 10 * n, "test/acc": v} for n, v in enumerate(scores, 1)]
        history = pd.DataFrame([*gaps, {"_step": 35, "lr": 0.1}])
        config = {"algorithm": method, "seed": seed}
        runs.append(
            SimpleNamespace(history=lambda h=history: h, config=config, id=f"{method}{seed}")
        )
    api = SimpleNamespace(Api=lambda: SimpleNamespace(runs=lambda name: runs))
    monkeypatch.setitem(sys.modules, "wandb", api)
    exec(recipe("wandb"), {})
    assert f"{SAID} at round 30 over 3 seeds" in judged(capsys, "scores.parquet")


def test_mlflow(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [
        {
            "run_id": f"{method}{seed}",
            "status": "FINISHED",
            "start_time": f"2026-01-0{seed + 1}",
            "metrics.test_accuracy": scores[-1],
            "params.algorithm": method,
            "params.seed": str(seed),
            "tags.mlflow.runName": f"fast-{seed}",
        }
        for method, seed, scores in RUNS
    ]
    found = SimpleNamespace(search_runs=lambda experiment_names: pd.DataFrame(rows))
    monkeypatch.setitem(sys.modules, "mlflow", found)
    exec(recipe("mlflow"), {})
    assert f"{SAID} over 3 seeds" in judged(capsys, "scores.csv")


def test_the_export_of_a_table_of_runs(capsys: pytest.CaptureFixture[str]) -> None:
    """W&B's own columns are no conditions, and a run that crashed is left out, with a line."""
    rows = [
        {"Name": f"r{n}", "State": "finished", "Created": f"2026-01-0{n + 1}", "algorithm": method,
         "seed": seed, "test/acc": scores[-1]}
        for n, (method, seed, scores) in enumerate(RUNS)
    ]  # fmt: skip
    rows.append({**rows[0], "Name": "r9", "State": "crashed", "seed": 9, "test/acc": None})
    pd.DataFrame(rows).to_csv("scores.csv", index=False)
    assert main(["f3ast-tff", "judge", "scores.csv"]) == 0
    printed = capsys.readouterr()
    assert f"{SAID} over 3 seeds" in printed.out
    assert printed.err == "left out: seed 9 of mine, without test/acc\n"
