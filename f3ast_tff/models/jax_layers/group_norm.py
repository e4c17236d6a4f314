"""Group normalisation of images `[rows, columns, batch, channels]`."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
from jax import lax


def group_norm(x: Any, scale: Any, offset: Any, groups: int = 32, epsilon: float = 1e-3) -> Any:
    """Normalises each example's groups of channels (Wu and He, 2018), as Keras's layer does.

    Args:
        x: `[rows, columns, batch, channels]`.
        scale: Gamma, `[channels]`.
        offset: Beta, `[channels]`.
        groups: Number of groups; divides the number of channels.
        epsilon: Term added to the variance.

    Returns:
        An array like `x`.
    """
    batch, channels = x.shape[2:]

    def over_group(per_channel: Any) -> Any:
        means = jnp.mean(per_channel.reshape(batch, groups, -1), axis=-1)
        return jnp.repeat(means, channels // groups, axis=-1)

    # Sum over positions first, so that the channels, the last axis, are the vector lanes.
    mean = over_group(jnp.mean(x, axis=(0, 1)))
    variance = over_group(jnp.mean(jnp.square(x), axis=(0, 1))) - jnp.square(mean)
    factor = scale * lax.rsqrt(jnp.maximum(variance, 0.0) + epsilon)
    return x * factor + (offset - mean * factor)
