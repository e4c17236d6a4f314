"""Scores of every test client at each evaluation, written on request."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from f3ast_tff.array_files import load_npz
from f3ast_tff.atomic import atomic_write
from f3ast_tff.engines.engine import ClientScores

FOLDER = "client_scores"


def write_client_scores(run_folder: Path, round_number: int, scores: ClientScores) -> None:
    """Writes `client_scores/round_<t>.npz`.

    Args:
        run_folder: The run's folder.
        round_number: Evaluated round t.
        scores: Of all C test clients. The file holds `accuracy` and `loss`, means over a client's
            labels, `float64 [C]`, NaN for a client without any, and `count`, `int64 [C]`.
    """
    path = scores_file(run_folder, round_number)
    path.parent.mkdir(exist_ok=True)
    has = scores.count > 0
    means = {}
    for name, sums in (("accuracy", scores.correct), ("loss", scores.loss)):
        means[name] = np.divide(sums, scores.count, out=np.full(len(sums), np.nan), where=has)
    with atomic_write(path, "wb") as file:
        np.savez_compressed(file, count=scores.count.astype(np.int64), **means)


def scores_file(run_folder: Path, round_number: int) -> Path:
    """Returns the file of an evaluated round."""
    return run_folder / FOLDER / f"round_{round_number:08d}.npz"


def read_client_scores(run_folder: Path) -> dict[int, dict[str, np.ndarray]]:
    """Returns what `write_client_scores` wrote, by round; empty without any.

    Raises:
        OSError: If a file cannot be read.
        ValueError: If one is damaged; names it.
    """
    found = {}
    for path in sorted((run_folder / FOLDER).glob("round_*.npz")):
        try:
            found[int(path.stem.partition("_")[2])] = load_npz(path)
        except ValueError as error:
            raise ValueError(f"{path.relative_to(run_folder)}: {error}") from error
    return found
