"""The file from which a restarted server resumes."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from f3ast_tff.core.array_files import load_npz, write_npz
from f3ast_tff.core.atomic import atomic_write
from f3ast_tff.core.errors import CheckpointError

_MODEL, _STRATEGY = "model/", "strategy/"


@dataclass(frozen=True)
class SavedRound:
    """State of the server after a round.

    Attributes:
        number: The round t.
        model: Arrays by name, in the order of the model.
        strategy: The result of `Strategy.state`.
    """

    number: int
    model: dict[str, np.ndarray]
    strategy: dict[str, np.ndarray]


def save_round(path: Path, saved: SavedRound) -> None:
    """Replaces the file atomically; a killed server leaves the previous file."""
    model = {_MODEL + name: value for name, value in saved.model.items()}
    strategy = {_STRATEGY + name: value for name, value in saved.strategy.items()}
    path.parent.mkdir(parents=True, exist_ok=True)
    with atomic_write(path, "wb") as file:
        write_npz(file, {"round": np.array(saved.number), **model, **strategy})


def load_round(path: Path) -> SavedRound | None:
    """Returns the round written by `save_round`; `None` if there is no file.

    Raises:
        CheckpointError: If the file is damaged or has other content.
    """
    if not path.exists():
        return None
    try:
        arrays = load_npz(path)
        number = int(arrays["round"])
    except (KeyError, OSError, TypeError, ValueError) as error:
        raise CheckpointError(f"{path} cannot be read: {error}") from error
    return SavedRound(number, _below(arrays, _MODEL), _below(arrays, _STRATEGY))


def _below(arrays: dict[str, np.ndarray], prefix: str) -> dict[str, np.ndarray]:
    return {n[len(prefix) :]: value for n, value in arrays.items() if n.startswith(prefix)}
