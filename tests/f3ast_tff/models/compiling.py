"""Compiling without optimisations, which would take longer than a test's computation."""

from __future__ import annotations

from typing import Any

QUICKLY = {"xla_backend_optimization_level": 0, "xla_llvm_disable_expensive_passes": True}


def run(function: Any, *arguments: Any) -> Any:
    """Returns `function(*arguments)`, compiled by XLA as a whole."""
    import jax

    return jax.jit(function).lower(*arguments).compile(compiler_options=QUICKLY)(*arguments)
