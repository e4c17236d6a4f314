"""Damaged tables, traces and checkpoints: refused in one line, or read."""

from __future__ import annotations

import hashlib
import json
import logging
import pickle
import random
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import note

from f3ast_tff.availability import Table, TraceConfig, read_traces
from f3ast_tff.availability.logs.mask_files import write_masks
from f3ast_tff.core.errors import CheckpointError, DataError, ParameterError
from f3ast_tff.records.checkpoint import Checkpoint, CheckpointStore
from tests.fuzz.generate import DAMAGES, often, try_cases

pytestmark = pytest.mark.slow
# fmt: off
ODD: tuple[Any, ...] = (
    None, True, -1, 0, 1.5, 1e300, -1e300, 10**400, "", "AVL_TRAIN", "x" * 10_000, [], {}, [[]],
    {"a": {}}, [1], [1, 2, 3], [[0, 1], [0, 1]], "\ud800", "a\nb", float("inf"), float("nan"),
)
# fmt: on
STATES = {str(k): [[0, "AVL_TRAIN"], [9_000, "UN_AVL"], [600_000 + k, "x"]] for k in range(4)}
FEDSCALE = {
    str(k): {"active": [k, 90_000], "inactive": [9_000, 95_000 + k], "finish_time": 600_000}
    for k in range(4)
}
TRACES: dict[str, Any] = {
    "flash.json": {
        str(k): {
            "guid": str(k),
            "messages": "2020-01-02 00:00:00\tscreen_lock\n2020-01-02 01:00:00\twifi\n"
            f"2020-01-03 02:00:0{k}\tbattery_charged_on\n2020-01-08 00:00:00\t5{k}.0%\n",
        }
        for k in range(4)
    },
    "timers.json": {
        str(k): {
            "isSuccess": k < 3,
            "trace_start": 0.0,
            "trace_end": 600_000.0,
            "ready_time": [[k, 50_000.0], [60_000.0, 70_000.0 + k]],
        }
        for k in range(4)
    },
    "fedscale.json": FEDSCALE,
    "fedscale.pkl": FEDSCALE,
    "states.json": {"time_zero": "now", "devices": STATES},
    "lists.json": {"devices": {name: {"2st": trace} for name, trace in STATES.items()}},
    "intervals.json": {"devices": {str(k): [[k, 50], [600_000, k]] for k in range(4)}},
    "states.csv": "device,time,state\n"
    + "".join(f"{k},{t},{s}\n" for k, trace in STATES.items() for t, s in trace),
}

WHILE_SEEN = ("at_start", "seen")


def write(folder: Path, name: str) -> Path:
    """Writes a valid trace or table."""
    path = folder / name
    matrix = np.random.default_rng(0).random((24, 5)) < 0.5
    if path.suffix == ".pkl":
        path.write_bytes(pickle.dumps(TRACES[name]))
    elif path.suffix == ".npz":
        share = {"packed.npz": 0.5, "sparse.npz": 0.02}[name]
        many = np.random.default_rng(0).random((24, 400)) < share
        write_masks(path, many, many.shape)
    elif name in TRACES:
        content = TRACES[name]
        path.write_text(content if isinstance(content, str) else json.dumps(content))
    elif path.suffix == ".npy":
        np.save(path, matrix.astype(name.split(".")[0]))
    else:
        np.savetxt(path, matrix, "%d", ",")
    return path


def strange(value: Any, rng: random.Random) -> Any:
    """Returns a JSON value with one odd part."""
    if often(rng, 0.2) or not isinstance(value, (list, dict)) or not value:
        return rng.choice(ODD)
    if isinstance(value, list):
        place = rng.randrange(len(value))
        return [*value[:place], strange(value[place], rng), *value[place + 1 :]]
    key = rng.choice(sorted(value))
    return {**value, key: strange(value[key], rng)}


def use(path: Path) -> None:
    """Reads a file as a run would."""
    if path.name in TRACES:
        traces = read_traces(path, "2st" if path.name.startswith("lists") else "")
        for when, presence in (("at_start", "always"), ("throughout", "always"), WHILE_SEEN):
            config = TraceConfig(trace_when=when, trace_presence=presence)
            config.follow(traces, 6, 0).mask(1)
    else:
        table = Table(path)
        if table.num_clients < 10_000:
            # A run checks that the table has as many clients as the data.
            table.mask(1)


@pytest.mark.parametrize(
    "name",
    [*TRACES, "uint8.npy", "bool.npy", "float64.npy", "table.csv", "packed.npz", "sparse.npz"],
    ids=str,
)
def test_damaged_traces_and_tables(tmp_path: Path, name: str) -> None:
    def check(rng: random.Random) -> None:
        shutil.rmtree(tmp_path)
        tmp_path.mkdir()
        path = write(tmp_path, name)
        if path.suffix == ".json" and often(rng, 0.5):
            path.write_text(json.dumps(strange(TRACES[name], rng)))
        else:
            DAMAGES[rng.choice(["flip", "digit", *DAMAGES])](path, rng)
        note(repr(path.read_bytes()[:200]) if path.is_file() else "no file")
        try:
            use(path)
        except (DataError, ParameterError) as error:
            assert "\n" not in str(error) and len(str(error)) < 2000

    try_cases(check, 150)


def state(round_number: int) -> Checkpoint:
    """Returns a checkpoint of a few arrays."""
    rng = np.random.default_rng(round_number)
    arrays = {"engine/0000": rng.normal(size=(3, 4)), "history/selected": rng.integers(9, size=6)}
    return Checkpoint(round_number, arrays, {"rows": [{"round": round_number}]})


def resealed(path: Path) -> None:
    """Gives a damaged checkpoint the checksum of its present content."""
    content = path.read_bytes()[:-32]
    path.write_bytes(content + hashlib.sha256(content).digest())


@pytest.mark.parametrize("forged", [False, True], ids=["damaged", "forged"])
def test_damaged_checkpoints(
    tmp_path: Path, forged: bool, caplog: pytest.LogCaptureFixture
) -> None:
    """A damaged checkpoint is never read as another; a forged checksum causes no traceback."""
    caplog.set_level(logging.CRITICAL)

    def check(rng: random.Random) -> None:
        shutil.rmtree(tmp_path)
        tmp_path.mkdir()
        store = CheckpointStore(tmp_path / "checkpoints", "run")
        paths = [store.save(state(round_number)) for round_number in (1, 2)]
        for path in paths if often(rng, 0.3) else paths[1:]:
            how = rng.choice(["flip", "digit", *(DAMAGES if not forged else ["cut", "double"])])
            DAMAGES[how](path, rng)
            note(f"{how} {path.name}")
            if forged and path.is_file():
                resealed(path)
        try:
            found = store.load_newest()
        except CheckpointError as error:
            assert "\n" not in str(error)
            return
        if found and not forged:
            expected = state(found.round_number)
            assert found.meta == expected.meta
            for name, array in expected.arrays.items():
                np.testing.assert_array_equal(found.arrays[name], array)

    try_cases(check, 400)
