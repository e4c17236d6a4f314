"""Softmax regression: the model of the synthetic tasks, and of the convex studies."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from f3ast_tff.core.randomness import generator
from f3ast_tff.models import initializers
from f3ast_tff.models.model import ModelConfig
from f3ast_tff.settings import Published, Reading, parameter, register


@dataclass(frozen=True)
class SoftmaxRegression:
    """Logits x W + b.

    Attributes:
        num_features: Length of x; an input of another shape is flattened to it.
        num_classes: Number of classes.
        ridge: Strength of the penalty (ridge / 2) (|W|^2 + |b|^2), at least 0; above 0 the loss is
            strongly convex.
        examples_at_once: See `Model`.
        input_shape: Shape of an input that is not flat; `num_features` numbers in all.
        start: W before training (reading R21): `"zeros"`, since the loss is convex, or `"glorot"`,
            uniform by Glorot and Bengio (2010), from the seed. b starts from zeros.
        convex: See `ModelConfig`.
        in_numpy: See `ModelConfig`.

    Raises:
        ValueError: If `input_shape` does not hold `num_features` numbers.

    Examples:
        >>> import numpy as np
        >>> from f3ast_tff.models import SoftmaxRegression
        >>> model = SoftmaxRegression(num_features=2, num_classes=2, ridge=0.1)
        >>> weights = [np.eye(2), np.zeros(2)]
        >>> model.apply(weights, np.array([[3.0, 1.0]])).tolist()
        [[3.0, 1.0]]
        >>> round(float(model.penalty(weights)), 3)
        0.1
    """

    num_features: int
    num_classes: int
    ridge: float = 0.0
    examples_at_once: int = 8192
    input_shape: tuple[int, ...] | None = None
    start: str = "zeros"
    convex: ClassVar[bool] = True
    in_numpy: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if self.input_shape is not None and np.prod(self.input_shape) != self.num_features:
            raise ValueError(
                f"input_shape {self.input_shape}: must hold {self.num_features} numbers"
            )

    def initial_weights(self, seed: int) -> list[np.ndarray]:
        """Returns W `float32 [num_features, num_classes]` and b `float32 [num_classes]`."""
        shape = (self.num_features, self.num_classes)
        kernel = np.zeros(shape, np.float32)
        if self.start == "glorot":
            kernel = initializers.glorot_uniform(generator(seed, "initial weights"), shape)
        return [kernel, np.zeros(self.num_classes, np.float32)]

    def leaf_names(self) -> list[str]:
        """Returns the name of each array of weights, see `Model`."""
        return ["head.kernel", "head.bias"]

    def apply(self, weights: Any, inputs: Any) -> Any:
        """Returns logits `[batch, num_classes]`, in the framework of the arrays."""
        return inputs.reshape(len(inputs), self.num_features) @ weights[0] + weights[1]

    def penalty(self, weights: Any) -> Any:
        if not self.ridge:
            return 0.0
        return self.ridge / 2 * sum((weight**2).sum() for weight in weights)

    def keras_model(self) -> Any:
        import tensorflow as tf

        ridge = tf.keras.regularizers.L2(self.ridge / 2) if self.ridge else None
        shape = self.input_shape or (self.num_features,)
        return tf.keras.Sequential(
            [
                tf.keras.layers.InputLayer(shape),
                *([tf.keras.layers.Flatten()] if len(shape) > 1 else []),
                tf.keras.layers.Dense(
                    self.num_classes,
                    kernel_initializer="zeros",
                    kernel_regularizer=ridge,
                    bias_regularizer=ridge,
                ),
            ]
        )


@register(
    "model",
    "softmax_regression",
    "Softmax regression",
    about="one linear layer; the loss is convex",
    order=1,
)
@dataclass(frozen=True)
class SoftmaxRegressionConfig(ModelConfig):
    """Configuration of `SoftmaxRegression`."""

    convex: ClassVar[bool] = SoftmaxRegression.convex
    in_numpy: ClassVar[bool] = SoftmaxRegression.in_numpy

    ridge: float = parameter(Published(0.0), "the loss adds ridge / 2 |w|^2", minimum=0)
    softmax_start: str = parameter(
        Reading("R21", "zeros", "glorot"),
        "weights of softmax regression before training; glorot draws them from the seed",
        choices=("zeros", "glorot"),
    )

    def build(self, input_shape: tuple[int, ...], num_classes: int) -> SoftmaxRegression:
        """Inputs of any shape."""
        features = math.prod(input_shape)
        return SoftmaxRegression(
            features, num_classes, self.ridge, input_shape=input_shape, start=self.softmax_start
        )
