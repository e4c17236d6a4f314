"""`masks.csv`, `masks.npy` or `masks.npz` of a run: who is available in each round."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from f3ast_tff.availability.mask_files import FORMS, write_masks
from f3ast_tff.training.selecting import Availability, available_clients


def masks_file(run_folder: Path, form: str) -> Path | None:
    """Returns the file of a form as `--write_masks` has it; `None` for the form `"none"`."""
    return None if form == "none" else run_folder / f"masks.{form}"


def record_masks(path: Path, availability: Availability, rounds: int, num_clients: int) -> None:
    """Writes who is available in rounds 1 .. T.

    Args:
        path: From `masks_file`.
        availability: The process.
        rounds: T.
        num_clients: N.
    """
    write_masks(path, _masks(availability, rounds, num_clients), (rounds, num_clients))


def remove_masks(run_folder: Path) -> None:
    """Removes the files of all forms."""
    for form in FORMS:
        (run_folder / f"masks{form}").unlink(missing_ok=True)


def _masks(availability: Availability, rounds: int, num_clients: int) -> Iterator[np.ndarray]:
    """Yields the masks, each made anew and not kept."""
    forget = getattr(availability, "forget_before", lambda t: None)
    for t in range(1, rounds + 1):
        yield available_clients(availability, num_clients, t)
        forget(t + 1)
