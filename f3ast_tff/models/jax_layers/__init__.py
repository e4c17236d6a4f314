"""Layers in JAX, written for speed on a CPU core and for `jax.vmap` over clients' weights.

Images are `[rows, columns, batch, channels]` here. Then a linear map over positions, the same for
each example and channel, is one matrix product, as are all other expensive operations.
"""
