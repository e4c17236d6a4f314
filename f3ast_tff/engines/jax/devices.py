"""JAX's devices by name."""

from __future__ import annotations

import jax

from f3ast_tff.errors import ParameterError


def find_device(name: str) -> jax.Device:
    """Returns the first device of a kind, `"auto"` being JAX's own choice.

    Raises:
        ParameterError: If JAX sees no such device.
    """
    try:
        return jax.devices(None if name == "auto" else name)[0]
    except RuntimeError as error:
        raise ParameterError("device", name, f"JAX sees no such device ({error})") from error
