"""Causal attention over sequences."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np


def causal_attention(query: Any, key: Any, value: Any, heads: int) -> Any:
    """Attends from each place to itself and earlier places (Vaswani et al., 2017, Sec. 3.2).

    Args:
        query: `[batch, length, width]`.
        key: Likewise.
        value: Likewise.
        heads: Number of heads, each on `width / heads` neighbouring coordinates.

    Returns:
        `[batch, length, width]`.
    """
    batch, length, width = query.shape
    size = width // heads
    query, key, value = (
        each.reshape(batch, length, heads, size).transpose(0, 2, 1, 3)
        for each in (query / np.sqrt(size).astype(np.float32), key, value)
    )
    scores = query @ key.swapaxes(2, 3)
    scores = jnp.where(np.tri(length, dtype=bool), scores, -jnp.inf)
    found = jax.nn.softmax(scores, axis=-1) @ value
    return found.transpose(0, 2, 1, 3).reshape(batch, length, width)
