"""What a run costs in time, memory and disk, measured once and kept by machine and kind of run."""

from __future__ import annotations

import hashlib
import json
import platform
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import f3ast_tff
from f3ast_tff.atomic import atomic_write
from f3ast_tff.campaigns.runs import PlannedRun
from f3ast_tff.components import parameters_of
from f3ast_tff.configuration.provenance import cores, package_versions
from f3ast_tff.data_files import read_json
from f3ast_tff.datasets import default_data_dir

_CPUINFO = Path("/proc/cpuinfo")
_GPUS = Path("/proc/driver/nvidia/gpus")


def machine() -> dict[str, Any]:
    """Returns processor, cores at hand, GPUs (Linux) and versions, as JSON values."""
    return {
        "processor": _processor(),
        "cores": cores(),
        "gpus": _gpus(),
        "python": platform.python_version(),
        "packages": {"f3ast-tff": f3ast_tff.__version__, **package_versions()},
    }


def _processor() -> str:
    if _CPUINFO.is_file():
        name = _field(_CPUINFO, "model name")
        if name:
            return name
    return platform.processor() or platform.machine()


def _gpus() -> list[str]:
    return sorted(_field(path, "Model") for path in _GPUS.glob("*/information"))


def _field(path: Path, name: str) -> str:
    """The first value of a file of lines `name : value`; empty if there is none."""
    for line in path.read_text().splitlines():
        key, _, value = line.partition(":")
        if key.strip() == name:
            return value.strip()
    return ""


_BY_ALL = ("task", "model", "communication", "delivery", "engine")
# Their numbers with a fraction are rates and thresholds; whole numbers, choices and yes or no may
# decide how much is computed.
_BY_WHOLE = ("algorithm", "aggregation", "client_optimizer", "server_optimizer")
_TRAINING = ("batch_size", "local_epochs", "local_steps", "last_batch")
_WRITTEN = ("checkpoint_every", "checkpoint_seconds", "client_scores", "write_masks", "logger")
_NOT = ("data_seed", "data_dir")


def kind_of(run: PlannedRun) -> dict[str, Any]:
    """Returns the settings that decide what a run costs, by name."""
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
    """What runs of one kind cost.

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
        """Returns how long a run takes.

        Args:
            rounds: T.
            eval_every: Rounds between evaluations; the last round is always evaluated.
            done: Rounds done already.
            first: Whether no run of its kind was in that process before.
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


class CostFile:
    """The costs measured on this machine, with these versions of the libraries.

    Attributes:
        path: A JSON file in the user's cache folder.
        machine: See `machine`.
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
            return dict(content["costs"])
        except (OSError, ValueError, KeyError, TypeError):
            return {}

    def find(self, kind: Mapping[str, Any], processes: int) -> Cost | None:
        """Returns a kind's cost with so many processes at a time; `None` if it is not known."""
        entry = self._entries.get(_key(kind, processes))
        try:
            return None if entry is None else _cost(entry["cost"])
        except (TypeError, KeyError):
            return None

    def add(self, kind: Mapping[str, Any], processes: int, cost: Cost) -> None:
        """Writes a kind's cost to the file, atomically."""
        entry = {"kind": dict(kind), "processes": processes, "cost": asdict(cost)}
        self._entries = {**self._read(), **self._entries, _key(kind, processes): entry}
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with atomic_write(Path(self.path)) as file:
            json.dump({"machine": self.machine, "costs": self._entries}, file, indent=1)
            file.write("\n")


def _cost(values: Mapping[str, Any]) -> Cost:
    """A cost as JSON has it, where lists stand for tuples."""
    lines = {name: tuple(values[name]) for name in ("checkpoint", "results")}
    return Cost(**{**values, **lines})


def _key(kind: Mapping[str, Any], processes: int) -> str:
    return f"{key_of(kind)}-{processes}"
