"""Each task on both engines, from small files in the distributors' formats."""

from __future__ import annotations

import json
import logging
import os
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from f3ast_tff.cli import run as main
from f3ast_tff.settings import builtin_registry

Run = Callable[..., Path]
SMALL = {"rounds": 2, "eval_every": 1, "clients_per_round": 2, "availability": "always"}
# Settings per task that fit the small files.
FITTING: dict[str, dict[str, Any]] = {
    "synthetic": {"num_clients": 4},
    "synthetic_linear": {"num_clients": 20},
    "leaf_synthetic": {"num_clients": 4},
    "cifar100": {"num_clients": 50, "test_clients": 2, "batch_size": 4, "rounds": 1},
    "shakespeare": {"num_clients": 3, "client_lr": 0.1},
    "cifar10": {"num_clients": 5},
    "cifar10_one_class": {"num_clients": 10},
    "mnist": {"num_clients": 5, "ridge": 0.1},
    "file": {"data_file": "DATA_DIR/own.csv"},
}
# Networks that compile within a second.
SMALLER: dict[str, dict[str, Any]] = {
    "cifar100": {"model": "small_cnn", "cnn_filters": "4", "cnn_hidden": ""},
    "shakespeare": {"lstm_units": 4},
    "cifar10": {"model": "small_cnn", "cnn_filters": "4", "cnn_hidden": ""},
    "cifar10_one_class": {"model": "small_cnn", "cnn_filters": "4", "cnn_hidden": ""},
}


def where(task: str, folder: Path) -> dict[str, Any]:
    """Returns the settings for the folders of the runs and of the task's data."""
    parameters = {p.name for p in builtin_registry().components["task"][task].parameters}
    found = {"output_dir": str(folder), "task": task}
    return {**found, "data_dir": str(folder)} if "data_dir" in parameters else found


@pytest.fixture
def run(all_files: Path) -> Iterator[Run]:
    """Runs two rounds and returns the run's folder."""
    handler, environment = signal.getsignal(signal.SIGTERM), dict(os.environ)

    def run(task: str, engine: str, **given: Any) -> Path:
        name = f"{task}-{engine}"
        fitting = {
            key: value.replace("DATA_DIR", str(all_files)) if isinstance(value, str) else value
            for key, value in FITTING[task].items()
        }
        which = {**where(task, all_files), "run_name": name, "engine": engine}
        assert main.run({**SMALL, **fitting, **which, **given}, builtin_registry()) == 0
        return all_files / name

    yield run
    signal.signal(signal.SIGTERM, handler)
    os.environ.clear()
    os.environ.update(environment)


def final(folder: Path) -> dict[str, float]:
    return json.loads((folder / "summary.json").read_text())["final"]


def test_every_task_is_run() -> None:
    assert set(builtin_registry().components["task"]) == set(FITTING)


# The only task whose images TFF crops. The engines' own tests cover arrays without crops.
ON_TFF = ("cifar100",)
# Recorded results of TFF on sequences, since TFF takes ten seconds to build an LSTM.
MEASURES = ("train_loss", "test_sample_loss", "test_user_loss", "update_norm")
SHAKESPEARE = (4.487014, 4.475658, 4.475658, 0.0337307)


@pytest.mark.long
@pytest.mark.parametrize("task", sorted(set(FITTING) - {*ON_TFF, "shakespeare"}))
def test_two_rounds_of_the_others(task: str, run: Run) -> None:
    values = final(run(task, "fused", **SMALLER.get(task, {})))
    assert np.isfinite(values["train_loss"]) and values["update_norm"] > 0


@pytest.mark.long
def test_sequences_as_tff_computed_them(run: Run) -> None:
    values = final(run("shakespeare", "fused", **SMALLER["shakespeare"]))
    assert [values[measure] for measure in MEASURES] == pytest.approx(SHAKESPEARE, rel=1e-3)


@pytest.mark.long
@pytest.mark.tff
@pytest.mark.parametrize(
    "task", [t if t in ON_TFF else pytest.param(t, marks=pytest.mark.slow) for t in sorted(FITTING)]
)
def test_two_rounds_agree_on_both_engines(task: str, run: Run) -> None:
    """Same clients, same batches, same pixels: same losses."""
    assert_alike(task, run, **SMALLER.get(task, {}))


@pytest.mark.tff
@pytest.mark.slow
@pytest.mark.parametrize("task", sorted(SMALLER))
def test_with_the_published_network(task: str, run: Run) -> None:
    assert_alike(task, run)


def assert_alike(task: str, run: Run, **given: Any) -> None:
    by_engine = [final(run(task, engine, **given)) for engine in ("fused", "tff")]
    for measure in MEASURES:
        fused, tff = (values[measure] for values in by_engine)
        assert np.isfinite(fused)
        assert fused == pytest.approx(tff, rel=1e-3), measure


@pytest.mark.long
def test_second_run_opens_what_the_first_prepared(
    run: Run, all_files: Path, caplog: pytest.LogCaptureFixture
) -> None:
    run("mnist", "fused")
    for path in (all_files / "mnist").iterdir():
        path.unlink()
    with caplog.at_level(logging.WARNING):
        run("mnist", "fused", run_name="again")
    said = [record.getMessage() for record in caplog.records if record.levelno >= logging.WARNING]
    assert [message for message in said if "no better than that of a guess" not in message] == []


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"task": "cifar100", "num_clients": 7}, "num_clients"),
        ({"task": "mnist", "test_clients": 1000}, "--test_clients=1000: must be at most"),
        ({"task": "synthetic", "held_out_clients": 100}, "must be at most 99: this data has 100"),
        ({"task": "shakespeare", "num_clients": 700}, "--num_clients=700"),
        ({"task": "cifar100", "num_clients": 50, "data_dir": "/proc/nowhere"}, "/proc/nowhere"),
        ({"task": "cifar100", "client_split": "tff"}, "cifar100"),
        (
            {"task": "mnist", "num_clients": 5, "model": "resnet18"},
            "--model=resnet18: reads square images of three channels",
        ),
        ({"task": "file", "data_file": "nowhere.csv"}, "--data_file=nowhere.csv: not found"),
    ],
)
def test_what_is_missing_is_named(
    given: dict[str, Any], message: str, all_files: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    settings = {**SMALL, **where(given["task"], all_files), "run_name": "x", **given}
    assert main.run(settings, builtin_registry()) == 2
    error = capsys.readouterr().err.splitlines()[-1]
    assert error.startswith("error: ") and message in error
