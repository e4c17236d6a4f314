"""Products x (W_0 + s B A) as x W_0 + s (x A) B, inside a function that knows W alone.

With few examples per batch the small products cost less than W, and the gradient by W, which is as
large, is not computed. The function is read as a program of JAX (a jaxpr), as JAX's guide to
interpreters does.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp


class Factors(NamedTuple):
    """Factors of a matrix `[inputs, outputs]`.

    Attributes:
        a: A, `[r, inputs]`.
        b: B, `[outputs, r]`.
        scale: s.
    """

    a: Any
    b: Any
    scale: float


def with_factors(
    apply: Callable[[list[Any], Any], Any],
    weights: list[Any],
    factors: Mapping[int, Factors],
    inputs: Any,
) -> Any:
    """Returns `apply(weights, inputs)` with factors added to some of the weights.

    A weight that only enters products x W, along W's first axis, is never added up.

    Args:
        apply: The function, in JAX.
        weights: Its weights.
        factors: Factors by the place of their matrix.
        inputs: Its inputs.
    """
    program, form = jax.make_jaxpr(apply, return_shape=True)(weights, inputs)
    given = jax.tree_util.tree_leaves((weights, inputs))
    values = dict(zip(program.jaxpr.constvars, program.consts))
    values.update(zip(program.jaxpr.invars, given))
    changed = {program.jaxpr.invars[place]: each for place, each in factors.items()}
    whole: dict[Any, Any] = {}

    def read(variable: Any) -> Any:
        if hasattr(variable, "val"):
            # A literal.
            return variable.val
        if variable in changed and variable not in whole:
            a, b, scale = changed[variable]
            whole[variable] = values[variable] + scale * (b @ a).T
        return whole.get(variable, values[variable])

    for step in program.jaxpr.eqns:
        if _is_product(step) and step.invars[1] in changed:
            x, (a, b, scale) = read(step.invars[0]), changed[step.invars[1]]
            product = step.primitive.bind(x, values[step.invars[1]], **step.params)
            found = [product + scale * ((x @ a.T) @ b.T).astype(product.dtype)]
        else:
            bound = step.primitive.get_bind_params(step.params)
            # Newer JAX has no functions apart from the parameters.
            functions, parameters = bound if isinstance(bound, tuple) else ((), bound)
            result = step.primitive.bind(*functions, *map(read, step.invars), **parameters)
            found = result if step.primitive.multiple_results else [result]
        values.update(zip(step.outvars, found))
    results = [jnp.asarray(read(variable)) for variable in program.jaxpr.outvars]
    return jax.tree_util.tree_unflatten(jax.tree_util.tree_structure(form), results)


def _is_product(step: Any) -> bool:
    """Whether a step is x W, along the last axis of x and the first of a matrix W."""
    if step.primitive.name != "dot_general" or hasattr(step.invars[1], "val"):
        return False
    (of_x, of_w), batch = step.params["dimension_numbers"]
    x, w = (variable.aval for variable in step.invars)
    plain = tuple(of_x) == (x.ndim - 1,) and tuple(of_w) == (0,) and w.ndim == 2
    return plain and not any(map(len, batch))
