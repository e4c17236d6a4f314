"""The interface of models, and their configuration."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar, Protocol

import numpy as np

from f3ast_tff.core.errors import ComponentError, ParameterError
from f3ast_tff.core.federated_data import FederatedData
from f3ast_tff.settings import Derived, parameter
from f3ast_tff.settings.component import component_of
from f3ast_tff.settings.configuration import Settings


class Model(Protocol):
    """A network that gives logits of classes, or values.

    Its loss is cross-entropy, averaged over a batch's labels that count (negative labels do not),
    plus `penalty`. A model may bring, in JAX (on engine `host` in NumPy):

    - `loss(outputs, labels)`, in place of cross-entropy. It returns a value per example, `[n]`, or
      per label, `[n, d]`, averaged over the labels of an example. With it labels may be values:
      floating-point numbers `[n]` or `[n, d]`, or a 0/1 matrix `[n, d]` of several labels.
      With sequences of classes it returns a value per label.
    - `scores`, a mapping from names to such functions, of which lower values are better, or to
      pairs of a function and `"higher"` or `"lower"`.

    A method `leaf_names` may name the arrays of `initial_weights`, such as `head.bias`, for the
    settings `train` and `private`. An attribute `buffer_leaves`, names or numbers of such arrays,
    may say which are buffers; see `f3ast_tff.models.leaf_patterns`. A method `factor_pairs` may say
    which are factors of LoRA, see `FactorPair`.

    Attributes:
        examples_at_once: Number of examples scored at once in evaluation; bounds memory.

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
        """Returns the initial weights, a pure function of the seed."""
        ...

    def apply(self, weights: Any, inputs: Any) -> Any:
        """Returns the logits, `[batch, classes]` or `[batch, length, classes]`, in JAX."""
        ...

    def penalty(self, weights: Any) -> Any:
        """Returns the term added to the mean loss of a batch in training, a scalar in JAX."""
        ...

    def keras_model(self) -> Any:
        """Returns a new Keras model with trainable weights in the order of `initial_weights`.

        Its layers add `penalty` as regularisation losses.
        """
        ...


@dataclass(frozen=True)
class ModelConfig:
    """Base of a model's `Config`.

    Attributes:
        engines: Engines that can train the model; `()` for all.
        labels_sequences: Whether it predicts a class for each element of a sequence, instead of a
            class per example.
        in_numpy: Whether the model has a form in NumPy, as engine `host` needs.
        convex: Whether the loss is convex in the weights. F3AST's first rates depend on it (R1).
        trains_itself: Whether local training is the model's own, see `TrainingFunctionConfig`.

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
    in_numpy: ClassVar[bool] = False
    convex: ClassVar[bool] = False
    trains_itself: ClassVar[bool] = False

    _: KW_ONLY
    lora: int | None = parameter(
        None,
        "rank of LoRA's factors around matrices of the model, which alone are trained and sent",
        minimum=1,
        method_specific=True,
    )
    lora_leaves: str | None = parameter(
        Derived(lambda known: None if known["lora"] is None else "kernel", "kernel with lora"),
        "matrices with factors, as in private, such as query,value",
        method_specific=True,
    )
    lora_alpha: float | None = parameter(
        None,
        "strength of the factors: their product counts alpha / rank; by default the rank",
        above=0,
        method_specific=True,
    )

    def build(self, input_shape: tuple[int, ...], num_classes: int) -> Model:
        """Returns the model.

        Args:
            input_shape: Shape of an input, from `Preprocessing.output_shape`.
            num_classes: Number of classes; of outputs, if labels are values.

        Raises:
            ValueError: If the model cannot read inputs of that shape; names both shapes.
        """
        raise ComponentError(f"{type(self).__name__} does not say what it builds")

    def check_inputs(self, features: np.ndarray, num_classes: int) -> None:
        """Checks the values of features as stored, `[n, ...]`; by default any will do.

        Raises:
            ValueError: If the model cannot read a value.
        """

    def has_classes(self, data: FederatedData) -> bool:
        """Returns whether labels are classes in the form of the model; others are values."""
        sequences = data.train.labels.ndim > 1
        return data.num_classes > 0 and sequences == bool(self.labels_sequences)

    def unfit_labels(self, data: FederatedData) -> str:
        """Returns why a model without a loss of its own cannot be trained on values."""
        if data.num_classes == 0:
            return "does not fit: the labels of this data are values, and the model brings no loss"
        sequences = data.train.labels.ndim > 1
        labels = "a sequence per example" if sequences else "one per example"
        return f"does not fit: this data has {labels} as label"

    def check(self, settings: Settings) -> None:
        """Checks parameters against other settings; see `AlgorithmConfig.check`."""
        engine, name = settings.engine, component_of(self).name
        if self.lora is None:
            for setting in ("lora_leaves", "lora_alpha"):
                if (value := getattr(self, setting)) is not None:
                    raise ParameterError(setting, value, "needs lora, the rank")
        elif self.trains_itself:
            allowed = f"must not be given with model {name}, which brings adapters of its own"
            raise ParameterError("lora", self.lora, allowed)
        elif engine != "fused":
            allowed = f"must be fused with lora={self.lora}, whose factors are in JAX"
            raise ParameterError("engine", engine, allowed)
        if engine == "host" and not self.in_numpy:
            allowed = (
                f"must be another engine with model {name}, which has no form in NumPy (a training "
                "function's Config derives from TrainingFunctionConfig)"
            )
            raise ParameterError("engine", engine, allowed)
        if self.engines and engine not in self.engines:
            allowed = f"must be {' or '.join(self.engines)} with model {name}"
            raise ParameterError("engine", engine, allowed)


def unreadable(wanted: str, input_shape: tuple[int, ...]) -> ValueError:
    """Returns the error of a model that reads `wanted`, not inputs of that shape."""
    return ValueError(f"reads {wanted}; an input of this task has the shape {list(input_shape)}")
