"""LoRA around a model in JAX: matrices W_0 + s B A, of which A and B are trained."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from f3ast_tff.core.errors import ParameterError
from f3ast_tff.core.randomness import generator
from f3ast_tff.models.factor_pairs import FactorPair
from f3ast_tff.models.leaf_patterns import chosen_leaves
from f3ast_tff.models.leaves import names_of
from f3ast_tff.models.model import Model, ModelConfig
from f3ast_tff.models.training_function import TrainingFunction


@dataclass(frozen=True)
class Lora:
    """A model whose matrices have low-rank changes (Hu et al., ICLR 2022); see `lora`.

    Its leaves are those of the base, under their names, then `lora.A.NAME` and `lora.B.NAME` of
    each matrix.

    Attributes:
        base: The model around whose matrices the factors are.
        places: Places of the matrices among its leaves.
        names: Names of its leaves.
        rank: r.
        scale: s = alpha / r.
    """

    base: Any
    places: tuple[int, ...]
    names: tuple[str, ...]
    rank: int
    scale: float

    @property
    def examples_at_once(self) -> int:
        """See `Model`."""
        return int(self.base.examples_at_once)

    @property
    def labels_sequences(self) -> bool:
        """See `ModelConfig`."""
        return bool(getattr(self.base, "labels_sequences", False))

    @property
    def loss(self) -> Any:
        """See `Model`."""
        return getattr(self.base, "loss", None)

    @property
    def scores(self) -> Any:
        """See `Model`."""
        return getattr(self.base, "scores", None)

    @property
    def buffer_leaves(self) -> Any:
        """See `Model`."""
        return getattr(self.base, "buffer_leaves", None)

    def leaf_names(self) -> list[str]:
        """Returns the names of the leaves, see the class."""
        of_pairs = [f"lora.{each}.{self.names[place]}" for place in self.places for each in "AB"]
        return [*self.names, *of_pairs]

    def factor_pairs(self) -> tuple[FactorPair, ...]:
        """Returns the pairs of factors, by the places of their leaves."""
        first = len(self.names)
        return tuple(
            FactorPair(place, first + 2 * i, first + 2 * i + 1, self.scale, transposed=True)
            for i, place in enumerate(self.places)
        )

    def initial_weights(self, seed: int) -> list[np.ndarray]:
        """Returns the base's weights and the factors, `float32`.

        A is uniform in +- 1 / sqrt(inputs), from the seed; B is zero.
        """
        found = list(self.base.initial_weights(seed))
        for place in self.places:
            inputs, outputs = found[place].shape
            draws = generator(seed, "lora", place).uniform(-1, 1, (self.rank, inputs))
            found += [
                (draws / np.sqrt(inputs)).astype(np.float32),
                np.zeros((outputs, self.rank), np.float32),
            ]
        return found

    def merged(self, weights: Any) -> list[Any]:
        """Returns the weights of the base with the products in its matrices."""
        found = list(weights[: len(self.names)])
        for place, pair in zip(self.places, self.factor_pairs()):
            found[place] = found[place] + pair.product(weights[pair.a], weights[pair.b])
        return found

    def apply(self, weights: Any, inputs: Any) -> Any:
        from f3ast_tff.models.low_rank_products import Factors, with_factors

        factors = {
            place: Factors(weights[pair.a], weights[pair.b], pair.scale)
            for place, pair in zip(self.places, self.factor_pairs())
        }
        return with_factors(self.base.apply, list(weights[: len(self.names)]), factors, inputs)

    def penalty(self, weights: Any) -> Any:
        return self.base.penalty(self.merged(weights))

    def keras_model(self) -> Any:
        """Refuses, as there is no Keras form of the model.

        Raises:
            ParameterError: Always.
        """
        raise ParameterError("engine", "tff", "must be fused: LoRA's model is in JAX")


def with_lora(model: Model, config: ModelConfig) -> Lora:
    """Returns a model with the factors that its configuration asks for.

    Raises:
        ParameterError: See `lora`; names the setting.
    """
    assert config.lora is not None and config.lora_leaves is not None
    try:
        return lora(model, config.lora, config.lora_leaves, config.lora_alpha)
    except ParameterError as error:
        name = {"rank": "lora", "leaves": "lora_leaves"}.get(error.name, error.name)
        raise ParameterError(name, error.value, error.allowed) from error


def lora(model: Model, rank: int, leaves: str, alpha: float | None = None) -> Lora:
    """Returns a model whose matrices have factors of low rank, W = W_0 + (alpha / rank) B A.

    With the setting `train="lora"` the factors alone are trained and sent.

    Args:
        model: A model in JAX, such as a `PureModel` of Flax or Equinox. Its matrices are `[inputs,
            outputs]`.
        rank: r, from 1 to the shorter side of each matrix.
        leaves: Matrices with factors, as in the setting `private`: a comma list of names, such as
            `head` or `kernel`, or of numbers. Other leaves that it names stay without.
        alpha: Strength of the change; by default the rank, so that s is 1.

    Raises:
        ParameterError: If no matrix is named (names the leaves), a matrix has a side below the
            rank, alpha is not above 0, or the model is no model in JAX.

    Examples:
        >>> from f3ast_tff.models import SoftmaxRegression, lora
        >>> model = lora(SoftmaxRegression(num_features=60, num_classes=10), 4, "head")
        >>> dict(zip(model.leaf_names(), [w.shape for w in model.initial_weights(seed=0)]))
        {'head.kernel': (60, 10), 'head.bias': (10,), 'lora.A.head.kernel': (4, 60), \
'lora.B.head.kernel': (10, 4)}
    """
    if isinstance(model, TrainingFunction):
        allowed = "must be a model in JAX: a network of PyTorch brings adapters of its own (peft)"
        raise ParameterError("model", model.name, allowed)
    shapes = [weight.shape for weight in model.initial_weights(0)]
    names = names_of(model) or [str(place) for place in range(len(shapes))]
    chosen = chosen_leaves(leaves, names, len(shapes), "leaves")
    places = tuple(place for place in chosen if len(shapes[place]) == 2)
    matrices = [name for name, shape in zip(names, shapes) if len(shape) == 2]
    if not places:
        allowed = f"must name a matrix, of {', '.join(matrices) or 'which the model has none'}"
        raise ParameterError("leaves", leaves, allowed)
    least = min(places, key=lambda place: min(shapes[place]))
    if isinstance(rank, bool) or not 1 <= rank <= min(shapes[least]):
        allowed = f"must be from 1 to {min(shapes[least])}: {names[least]} is {[*shapes[least]]}"
        raise ParameterError("rank", rank, allowed)
    alpha = float(rank) if alpha is None else alpha
    if not 0 < alpha < np.inf:
        raise ParameterError("alpha", alpha, "must be above 0")
    return Lora(model, places, tuple(names), rank, alpha / rank)
