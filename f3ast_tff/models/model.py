"""A model as the engines see it, and its configuration."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

import numpy as np

from f3ast_tff.core.errors import ParameterError
from f3ast_tff.settings.component import component_of


class Model(Protocol):
    """A classifier that gives logits.

    Its loss is cross-entropy, averaged over a batch's labels that count (all but negative ones),
    plus `penalty`.

    Attributes:
        examples_at_once: Examples that are scored at once in evaluation; bounds memory.

    Examples:
        >>> import numpy as np
        >>> from f3ast_tff.models import Model, SoftmaxRegression
        >>> model: Model = SoftmaxRegression(num_features=3, num_classes=2)
        >>> weights = model.initial_weights(seed=0)
        >>> [weight.shape for weight in weights], model.apply(weights, np.ones((5, 3))).shape
        ([(3, 2), (2,)], (5, 2))
    """

    @property
    def examples_at_once(self) -> int:
        """See the class."""
        ...

    def initial_weights(self, seed: int) -> list[np.ndarray]:
        """Returns the weights that training starts from, a pure function of the seed."""
        ...

    def apply(self, weights: Any, inputs: Any) -> Any:
        """Returns the logits, `[batch, classes]` or `[batch, length, classes]`, in JAX."""
        ...

    def penalty(self, weights: Any) -> Any:
        """Returns what training adds to the mean loss of a batch, a scalar in JAX; 0 for none."""
        ...

    def keras_model(self) -> Any:
        """Returns a new Keras model whose trainable weights are in the order of the above.

        What `penalty` is, its layers add as regularisation losses.
        """
        ...


@dataclass(frozen=True)
class ModelConfig:
    """Base of a model's `Config`.

    Attributes:
        engines: The engines that can train it; `()`: all.
        labels_sequences: Whether it predicts a class for each element of a sequence, as opposed
            to one for an example.
        convex: Whether the loss is convex in the weights. F3AST's first rates depend on it (R1).

    Examples:
        >>> from dataclasses import dataclass
        >>> from f3ast_tff.models import ModelConfig, SmallCNN
        >>> @dataclass(frozen=True)
        ... class TinyConfig(ModelConfig):
        ...     def build(self, input_shape, num_classes):
        ...         return SmallCNN((4,), (), input_shape, num_classes)
        >>> TinyConfig().build((28, 28, 1), 10).kernel_shapes()
        [(5, 5, 1, 4), (576, 10)]
    """

    engines: ClassVar[tuple[str, ...]] = ()
    labels_sequences: ClassVar[bool] = False
    convex: ClassVar[bool] = False

    def build(self, input_shape: tuple[int, ...], num_classes: int) -> Model:
        """Returns the model.

        Args:
            input_shape: Shape of an input, as `Preprocessing.output_shape` gives it.
            num_classes: Number of classes.

        Raises:
            ValueError: If it cannot read inputs of that shape; names both shapes.
        """
        raise TypeError(f"{type(self).__name__} does not say what it builds")

    def check(self, settings: Mapping[str, Any]) -> None:
        """Checks parameters against other settings; see `AlgorithmConfig.check`."""
        engine = settings["engine"]
        if self.engines and engine not in self.engines:
            allowed = f"must be {' or '.join(self.engines)} with model {component_of(self).name}"
            raise ParameterError("engine", engine, allowed)


def unreadable(wanted: str, input_shape: tuple[int, ...]) -> ValueError:
    """Returns the error of a model that reads `wanted`, not inputs of that shape."""
    return ValueError(f"reads {wanted}; an input of this task has the shape {list(input_shape)}")
