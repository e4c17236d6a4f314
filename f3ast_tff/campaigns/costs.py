"""Costs of a run in time, memory and disk, measured once per machine and kind of run."""

from __future__ import annotations

import hashlib
import json
import platform
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import Any

import numpy as np

import f3ast_tff
from f3ast_tff.campaigns.runs import PlannedRun
from f3ast_tff.core.atomic import atomic_write
from f3ast_tff.core.data_files import read_json
from f3ast_tff.core.local_training import LocalTraining
from f3ast_tff.datasets.source import default_data_dir
from f3ast_tff.run.provenance import cores, package_versions
from f3ast_tff.settings import parameters_of

_REFERENCE = Path(__file__).with_name("reference_costs.json")
# Settings, summary, logs and scalars of a run.
_RUN_BYTES = 20e3
_CPUINFO = Path("/proc/cpuinfo")
_GPUS = Path("/proc/driver/nvidia/gpus")


def machine() -> dict[str, Any]:
    """Returns processor, cores at hand, GPUs (Linux) and versions, as JSON values."""
    return {
        "processor": _processor(),
        "cores": cores(),
        "gpus": sorted(_field(path, "Model") for path in _GPUS.glob("*/information")),
        "python": platform.python_version(),
        "packages": {"f3ast-tff": f3ast_tff.__version__, **package_versions()},
    }


def _processor() -> str:
    if _CPUINFO.is_file():
        name = _field(_CPUINFO, "model name")
        if name:
            return name
    return platform.processor() or platform.machine()


def _field(path: Path, name: str) -> str:
    """The first value of a file of lines `name : value`; empty if there is none."""
    for line in path.read_text().splitlines():
        key, _, value = line.partition(":")
        if key.strip() == name:
            return value.strip()
    return ""


_BY_ALL = ("task", "model", "constraint", "delivery", "engine")
# Their numbers with a fraction are rates and thresholds; whole numbers, choices and yes or no may
# decide how much is computed.
_BY_WHOLE = ("algorithm", "aggregation", "client_optimizer", "server_optimizer")
_TRAINING = ("batch_size", "local_epochs", "local_steps", "last_batch")
# What a step and an evaluation cost depends on these alone.
_STEP_KINDS = ("task", "model", "engine", "client_optimizer")
_WRITTEN = ("checkpoint_every", "checkpoint_seconds", "client_scores", "write_masks", "logger")
_NOT = ("data_seed", "data_dir")


def kind_of(run: PlannedRun) -> dict[str, Any]:
    """Returns the settings that decide a run's cost, by name."""
    settings, configs = run.settings, run.configuration.configs
    found: dict[str, Any] = {}
    for kind in (*_BY_ALL, *_BY_WHOLE):
        found[kind] = settings[kind]
        config = configs[kind]
        for part in (config, *getattr(config, "parts", ())):
            for parameter in parameters_of(type(part)):
                if parameter.name not in _NOT and (kind in _BY_ALL or parameter.kind is not float):
                    found[parameter.name] = settings[parameter.name]
    found.update({name: settings[name] for name in (*_TRAINING, *_WRITTEN)})
    plugins = {plugin.name: plugin.sha256 for plugin in run.configuration.plugins}
    return {**found, **({"plugins": plugins} if plugins else {})}


def step_kind(run: PlannedRun) -> dict[str, Any]:
    """Returns the settings that decide the cost of a client's step, by name."""
    found: dict[str, Any] = {"batch_size": run.settings["batch_size"]}
    for kind in _STEP_KINDS:
        found[kind] = run.settings[kind]
        for parameter in parameters_of(type(run.configuration.configs[kind])):
            if parameter.name not in _NOT and parameter.kind is not float:
                found[parameter.name] = run.settings[parameter.name]
    return found


def key_of(kind: Mapping[str, Any]) -> str:
    """Returns the digest of a kind, equal for equal kinds."""
    return hashlib.sha256(json.dumps(kind, sort_keys=True).encode()).hexdigest()[:16]


def labels(kinds: Sequence[Mapping[str, Any]]) -> list[str]:
    """Returns a name for each kind: task, model and algorithm, and what else tells them apart."""
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
class Cost:
    """Costs of the runs of one kind.

    Attributes:
        process_seconds: From the start of a process to its first run: imports.
        first_seconds: A run's start and end, the first of its kind in a process, which compiles.
        start_seconds: The same for the later runs of the kind in that process.
        round_seconds: A round, its share of selection and checkpoints included.
        evaluation_seconds: An evaluation.
        memory_mib: The most memory that the process held at once.
        checkpoint: Bytes of a checkpoint before the first round, and what each round adds.
        results: The same of all other files.
    """

    process_seconds: float
    first_seconds: float
    start_seconds: float
    round_seconds: float
    evaluation_seconds: float
    memory_mib: float
    checkpoint: tuple[float, float]
    results: tuple[float, float]

    def seconds(self, rounds: int, eval_every: int, done: int = 0, first: bool = False) -> float:
        """Returns how long a run takes after the rounds `done`.

        `first` says that no run of its kind was in that process before. The last round is always
        evaluated.
        """
        evaluations = -(-rounds // eval_every) - done // eval_every
        working = (rounds - done) * self.round_seconds + evaluations * self.evaluation_seconds
        return working + (self.first_seconds if first else self.start_seconds)

    @property
    def least_seconds(self) -> float:
        """Time from the start of a process to its first checkpoint of a round."""
        return self.process_seconds + self.first_seconds + self.round_seconds

    def bytes(self, rounds: int, checkpoints: int) -> int:
        """Returns the size of a run's folder."""
        return round(
            self.results[0]
            + rounds * self.results[1]
            + checkpoints * (self.checkpoint[0] + rounds * self.checkpoint[1])
        )


@dataclass(frozen=True)
class DataShape:
    """Shape of a task's data, without the data.

    Attributes:
        features: Shape of an example's features.
        dtype: Their type.
        labels: Shape of an example's label; empty for a single class.
        num_classes: Classes of the labels.
        num_clients: Clients N.
        client_sizes: Training examples of some clients, evenly spaced in the order of sizes.
        test_examples: Examples that an evaluation scores.
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

    Seconds are those of one core that does nothing else, or of a GPU.

    Attributes:
        process_seconds: From the start of a process to its first run: imports.
        first_seconds: A round's compilation.
        start_seconds: Building the parts of a run.
        round_seconds: A round, its clients' steps not counted.
        step_seconds: A step of a client: one batch.
        example_seconds: Scoring one example.
        memory_mib: The most memory that the process held at once.
        num_weights: Weights of the model.
        state_bytes: State of the engine, without its memory of clients.
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
        constraint = configs["constraint"].build(
            num_clients, settings["seed"], 4 * self.num_weights
        )
        clients = min(constraint.mean_k, num_clients)
        scored = (settings.get("poc_candidates") or 0) * sizes.mean() * self.example_seconds
        memory, kept = configs["aggregation"].build().memory, 0
        if memory is not None and memory.by_client:
            per_client = len(memory.vectors) * self.num_weights + len(memory.numbers)
            kept = 4 * num_clients * per_client
        steps = clients * work.num_batches(sizes).mean()
        return Cost(
            process_seconds=self.process_seconds,
            first_seconds=self.start_seconds + self.first_seconds,
            start_seconds=self.start_seconds,
            round_seconds=self.round_seconds + steps * self.step_seconds + float(scored),
            evaluation_seconds=self.shape.test_examples * self.example_seconds,
            memory_mib=self.memory_mib + kept / 2**20,
            checkpoint=(self.state_bytes + kept, 0.0),
            results=(_RUN_BYTES, 2.0 * clients),
        )


class CostFile:
    """The step costs measured on this machine, with these versions of the libraries.

    They are in `path`, a JSON file in the user's cache folder.
    """

    def __init__(self) -> None:
        """Reads the file if there is one; a damaged one is measured anew."""
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
        """Returns the costs of a run's steps; `None` if they are not known."""
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
        machine: The machine that they were measured on.
    """

    def __init__(self) -> None:
        """Reads the file."""
        content = read_json(_REFERENCE)
        self.machine = str(content["machine"])
        self._tasks: list[dict[str, Any]] = content["tasks"]
        self._steps: list[dict[str, Any]] = content["steps"]

    def shape(self, run: PlannedRun) -> DataShape | None:
        """Returns the shape of a run's data if it is known without the data."""
        for entry in self._tasks:
            if _has(run.settings, entry["settings"]):
                n = run.settings["num_clients"]
                # Where any number of clients share the examples: their mean.
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
    """A cost as JSON has it, where lists stand for tuples."""
    try:
        if entry is None:
            return None
        return StepCost(**{**entry["cost"], "shape": _shape(entry["cost"]["shape"])})
    except (TypeError, KeyError):
        return None


def _shape(values: Mapping[str, Any]) -> DataShape:
    lists = {name: tuple(values[name]) for name in ("features", "labels", "client_sizes")}
    return DataShape(**{**values, **lists})
