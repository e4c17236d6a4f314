"""Costs of a run in time, memory and disk, measured once per machine and kind of run."""

from __future__ import annotations

import hashlib
import json
import platform
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np

from f3ast_tff.campaigns.runs import PlannedRun
from f3ast_tff.core.local_training import LocalTraining
from f3ast_tff.datasets.source import default_data_dir
from f3ast_tff.files.atomic import atomic_write
from f3ast_tff.files.data_files import read_json
from f3ast_tff.methods.parts.host_memory import table_bytes
from f3ast_tff.records.provenance import cores, package_versions
from f3ast_tff.settings import parameters_of

_REFERENCE = Path(__file__).with_name("reference_costs.json")
# Bytes of the settings and summary of a run, and of the scalars and log lines of an evaluation.
_RUN_BYTES, _SCALARS_BYTES = 30e3, 2e3
# Bytes of a round's record: its counts and sums, and what is kept of each client asked.
_RECORD_BYTES, _ASKED_BYTES = 70, 17
# Bytes of a client in the rates of an evaluation, in the scores of one, and in a round's mask.
_RATE_BYTES, _SCORE_BYTES = 4, 24
_MASK_BYTES = MappingProxyType({"none": 0.0, "csv": 2.0, "npy": 1.0, "npz": 1 / 8})
_CPUINFO = Path("/proc/cpuinfo")
_GPUS = Path("/proc/driver/nvidia/gpus")


def machine() -> dict[str, Any]:
    """Returns processor, usable cores, GPUs (Linux) and versions, as JSON values."""
    return {
        "processor": _processor(),
        "cores": cores(),
        "gpus": sorted(_field(path, "Model") for path in _GPUS.glob("*/information")),
        "python": platform.python_version(),
        "packages": package_versions(),
    }


def _processor() -> str:
    if _CPUINFO.is_file():
        name = _field(_CPUINFO, "model name")
        if name:
            return name
    return platform.processor() or platform.machine()


def _field(path: Path, name: str) -> str:
    """The first value of `name` in a file of lines `name : value`; empty if missing."""
    for line in path.read_text().splitlines():
        key, _, value = line.partition(":")
        if key.strip() == name:
            return value.strip()
    return ""


_BY_ALL = ("task", "model", "constraint", "delivery", "engine")
# Kinds whose fractional parameters (rates, thresholds) do not decide a run's cost; their whole
# numbers, choices and booleans may.
_BY_WHOLE = ("algorithm", "aggregation", "client_optimizer", "server_optimizer")
_TRAINING = ("batch_size", "local_epochs", "local_steps", "last_batch")
# Kinds that decide the cost of a step and of an evaluation.
_STEP_KINDS = ("task", "model", "engine", "client_optimizer")
_WRITTEN = ("checkpoint_every", "checkpoint_seconds", "client_scores", "write_masks", "logger")
_NOT = ("data_seed", "data_dir")


def kind_of(run: PlannedRun) -> dict[str, Any]:
    """Returns the settings that decide a run's cost, by name."""
    found: dict[str, Any] = {}
    for kind in (*_BY_ALL, *_BY_WHOLE):
        found.update(_settings_of(run, kind, fractions=kind in _BY_ALL))
    found.update({name: run.settings[name] for name in (*_TRAINING, *_WRITTEN)})
    plugins = {plugin.name: plugin.sha256 for plugin in run.configuration.plugins}
    return {**found, **({"plugins": plugins} if plugins else {})}


def step_kind(run: PlannedRun) -> dict[str, Any]:
    """Returns the settings that decide the cost of a client's step, by name."""
    found: dict[str, Any] = {"batch_size": run.settings["batch_size"]}
    for kind in _STEP_KINDS:
        found.update(_settings_of(run, kind, fractions=False))
    return found


def _settings_of(run: PlannedRun, kind: str, fractions: bool) -> dict[str, Any]:
    """The settings of a component that decide a cost."""
    config = run.configuration.configs[kind]
    parts = (config, *getattr(config, "parts", ()))
    parameters = [parameter for part in parts for parameter in parameters_of(type(part))]
    names = [p.name for p in parameters if fractions or p.kind is not float]
    return {name: run.settings[name] for name in (kind, *names) if name not in _NOT}


def key_of(kind: Mapping[str, Any]) -> str:
    """Returns the digest of a kind, equal for equal kinds."""
    return hashlib.sha256(json.dumps(kind, sort_keys=True).encode()).hexdigest()[:16]


def labels(kinds: Sequence[Mapping[str, Any]]) -> list[str]:
    """Returns a name for each kind: task, model, algorithm, and further differing settings."""
    groups: dict[str, list[Mapping[str, Any]]] = {}
    for kind in kinds:
        groups.setdefault(_short(kind), []).append(kind)
    return [" ".join([_short(kind), *_differing(kind, groups[_short(kind)])]) for kind in kinds]


def _short(kind: Mapping[str, Any]) -> str:
    return " ".join(str(kind[name]) for name in ("task", "model", "algorithm"))


def _differing(kind: Mapping[str, Any], group: Sequence[Mapping[str, Any]]) -> list[str]:
    return [
        f"{name}={value}"
        for name, value in kind.items()
        if value is not None and any(other.get(name) != value for other in group)
    ]


@dataclass(frozen=True)
class Size:
    """Bytes of files: before the first round, and added by each round and by each evaluation."""

    start: float = 0.0
    round: float = 0.0
    evaluation: float = 0.0

    def after(self, rounds: int, evaluations: int) -> float:
        """Returns the bytes after a number of rounds and evaluations."""
        return self.start + rounds * self.round + evaluations * self.evaluation


@dataclass(frozen=True)
class Cost:
    """Costs of the runs of one kind.

    Attributes:
        process_seconds: Time from the start of a process to its first run: imports.
        first_seconds: Time of a run's start and end for the first run of its kind in a process,
            which compiles.
        start_seconds: The same time for later runs of the kind in that process.
        round_seconds: Time of a round, with its share of selection and checkpoints.
        evaluation_seconds: Time of an evaluation.
        memory_mib: Peak memory of the process.
        checkpoint: Size of a checkpoint.
        results: Size of all other files.
    """

    process_seconds: float
    first_seconds: float
    start_seconds: float
    round_seconds: float
    evaluation_seconds: float
    memory_mib: float
    checkpoint: Size
    results: Size

    def seconds(self, rounds: int, eval_every: int, done: int = 0, first: bool = False) -> float:
        """Returns the seconds that a run takes after the rounds `done`.

        `first` tells whether it is the first run of its kind in the process. The last round is
        always evaluated.
        """
        evaluations = -(-rounds // eval_every) - done // eval_every
        working = (rounds - done) * self.round_seconds + evaluations * self.evaluation_seconds
        return working + (self.first_seconds if first else self.start_seconds)

    @property
    def least_seconds(self) -> float:
        """Time from the start of a process to its first checkpoint of a round."""
        return self.process_seconds + self.first_seconds + self.round_seconds

    def bytes(self, rounds: int, eval_every: int, checkpoints: int) -> int:
        """Returns the size of a run's folder at most, as files are compressed."""
        evaluations = -(-rounds // eval_every)
        results = self.results.after(rounds, evaluations)
        return round(results + checkpoints * self.checkpoint.after(rounds, evaluations))


@dataclass(frozen=True)
class DataShape:
    """Shape of a task's data, without the data.

    Attributes:
        features: Shape of an example's features.
        dtype: Type of the features.
        labels: Shape of an example's label; empty for a single class.
        num_classes: Number of classes.
        num_clients: Number of clients N.
        client_sizes: Training examples of some clients, evenly spaced in the order of sizes.
        test_examples: Number of examples that an evaluation scores.
    """

    features: tuple[int, ...]
    dtype: str
    labels: tuple[int, ...]
    num_classes: int
    num_clients: int
    client_sizes: tuple[int, ...]
    test_examples: int


@dataclass(frozen=True)
class StepCost:
    """Measured costs of the steps and evaluations of one model on one task.

    Times are seconds of one otherwise idle core, or of a GPU.

    Attributes:
        process_seconds: Time from the start of a process to its first run: imports.
        first_seconds: Time to compile a round.
        start_seconds: Time to build the parts of a run.
        round_seconds: Time of a round without the clients' steps.
        step_seconds: Time of a client's step: one batch.
        example_seconds: Time to score one example.
        memory_mib: Peak memory of the process.
        num_weights: Number of weights of the model.
        state_bytes: Bytes of the engine's state, without its memory of clients.
        shape: Shape of the task's data.
    """

    process_seconds: float
    first_seconds: float
    start_seconds: float
    round_seconds: float
    step_seconds: float
    example_seconds: float
    memory_mib: float
    num_weights: int
    state_bytes: int
    shape: DataShape

    def scaled(self, factor: float) -> StepCost:
        """Returns the costs on a machine that takes `factor` times as long."""
        times = {f.name: getattr(self, f.name) for f in fields(self) if f.name.endswith("_seconds")}
        return replace(self, **{name: factor * seconds for name, seconds in times.items()})

    def of_run(self, run: PlannedRun) -> Cost:
        """Returns the cost of a run, by its clients per round, steps, evaluations and files."""
        settings, configs = run.settings, run.configuration.configs
        work = LocalTraining(
            settings["batch_size"],
            settings["local_epochs"],
            settings["local_steps"],
            drop_remainder=settings["last_batch"] == "drop",
        )
        sizes, num_clients = np.array(self.shape.client_sizes), self.shape.num_clients
        if configs["algorithm"].pooled:
            sizes, num_clients = np.array([round(sizes.mean() * num_clients)]), 1
        constraint = configs["constraint"].build(
            num_clients, settings["seed"], 4 * self.num_weights
        )
        clients = min(constraint.mean_k, num_clients)
        scored = (settings.get("poc_candidates") or 0) * sizes.mean() * self.example_seconds
        memory, kept = configs["aggregation"].build().memory, 0
        if memory is not None and memory.by_client:
            kept = table_bytes(memory, num_clients, self.num_weights)
        steps = clients * work.num_batches(sizes).mean()
        history = Size(
            round=_RECORD_BYTES + _ASKED_BYTES * clients,
            evaluation=_SCALARS_BYTES + _RATE_BYTES * num_clients,
        )
        masks = _MASK_BYTES[settings["write_masks"]] * num_clients
        scores = _SCORE_BYTES * num_clients if settings["client_scores"] else 0
        return Cost(
            process_seconds=self.process_seconds,
            first_seconds=self.start_seconds + self.first_seconds,
            start_seconds=self.start_seconds,
            round_seconds=self.round_seconds + steps * self.step_seconds + float(scored),
            evaluation_seconds=self.shape.test_examples * self.example_seconds,
            memory_mib=self.memory_mib + kept / 2**20,
            checkpoint=replace(history, start=self.state_bytes + kept),
            results=Size(_RUN_BYTES, history.round + masks, history.evaluation + scores),
        )


class CostFile:
    """The step costs measured on this machine, with these versions of the libraries.

    They are stored in `path`, a JSON file in the user's cache folder.
    """

    def __init__(self) -> None:
        """Reads the file if there is one; ignores a damaged file, so costs are measured anew."""
        self.machine = machine()
        text = json.dumps(self.machine, sort_keys=True)
        name = f"{hashlib.sha256(text.encode()).hexdigest()[:16]}.json"
        self.path = default_data_dir() / "costs" / name
        self._entries = self._read()

    def _read(self) -> dict[str, Any]:
        try:
            content = read_json(self.path)
            return dict(content["steps"])
        except (OSError, ValueError, KeyError, TypeError):
            return {}

    def find(self, run: PlannedRun) -> StepCost | None:
        """Returns the costs of a run's steps; `None` if unknown."""
        return _step_cost(self._entries.get(key_of(step_kind(run))))

    def add(self, run: PlannedRun, cost: StepCost) -> None:
        """Writes the costs of a run's steps to the file, atomically."""
        entry = {"kind": step_kind(run), "cost": asdict(cost)}
        self._entries = {**self._read(), **self._entries, key_of(step_kind(run)): entry}
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with atomic_write(Path(self.path)) as file:
            json.dump({"machine": self.machine, "steps": self._entries}, file, indent=1)
            file.write("\n")


class ReferenceCosts:
    """The shapes of data and the costs of steps that come with the package.

    Attributes:
        machine: The machine of the measurements.
    """

    def __init__(self) -> None:
        """Reads the file."""
        content = read_json(_REFERENCE)
        self.machine = str(content["machine"])
        self._tasks: list[dict[str, Any]] = content["tasks"]
        self._steps: list[dict[str, Any]] = content["steps"]

    def shape(self, run: PlannedRun) -> DataShape | None:
        """Returns the shape of a run's data; `None` if unknown without the data."""
        for entry in self._tasks:
            if _has(run.settings, entry["settings"]):
                n = run.settings["num_clients"]
                # If any number of clients share the examples, use the mean size.
                mean = max(entry.get("train_examples", 0) // n, 1)
                return _shape({"num_clients": n, "client_sizes": [mean], **entry["shape"]})
        return None

    def find(self, run: PlannedRun) -> StepCost | None:
        """Returns the costs of a run's steps in the fused engine on one core."""
        for entry in self._steps:
            if _has(run.settings, entry["kind"]):
                return _step_cost(entry)
        return None


def _has(settings: Mapping[str, Any], wanted: Mapping[str, Any]) -> bool:
    return all(settings.get(name) == value for name, value in wanted.items())


def _step_cost(entry: Mapping[str, Any] | None) -> StepCost | None:
    """A cost from JSON, which has lists for tuples."""
    try:
        if entry is None:
            return None
        return StepCost(**{**entry["cost"], "shape": _shape(entry["cost"]["shape"])})
    except (TypeError, KeyError):
        return None


def _shape(values: Mapping[str, Any]) -> DataShape:
    lists = {name: tuple(values[name]) for name in ("features", "labels", "client_sizes")}
    return DataShape(**{**values, **lists})
