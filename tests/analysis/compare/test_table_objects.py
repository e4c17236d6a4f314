"""JSON files that are one object: the call that is said, typed as printed."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from f3ast_tff.analysis.compare.judge_table import judge_table
from f3ast_tff.analysis.compare.scored import RunsError
from f3ast_tff.analysis.compare.table_files import read_table
from tests.analysis.compare.test_table_shapes import MINE, RUNS, THEIRS

ROUNDS = [{"round": n, "accuracy": n / 10, "loss": 1 - n / 10} for n in (1, 2, 3)]
FRAME = pd.DataFrame(RUNS, columns=["method", "seed", "accuracy"])
GIVEN: dict[str, Any] = {}
CURVES = {"accuracy": [0.1, 0.2, 0.3], "loss": [0.9, 0.8, 0.7]}


def call_for(found: Any, name: str) -> str:
    for indent in (None, 1):
        Path(name).write_text(json.dumps(found, indent=indent))
        with pytest.raises(RunsError) as error:
            read_table(Path(name))
        said = str(error.value)
        assert "\n" not in said and "it must hold an object per row" in said
    call = re.search(r"In pandas \((.*)\), .*?: (pd\..*)", said)
    if call is None:
        return ""
    exec(call[1], GIVEN)
    return call[2]


@pytest.mark.parametrize(
    ("name", "found", "rounds"),
    [
        # Flower's results and its History, Sacred's metrics.
        ("results.json", {"centralized_evaluate": ROUNDS, "federated_evaluate": ROUNDS}, 3),
        ("hist.json", {"losses_centralized": [[1, 0.9]], "metrics_distributed": {},
                       "metrics_centralized": {"accuracy": [[1, 0.1], [2, 0.2], [3, 0.3]]}}, 3),
        ("metrics.json", {"test.acc": {"steps": [1, 2, 3], "timestamps": ["a", "b", "c"],
                                       "values": [0.1, 0.2, 0.3]}}, 3),
        ("trainer_state.json", {"epoch": 3.0, "log_history": ROUNDS}, 3),
        ("a.json", {str(row["round"]): {"accuracy": row["accuracy"]} for row in ROUNDS}, 3),
        ("history.json", CURVES, 3),
    ],
)  # fmt: skip
def test_files_of_one_run(name: str, found: Any, rounds: int, cwd: Path) -> None:
    call, _, then = call_for(found, name).partition(" for each run")
    assert then == ", then pd.concat of all"
    table = eval(call, GIVEN)
    assert table["method"].tolist() == ["NAME"] * rounds
    score = next(n for n in ("accuracy", "test.acc") if n in table)
    assert table[score].tolist() == [0.1, 0.2, 0.3] and "round" in table


@pytest.mark.parametrize(
    ("found", "said"),
    [
        (json.loads(FRAME.to_json()), "over 4 seeds"),
        (json.loads(FRAME.to_json(orient="index")), "over 4 seeds"),
        (json.loads(FRAME.to_json(orient="split")), "over 4 seeds"),
        ({"results": FRAME.to_dict("records")}, "over 4 seeds"),
        ({"mine": MINE, "fedavg": THEIRS}, "over 4 and 4 runs, not paired"),
        ({m: {f"seed_{s}": v for n, s, v in RUNS if n == m} for m in ("mine", "fedavg")},
         "over 4 seeds"),
        ({m: {str(s): [0.1, v] for n, s, v in RUNS if n == m} for m in ("mine", "fedavg")},
         "at round 1 over 4 seeds"),
    ],
)  # fmt: skip
def test_files_of_methods(found: Any, said: str, cwd: Path) -> None:
    """A lead of (.10 + .09 + .10 + .11) / 4."""
    table = eval(call_for(found, "a.json"), GIVEN)
    columns = {"score": "value"} if "value" in table else {}
    (row,) = judge_table(table, columns=columns, higher=True).frame().to_dict("records")
    assert row["a"] == "mine" and row["verdict"] == "better" and said in row["sentence"]
    assert row["difference"] == pytest.approx(0.1)


def test_curves_of_methods_are_one_run_each(cwd: Path) -> None:
    call = call_for({"mine": CURVES, "fedavg": CURVES}, "a.json")
    with pytest.raises(RunsError, match="mine and fedavg have 1 run each"):
        judge_table(eval(call, GIVEN))


def test_folders_of_sacred(cwd: Path) -> None:
    for number, (method, seed, value) in enumerate(RUNS):
        folder = Path("runs", str(number))
        folder.mkdir(parents=True)
        (folder / "config.json").write_text(json.dumps({"algorithm": method, "seed": seed}))
        (folder / "run.json").write_text(json.dumps({"experiment": {}, "result": value}))
    call = call_for({"experiment": {"name": "x"}, "result": 0.8, "status": "COMPLETED"}, "run.json")
    table = eval(call, GIVEN)
    assert list(judge_table(table).frame()["difference"]) == pytest.approx([0.1])
    # An object per file, with all that is to know.
    assert "glob" in call_for({"algorithm": "mine", "seed": 1, "accuracy": 0.8}, "config.json")
