"""A model of two pure functions over a pytree of weights: a Flax or Haiku module, or one's own."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from f3ast_tff.core.errors import ParameterError


class PureModel:
    """A `Model` of `init` and `apply`, in JAX; the fused engine alone trains it.

    Pickles if its functions do; of weights, engines see the leaves in the order of
    `jax.tree_util.tree_leaves`.

    Attributes:
        examples_at_once: See `Model`.
        convex: See `ModelConfig`.

    Examples:
        >>> import jax.numpy as jnp
        >>> from f3ast_tff.models import PureModel
        >>> init = lambda seed: {"bias": jnp.zeros(3), "kernel": jnp.zeros((2, 3))}
        >>> apply = lambda weights, inputs: inputs @ weights["kernel"] + weights["bias"]
        >>> model = PureModel(init, apply)
        >>> weights = model.initial_weights(seed=0)
        >>> [leaf.shape for leaf in weights], model.apply(weights, jnp.ones((5, 2))).shape
        ([(3,), (2, 3)], (5, 3))

        A Flax module, for the images of MNIST (a Haiku one is `hk.transform`ed, likewise):

            net, image = MyModule(), jnp.zeros((1, 28, 28, 1))
            model = PureModel(lambda seed: net.init(jax.random.PRNGKey(seed), image), net.apply)
    """

    def __init__(
        self,
        init: Callable[[int], Any],
        apply: Callable[[Any, Any], Any],
        examples_at_once: int = 512,
        penalty: Callable[[Any], Any] | None = None,
        convex: bool = False,
    ) -> None:
        """Takes the functions.

        Args:
            init: From a seed to the weights that training starts from, a pytree of arrays of
                floating-point numbers; a pure function whose structure no seed changes.
            apply: From weights and a batch of inputs to logits; see `Model.apply`.
            examples_at_once: See `Model`.
            penalty: From weights to what training adds to the mean loss of a batch; none by
                default.
            convex: Whether the loss is convex in the weights: F3AST's first rates go by it (R1).
        """
        self._init = init
        self._apply = apply
        self._penalty = penalty
        self.examples_at_once = examples_at_once
        self.convex = convex

    def initial_weights(self, seed: int) -> list[np.ndarray]:
        """Returns the leaves of `init(seed)`, `float32`.

        Raises:
            ParameterError: If a leaf is no array of floating-point numbers, or there is none;
                names the leaf's path.
        """
        from jax import tree_util

        leaves = tree_util.tree_flatten_with_path(self._init(seed))[0]
        if not leaves:
            raise ParameterError("model", self._name, "init must return weights")
        return [self._checked(leaf, tree_util.keystr(path)) for path, leaf in leaves]

    def tree(self, weights: Sequence[Any]) -> Any:
        """Returns the pytree of the leaves."""
        return self._structure.unflatten(weights)

    def apply(self, weights: Any, inputs: Any) -> Any:
        """See `Model.apply`."""
        return self._apply(self.tree(weights), inputs)

    def penalty(self, weights: Any) -> Any:
        """See `Model.penalty`."""
        return 0.0 if self._penalty is None else self._penalty(self.tree(weights))

    def keras_model(self) -> Any:
        """Refuses: there is no Keras model of it.

        Raises:
            ParameterError: Always.
        """
        allowed = f"must be fused: the model {self._name} is in JAX and runs on fused only"
        raise ParameterError("engine", "tff", allowed)

    @property
    def _name(self) -> str:
        return getattr(self._apply, "__qualname__", type(self._apply).__name__)

    @cached_property
    def _structure(self) -> Any:
        import jax

        # The first call may come while XLA programs are traced: `init` is no part of those.
        with jax.ensure_compile_time_eval():
            return jax.tree_util.tree_structure(self._init(0))

    def __getstate__(self) -> dict[str, Any]:
        # Structures that hold types of one's own do not pickle.
        return {name: value for name, value in vars(self).items() if name != "_structure"}

    def _checked(self, leaf: Any, path: str) -> np.ndarray:
        from jax import dtypes

        if not (hasattr(leaf, "shape") and hasattr(leaf, "dtype")):
            found = f"a {type(leaf).__name__}"
        elif not dtypes.issubdtype(leaf.dtype, np.floating):
            found = f"an array of {leaf.dtype}"
        else:
            return np.asarray(leaf, np.float32)
        allowed = f"weights{path} must be an array of floating-point numbers, not {found}"
        raise ParameterError("model", self._name, allowed)
