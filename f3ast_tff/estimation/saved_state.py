"""The check of a saved state against that of the object that takes it back."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np


def check_saved(saved: Mapping[str, np.ndarray], own: Mapping[str, np.ndarray], what: str) -> None:
    """Raises `ValueError` if a part of one's own state is not saved, or has another shape.

    Args:
        saved: What is to be taken back.
        own: What the object would save now.
        what: Its name, as in "saved activity: rounds is missing".
    """
    for name, part in own.items():
        if name not in saved:
            raise ValueError(f"saved {what}: {name} is missing")
        if saved[name].shape != part.shape:
            raise ValueError(f"saved {name} has shape {saved[name].shape}, not {part.shape}")
