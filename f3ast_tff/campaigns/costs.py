"""What a run costs in time, memory and disk, measured once and kept by machine."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from f3ast_tff.atomic import atomic_write
from f3ast_tff.campaigns.kinds import key_of
from f3ast_tff.campaigns.machine import machine
from f3ast_tff.data_files import read_json
from f3ast_tff.datasets import default_data_dir


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
        machine: See `f3ast_tff.campaigns.machine`.
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
