"""Validates a checkpoint's keys and shapes."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np


def check_saved(saved: Mapping[str, np.ndarray], own: Mapping[str, np.ndarray], what: str) -> None:
    """Checks a saved state before it is taken back.

    Args:
        saved: State to take back.
        own: State that the object would save now.
        what: Name of the object, as in "saved rates lack rate_scale".

    Raises:
        ValueError: If a part is missing, or has another shape than one's own.
    """
    missing = sorted(set(own) - set(saved))
    if missing:
        raise ValueError(f"saved {what} lack {', '.join(missing)}")
    for name, part in own.items():
        if saved[name].shape != part.shape:
            raise ValueError(f"saved {name} has shape {saved[name].shape}, not {part.shape}")
