"""A model of two pure functions over a pytree of weights, for example a Flax or Haiku module."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from f3ast_tff.core.errors import ParameterError
from f3ast_tff.core.real_numbers import start_in_float32


class PureModel:
    """A `Model` of `init` and `apply`, in JAX; only the fused engine trains it.

    It can be pickled if its functions can. Engines see the weights as leaves in the order of
    `jax.tree_util.tree_leaves`.

    Attributes:
        examples_at_once: See `Model`.
        convex: See `ModelConfig`.
        loss: See `Model`.
        scores: See `Model`.
        buffer_leaves: Leaves that are buffers, which training leaves as they are: names or numbers.
            By default those of Flax' collection `batch_stats`, and others of such names.

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
        loss: Callable[[Any, Any], Any] | None = None,
        scores: Mapping[str, Any] | None = None,
        buffer_leaves: Sequence[str | int] | None = None,
    ) -> None:
        """Takes the functions.

        Args:
            init: Pure function from a seed to the initial weights, a pytree of arrays of
                floating-point numbers with the same structure for every seed.
            apply: Function from weights and a batch of inputs to logits; see `Model.apply`.
            examples_at_once: See `Model`.
            penalty: Function from weights to the term added to the mean loss of a batch in
                training; none by default.
            convex: Whether the loss is convex in the weights; F3AST's first rates depend on it
                (R1).
            loss: See `Model`; cross-entropy by default.
            scores: See `Model`; none by default.
            buffer_leaves: See the class.
        """
        self._init = init
        self._apply = apply
        self._penalty = penalty
        self.examples_at_once = examples_at_once
        self.convex = convex
        self.loss = loss
        self.scores = scores
        self.buffer_leaves = buffer_leaves

    def initial_weights(self, seed: int) -> list[np.ndarray]:
        """Returns the leaves of `init(seed)`, `float32`.

        Raises:
            ParameterError: If a leaf is no array of finite floating-point numbers (names its path),
                or there is no leaf.
        """
        from jax import tree_util

        leaves = tree_util.tree_flatten_with_path(self._init(seed))[0]
        if not leaves:
            raise ParameterError("model", self._name, "init must return weights")
        return [self._checked(leaf, tree_util.keystr(path)) for path, leaf in leaves]

    def leaf_names(self) -> list[str]:
        """Returns the path of each leaf in the pytree, its keys joined by dots."""
        from jax import tree_util

        paths = tree_util.tree_flatten_with_path(self._init(0))[0]
        return [".".join(map(_said, path)) for path, _ in paths]

    def tree(self, weights: Sequence[Any]) -> Any:
        """Returns the pytree of the leaves."""
        return self._structure.unflatten(weights)

    def apply(self, weights: Any, inputs: Any) -> Any:
        return self._apply(self.tree(weights), inputs)

    def penalty(self, weights: Any) -> Any:
        return 0.0 if self._penalty is None else self._penalty(self.tree(weights))

    def keras_model(self) -> Any:
        """Refuses, as there is no Keras form of the model.

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

        # The first call may come while an XLA program is traced; `init` must stay outside of it.
        with jax.ensure_compile_time_eval():
            return jax.tree_util.tree_structure(self._init(0))

    def __getstate__(self) -> dict[str, Any]:
        # Structures with a user's types cannot be pickled.
        return {name: value for name, value in vars(self).items() if name != "_structure"}

    def _checked(self, leaf: Any, path: str) -> np.ndarray:
        from jax import dtypes

        if not (hasattr(leaf, "shape") and hasattr(leaf, "dtype")):
            found = f"a {type(leaf).__name__}"
        elif not dtypes.issubdtype(leaf.dtype, np.floating):
            found = f"an array of {leaf.dtype}"
        else:
            return start_in_float32(self._name, f"weights{path}", leaf)
        allowed = f"weights{path} must be an array of floating-point numbers, not {found}"
        raise ParameterError("model", self._name, allowed)


def _said(key: Any) -> str:
    """A key of a path: the name or place of an entry."""
    found = (getattr(key, each, None) for each in ("key", "name", "idx"))
    return next((str(each) for each in found if each is not None), str(key))
