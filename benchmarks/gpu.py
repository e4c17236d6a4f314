"""Time of a round on a GPU, by form of the layers, precision and lanes; its equality with a CPU.

    python -m benchmarks.gpu --out FOLDER [--minutes 9.5] [--small] [--write_lanes]

Cases run one at a time, the most valuable first, each in a new process, until the time is over.
Each finished case prints a line and adds a row to `FOLDER/gpu_rounds.csv`; the row of a failed
case holds its error. A second call goes on with the missing cases. `--small` tries the script out
on a CPU. `--write_lanes` puts the fastest number of lanes of each model into the engine's table.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from benchmarks.timing import machine
from f3ast_tff.engines.jax.packing import LANES_FILE

# Class of a task's model, the key of the table of lanes.
MODELS = {"cifar100": "ResNet18", "shakespeare": "CharacterLSTM", "small_cnn": "SmallCNN"}
LOOPS_IN_GRAPHS = "--xla_gpu_enable_command_buffer=FUSION,CUBLAS,CUDNN,WHILE"
EQUAL = 1e-5
# Time limit of a case, so that a hanging case leaves time for the rest.
LONGEST_CASE_S = 150.0


def cases() -> list[str]:
    """Returns all cases, the most valuable first; `benchmarks.gpu_case` reads them."""
    images, text, released = "round cifar100", "round shakespeare", "round cifar100_released"
    return [
        *(f"equality {task}" for task in ("small_cnn", "shakespeare", "cifar100")),
        *(f"{images} lanes={lanes}" for lanes in (10, 1, 5)),
        *(f"{text} lanes={lanes}" for lanes in (10, 1)),
        *(f"{each} lanes=10 precision=tensorfloat32" for each in (images, text)),
        *(f"{images} lanes={lanes} layers=plain" for lanes in (1, 10)),
        *(f"{released} lanes={lanes} rounds=4" for lanes in (10, 1)),
        f"{text} lanes=10 layers=plain",
        f"{text} lanes=10 flags={LOOPS_IN_GRAPHS}",
        f"{released} lanes=1 layers=plain rounds=4",
        *(f"round small_cnn lanes={lanes}" for lanes in (10, 1)),
        *(f"{each} lanes=10 rounds=2 trace=1" for each in (images, text)),
    ]


def read_case(text: str) -> dict[str, Any]:
    """Returns kind, task and options of a case."""
    kind, task, *options = text.split()
    pairs = [option.split("=", 1) for option in options]
    named = {name: int(value) if value.isdecimal() else value for name, value in pairs}
    return {"kind": kind, "task": task, **named}


def execute(case: str, folder: Path, seconds: float) -> dict[str, Any]:
    """Runs a case in a new process; returns its row."""
    given = [os.environ.get("XLA_FLAGS", ""), str(read_case(case).get("flags", ""))]
    environment = {**os.environ, "XLA_FLAGS": " ".join(given).strip()}
    command = [sys.executable, "-m", "benchmarks.gpu_case", case, str(folder)]
    try:
        done = subprocess.run(
            command, env=environment, capture_output=True, text=True, timeout=seconds, check=False
        )
    except subprocess.TimeoutExpired:
        return {"case": case, "error": f"not done after {seconds:.0f} s"}
    if done.returncode:
        last = done.stderr.strip().splitlines()[-1:] or ["no message"]
        return {"case": case, "error": f"exit code {done.returncode}: {last[0][:200]}"}
    return {"case": case, **json.loads(done.stdout.splitlines()[-1])}


def line(row: dict[str, Any]) -> str:
    """Returns a row in words."""
    if "error" in row:
        found = row["error"]
    elif "relative_gap" in row:
        verdict = "equal" if row["relative_gap"] <= EQUAL else f"NOT equal to {EQUAL}"
        found = f"{verdict}: {row['relative_gap']:.1e} of the change from the CPU"
    else:
        found = (
            f"{row['seconds_a_round']:.4f} s a round (first {row['first_round_seconds']:.1f} s, "
            f"evaluation {row['first_evaluation_seconds']:.1f} s), {row['peak_mib']:.0f} MiB"
        )
    return f"{row['case']}: {found}"


def fastest_lanes(rows: list[dict[str, Any]]) -> dict[str, int]:
    """Returns the fastest number of lanes of each model, among cases with default options."""
    found = {}
    for task, model in MODELS.items():
        known = [(row, read_case(row["case"])) for row in rows if "seconds_a_round" in row]
        timed = [
            (row["seconds_a_round"], case["lanes"])
            for row, case in known
            if case["task"] == task and case.keys() <= {"kind", "task", "lanes", "small"}
        ]
        if timed:
            found[model] = min(timed)[1]
    return found


def main(argv: Sequence[str] | None = None) -> int:
    """Measures; the exit code is 1 if a case failed or the CPU and the GPU differ."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", required=True, type=Path)
    parser.add_argument("--minutes", type=float, default=9.5)
    parser.add_argument("--small", action="store_true")
    parser.add_argument("--write_lanes", action="store_true")
    given = parser.parse_args(argv)
    given.out.mkdir(parents=True, exist_ok=True)
    end = time.monotonic() + 60 * given.minutes
    file = given.out / "gpu_rounds.csv"
    rows: list[dict[str, Any]] = []
    if file.exists():
        known = pd.read_csv(file).to_dict("records")
        rows = [{str(n): v for n, v in row.items() if not pd.isna(v)} for row in known]
        # Failed cases are tried again.
        rows = [row for row in rows if "error" not in row]
    done = {row["case"] for row in rows}
    print(machine(), flush=True)
    for case in [f"{case} small=1" if given.small else case for case in cases()]:
        left = end - time.monotonic()
        if case in done:
            continue
        if left < 20:
            print("the time is over: call again for the other cases")
            break
        rows.append(execute(case, given.out, min(LONGEST_CASE_S, left)))
        pd.DataFrame(rows).to_csv(file, index=False)
        print(line(rows[-1]), flush=True)
    lanes = fastest_lanes(rows)
    print(f"fastest lanes: {json.dumps(lanes)}")
    if given.write_lanes:
        LANES_FILE.write_text(json.dumps(lanes, indent=2) + "\n")
    print(f"all figures: {file}")
    unequal = [row for row in rows if row.get("relative_gap", 0.0) > EQUAL]
    return int(bool(unequal) or any("error" in row for row in rows))


if __name__ == "__main__":
    raise SystemExit(main())
