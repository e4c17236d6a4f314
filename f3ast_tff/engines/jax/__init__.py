"""The fused engine: a whole round as one XLA program, in JAX."""
