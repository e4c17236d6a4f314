"""Time of a round on a GPU, by form of the layers, precision, lanes and unrolling; its equality.

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


def cases(small: bool) -> list[dict[str, Any]]:
    """Returns all cases, the most valuable first."""
    images, text = "cifar100", "shakespeare"

    def rounds(task: str, **more: Any) -> dict[str, Any]:
        return {"kind": "round", "task": task, **more}

    listed = [
        *({"kind": "equality", "task": task} for task in ("small_cnn", text, images)),
        *(rounds(images, lanes=lanes) for lanes in (10, 1, 5)),
        *(rounds(text, lanes=lanes) for lanes in (10, 1)),
        rounds(images, lanes=1, layers="plain"),
        rounds(images, lanes=10, precision="highest"),
        *(rounds(text, lanes=10, unroll=unroll) for unroll in (8, 16)),
        rounds(text, lanes=10, unroll=8, flags=LOOPS_IN_GRAPHS),
        rounds(text, lanes=10, precision="highest"),
        rounds(text, lanes=10, layers="plain"),
        rounds(images, lanes=10, layers="plain"),
        *(rounds("cifar100_released", lanes=lanes, rounds=4) for lanes in (10, 1)),
        rounds("cifar100_released", lanes=1, layers="plain", rounds=4),
        *(rounds("small_cnn", lanes=lanes) for lanes in (10, 1)),
        *(rounds(task, lanes=10, rounds=2, trace=f"trace_{task}") for task in (images, text)),
    ]
    return [{**case, "small": True} for case in listed] if small else listed


def execute(case: dict[str, Any], folder: Path, seconds: float) -> dict[str, Any]:
    """Runs a case in a new process; returns its row."""
    given = {name: value for name, value in case.items() if name != "flags"}
    if "trace" in given:
        given["trace"] = str(folder / given["trace"])
    flags = f"{os.environ.get('XLA_FLAGS', '')} {case.get('flags', '')}".strip()
    environment = {**os.environ, **({"XLA_FLAGS": flags} if flags else {})}
    command = [sys.executable, "-m", "benchmarks.gpu_case", json.dumps(given)]
    try:
        done = subprocess.run(
            command, env=environment, capture_output=True, text=True, timeout=seconds, check=False
        )
    except subprocess.TimeoutExpired:
        return {**case, "error": f"not done after {seconds:.0f} s"}
    if done.returncode:
        last = done.stderr.strip().splitlines()[-1:] or ["no message"]
        return {**case, "error": f"exit code {done.returncode}: {last[0][:200]}"}
    return {**case, **json.loads(done.stdout.splitlines()[-1])}


def key(row: dict[str, Any]) -> str:
    """Returns a text that identifies a case, the same before and after a CSV file."""
    names = ("kind", "task", "lanes", "layers", "precision", "unroll", "flags", "trace", "small")
    known = {name: row[name] for name in names if name in row and not pd.isna(row[name])}
    whole = {n: int(v) if isinstance(v, float) else str(v) for n, v in known.items()}
    return json.dumps({n: str(v) for n, v in whole.items()}, sort_keys=True)


def line(row: dict[str, Any]) -> str:
    """Returns a row in words."""
    said = ", ".join(
        f"{name} {row[name]}"
        for name in ("lanes", "layers", "precision", "unroll", "flags")
        if name in row
    )
    if "error" in row:
        found = row["error"]
    elif row["kind"] == "equality":
        verdict = "equal" if row["relative_gap"] <= EQUAL else f"NOT equal to {EQUAL}"
        found = f"{verdict}: at most {row['relative_gap']:.1e} of a change from the CPU"
    else:
        found = (
            f"{row['seconds_a_round']:.4f} s a round (first {row['first_round_seconds']:.1f} s, "
            f"evaluation {row['first_evaluation_seconds']:.1f} s), {row['peak_mib']:.0f} MiB"
        )
    return f"{row['kind']} {row['task']}{', ' if said else ''}{said}: {found}"


def fastest_lanes(rows: list[dict[str, Any]]) -> dict[str, int]:
    """Returns the fastest number of lanes of each model, among cases with default options."""
    found = {}
    for task, model in MODELS.items():
        known = [
            row
            for row in rows
            if row["task"] == task and set(row).isdisjoint({"layers", "flags", "unroll", "error"})
        ]
        timed = [row for row in known if "seconds_a_round" in row and "trace" not in row]
        if timed:
            found[model] = int(min(timed, key=lambda row: row["seconds_a_round"])["lanes"])
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
    rows = [] if not file.exists() else _read(file)
    done = {key(row) for row in rows}
    print(machine(), flush=True)
    for case in cases(given.small):
        left = end - time.monotonic()
        if key(case) in done:
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


def _read(file: Path) -> list[dict[str, Any]]:
    """The rows of an earlier call without empty cells; failed cases are dropped, to be retried."""
    rows = [
        {str(name): value for name, value in row.items() if not pd.isna(value)}
        for row in pd.read_csv(file).to_dict("records")
    ]
    return [row for row in rows if "error" not in row]


if __name__ == "__main__":
    raise SystemExit(main())
