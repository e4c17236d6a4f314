"""Recorded rounds of TensorFlow Federated, for Python versions without a release of it.

    python -m tests.f3ast_tff.engines.recorded_rounds [CASE ...]

runs the cases on TFF, in this process and on its worker, and writes `tff_rounds/CASE.npz`. Cases
are defined in the table below only; each algorithm has a case of its name.
"""

from __future__ import annotations

import hashlib
import importlib.metadata
import json
import platform
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from f3ast_tff.core.federated_data import ClientExamples, FederatedData
from f3ast_tff.engines.engine import RoundOutcome
from f3ast_tff.files.array_files import load_npz
from f3ast_tff.methods.parts.strategy import Cohort
from f3ast_tff.run.build import Builder
from f3ast_tff.run.given_objects import settings_of
from f3ast_tff.run.round_loop import train
from f3ast_tff.settings import builtin_registry
from f3ast_tff.settings.configuration import Configuration
from f3ast_tff.settings.resolve import resolve

FOLDER = Path(__file__).with_name("tff_rounds")
# Every n-th entry of larger tensors is kept; a softmax regression is kept whole.
MOST_ENTRIES = 600
# Largest differences from the record: of TFF itself, and of another runtime or engine.
REPEATED, ALIKE = 1e-6, 1e-5
ABOUT = "about"
PACKAGES = ("tensorflow-federated", "tensorflow", "numpy")
Arrays = dict[str, np.ndarray]


def examples(kind: str) -> FederatedData:
    """Three clients with images `float32 [n, 32, 32, 3]`, or sequences of 12 characters."""
    rng = np.random.default_rng(5)
    sizes = (3, 2, 4)
    n, classes = sum(sizes), 10
    features: np.ndarray = rng.random((n, 32, 32, 3), np.float32) * 2 - 1
    labels = rng.integers(0, classes, n).astype(np.int32)
    if kind == "sequences":
        classes = 90
        features = rng.integers(1, classes, (n, 12)).astype(np.uint8)
        labels = rng.integers(1, classes, (n, 12)).astype(np.int8)
        labels[:, 9:] = -1
    split = ClientExamples(features, labels, np.cumsum([0, *sizes]))
    return FederatedData(split, split, classes)


COMMON: dict[str, Any] = {
    "task": "synthetic",
    "num_clients": 15,
    "clients_per_round": 4,
    "availability": "smartphones",
    "client_lr": 0.05,
    "seed": 3,
    "rounds": 8,
}
# Settings with which eight rounds reach an algorithm's later phases.
EARLY: dict[str, dict[str, Any]] = {
    "amplified_fedavg": {"amplified_period": 3, "amplified_gain": 2.0},
    "amplified_scaffold": {"control_period": 3, "control_gain": 2.0},
    "f3ast": {"rate_beta": 0.1},
    "f3ast_adam": {"rate_beta": 0.1},
    "f3ast_of_ca_fed": {"rate_beta": 0.1},
    # CA-Fed's oracle does not cover a sine wave.
    "ca_fed": {"availability": "home_devices"},
    "more_available": {"more_available_pi": 0.2},
    "fedau": {"fedau_cutoff": 3},
    "fedavg_then_fedlaavg": {"switch_round": 4},
    "poc": {"poc_candidates": 6},
    "sequential_sgd": {"num_clients": 4, "clients_per_round": None, "availability": None},
    **{
        name: {"late_by": "uniform", "late_rounds": 1.0, "buffer_size": 3}
        for name in ("fedbuff", "fadas")
    },
    "fedasync": {"clients_per_round": 6},
    "aced": {"clients_per_round": 6, "async_buffer": 2, "aced_tau": 2},
    "fedavg_in_time": {"late_by": "uniform", "late_rounds": 1.0, "in_time_rounds": 1},
}
DELAYED = {"delivery": "late", "late_by": "uniform", "late_rounds": 1.0}
LOST = {"delivery": "bernoulli", "loss_probability": 0.4}
NETWORK = {"task": "images", "num_clients": None, "clients_per_round": 2, "batch_size": 2}
NETWORK = {**NETWORK, "algorithm": "fedavg", "availability": "always", "rounds": 3}
VARIANTS: dict[str, dict[str, Any]] = {
    # The released readings: replacement, the divisor K, filled rounds, clipping.
    "fedavg_released": {"algorithm": "fedavg", "reading": "released"},
    "f3ast_released": {"algorithm": "f3ast", "reading": "released", "local_steps": 3},
    "poc_released": {"algorithm": "poc", "reading": "released", "poc_candidates": 6},
    "fedawe_clipped": {"algorithm": "fedawe", "fedawe_clip": 0.1, "fedawe_scored": "server_model"},
    "fedlaavg_late": {"algorithm": "fedlaavg", "memory_from_round": 4},
    "fedlaavg_decay": {"algorithm": "fedlaavg", "client_lr_decay": 0.8},
    "f3ast_fedvarp": {"algorithm": "f3ast", "rate_beta": 0.1, "aggregation": "fedvarp"},
    # Memories with clients weighted by examples.
    "fedvarp_by_size": {"algorithm": "fedvarp", "client_share": "examples"},
    "scaffold_by_size": {"algorithm": "scaffold", "client_share": "examples"},
    "feddc_paper": {"algorithm": "feddc", "feddc_form": "paper"},
    "mifa_wait": {"algorithm": "mifa", "mifa_start": "wait", "num_clients": 8},
    **{
        f"client_{name}": {"algorithm": "f3ast", "rate_beta": 0.1, "client_optimizer": name}
        for name in ("adam", "yogi", "adagrad")
    },
    "client_momentum": {"algorithm": "f3ast", "rate_beta": 0.1, "client_momentum": 0.5},
    "server_momentum": {"algorithm": "f3ast", "rate_beta": 0.1, "server_momentum": 0.5},
    **{
        f"server_{name}": {"algorithm": "fedavg", "server_optimizer": name}
        for name in ("yogi", "adagrad")
    },
    "delayed_f3ast": {
        "algorithm": "f3ast",
        "rate_beta": 0.1,
        **DELAYED,
        "staleness_weight": "root",
        "late_most_rounds": 1,
    },
    "on_arrival": {
        "algorithm": "f3ast",
        "delivery": "asynchronous",
        "clients_per_round": 6,
        "async_buffer": 3,
    },
    "delayed_clock": {"algorithm": "fedavg", "delivery": "late", "late_round_quantile": 0.3},
    "delayed_mifa": {"algorithm": "mifa", "client_lr_decay": 0.8, **DELAYED},
    "delayed_mimic": {"algorithm": "mimic", **DELAYED},
    "bernoulli": {"algorithm": "f3ast", "rate_beta": 0.1, **LOST},
    "bernoulli_fedvarp": {"algorithm": "fedvarp", **LOST},
    "bernoulli_failed": {"algorithm": "fedavg", **LOST, "fail_below_arrivals": 0.7},
    "deadline": {"algorithm": "f3ast", "delivery": "deadline", "deadline_quantile": 0.5},
    "over_commit": {"algorithm": "fedavg", "delivery": "over_commit", "over_commitment": 1.5},
    "quorum": {"algorithm": "f3ast", "delivery": "quorum", "quorum": 2, "quorum_wait": 0.2},
    "slot": {"algorithm": "fedavg", "delivery": "trace", "slot_seconds": 1.0},
    "ridge": {"algorithm": "f3ast", "ridge": 0.1, "softmax_start": "glorot"},
    "small_cnn": {**NETWORK, "model": "small_cnn", "cnn_filters": "4", "cnn_hidden": ""},
    "cafed_cnn": {**NETWORK, "model": "cafed_cnn"},
    "fedlaavg_cnn": {**NETWORK, "model": "fedlaavg_cnn"},
    "resnet18": {**NETWORK, "model": "resnet18", "resnet_variant": "strided", "client_lr": 0.01},
    "resnet18_released": {
        **NETWORK,
        "model": "resnet18",
        "resnet_variant": "released",
        "client_lr": 0.01,
    },
    "character_lstm": {**NETWORK, "task": "sequences", "model": "character_lstm", "client_lr": 1.0},
}
CASES: dict[str, dict[str, Any]] = {
    **{
        name: {"algorithm": name, **EARLY.get(name, {})}
        for name in builtin_registry().names("algorithm")
    },
    **VARIANTS,
}


def configured(case: str | Mapping[str, Any], **engine: Any) -> Configuration:
    """Returns the configuration of a case, or of other settings, on an engine."""
    given = {**COMMON, **(CASES[case] if isinstance(case, str) else case), **engine}
    if given["task"] != "synthetic":
        given["task"] = examples(given["task"])
    return resolve(*settings_of(given, builtin_registry()))


class _Recorder:
    """An engine that records cohorts, outcomes and models, one round at a time."""

    block_rounds = 1

    def __init__(self, engine: Any) -> None:
        self._engine = engine
        self.models = [engine.weights()]
        self.cohorts: list[Cohort] = []
        self.outcomes: list[RoundOutcome] = []

    def __getattr__(self, name: str) -> Any:
        return getattr(self._engine, name)

    def run_rounds(
        self, first_round: int, cohorts: Sequence[Cohort], by_client: bool = False, **late: Any
    ) -> list[RoundOutcome]:
        """See `Engine.run_rounds`."""
        (outcome,) = self._engine.run_rounds(first_round, cohorts, by_client=True, **late)
        self.cohorts += cohorts
        self.outcomes.append(outcome)
        self.models.append(self._engine.weights())
        return [outcome]


def played(case: str | Mapping[str, Any], **engine: Any) -> Arrays:
    """Runs a case from its settings, through the round loop.

    Args:
        case: Name of the case, or settings besides `COMMON`.
        **engine: Settings of the engine.

    Returns:
        `ids int64 [T, widest]` (-1: none) and `weights` of the received cohorts,
        `client_losses` and `delivered` alike; `train_loss`, `update_norm`, `num_dropped` and
        `rejected [T]`; `models float32 [T + 1, kept]`, from the start on, with `norms` of their
        tensors `float64 [T + 1, tensors]`; `test_losses` of the clients `float64 [C]`; and
        `data`, a digest.
    """
    with TemporaryDirectory() as folder:
        builder = Builder(configured(case, **engine), Path(folder))
        experiment = builder.experiment()
        try:
            recorder: Any = _Recorder(experiment.engine)
            train(replace(experiment, engine=recorder), None)
            scores = recorder.evaluate()
        finally:
            experiment.engine.close()
        digest = np.frombuffer(bytes.fromhex(builder.data.sha256()), np.uint8)
    cohorts, outcomes = recorder.cohorts, recorder.outcomes
    return {
        "data": digest,
        "ids": _padded([cohort.ids for cohort in cohorts], -1),
        "weights": _padded([cohort.weights for cohort in cohorts], np.nan),
        "client_losses": _padded([outcome.client_losses for outcome in outcomes], np.nan),
        "delivered": _padded([outcome.delivered for outcome in outcomes], False),
        **{
            name: np.array([getattr(outcome, name) for outcome in outcomes])
            for name in ("train_loss", "update_norm", "num_dropped", "rejected")
        },
        "models": np.stack([_kept(model) for model in recorder.models]),
        "norms": np.array(
            [[np.linalg.norm(w.astype(np.float64)) for w in model] for model in recorder.models]
        ),
        "test_losses": scores.loss,
    }


def _padded(rows: Sequence[Any], fill: Any) -> np.ndarray:
    """Returns rows of different lengths as one array, at least one column wide."""
    found = np.full((len(rows), max(1, *map(len, rows))), fill)
    for place, row in zip(found, rows):
        place[: len(row)] = row
    return found


def _kept(model: Sequence[np.ndarray]) -> np.ndarray:
    return np.concatenate([w.ravel()[:: -(-w.size // MOST_ENTRIES)] for w in model])


def recorded(case: str) -> tuple[Arrays, dict[str, Any]]:
    """Returns TFF's results, and the text recorded with them.

    Raises:
        ValueError: If the file has changed since it was written.
    """
    arrays = load_npz(FOLDER / f"{case}.npz")
    about = json.loads(str(arrays.pop(ABOUT)))
    if about["sha256"] != digest(arrays):
        raise ValueError(f"{case}.npz: its arrays are not those that were recorded")
    return arrays, about


def digest(arrays: Mapping[str, np.ndarray]) -> str:
    """Returns the SHA-256 of names, types, shapes and bytes."""
    found = hashlib.sha256()
    for name, array in sorted(arrays.items()):
        found.update(f"{name} {array.dtype.str} {array.shape} ".encode() + array.tobytes())
    return found.hexdigest()


def assert_alike(got: Arrays, expected: Arrays, tolerance: float) -> None:
    """Integers and truth values must be equal, floats within the tolerance, absolute or relative.

    Losses get ten times the tolerance: each is a sum over hundreds of batches in float32.
    """
    assert got.keys() == expected.keys()
    for name, array in expected.items():
        if array.dtype.kind == "f":
            limit = 10 * tolerance if "loss" in name else tolerance
            np.testing.assert_allclose(got[name], array, rtol=limit, atol=limit, err_msg=name)
        else:
            np.testing.assert_array_equal(got[name], array, err_msg=name)


def main(cases: Sequence[str]) -> int:
    """Writes the files of these cases, by default of all cases."""
    if unknown := sorted({*cases} - CASES.keys()):
        raise SystemExit(f"no such case: {', '.join(unknown)}; there are {', '.join(CASES)}")
    for case in cases or CASES:
        arrays = played(case, engine="tff", tff_runtime="tf")
        assert_alike(played(case, engine="tff", tff_runtime="worker"), arrays, ALIKE)
        about: dict[str, Any] = {
            "command": f"python -m tests.f3ast_tff.engines.recorded_rounds {case}",
            "runtimes": f"TensorFlow in one process; TFF's worker, within {ALIKE:g} of it",
            "python": platform.python_version(),
            **{name: importlib.metadata.version(name) for name in PACKAGES},
            "settings": {**COMMON, **CASES[case]},
            "sha256": digest(arrays),
        }
        FOLDER.mkdir(exist_ok=True)
        np.savez_compressed(FOLDER / f"{case}.npz", **arrays, **{ABOUT: json.dumps(about)})
        print(case, flush=True)
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
