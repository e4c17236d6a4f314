"""The small CNNs: CA-Fed's and FedLaAvg's networks for CIFAR-10, and a network of any width."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from f3ast_tff.core.errors import ParameterError
from f3ast_tff.core.randomness import generator
from f3ast_tff.models import initializers
from f3ast_tff.models.model import ModelConfig, unreadable
from f3ast_tff.settings import parameter, register
from f3ast_tff.settings.configuration import Settings

KERNEL = 5


@dataclass(frozen=True)
class SmallCNN:
    """Convolutions of 5 x 5, each with a ReLU and 2 x 2 max pooling; ReLU layers; a linear layer.

    Convolutions are not padded. Kernels and biases start uniform within 1 / sqrt(fan in), the
    default of PyTorch, which both papers' authors used. `fedlaavg_cnn` and `cafed_cnn` build the
    two networks. With `shrink` s the network reads means of s x s pixels.

    Attributes:
        filters: Filters of each convolution.
        hidden: Units of each ReLU layer.
        input_shape: Rows, columns and channels of an image.
        num_classes: Number of classes.
        examples_at_once: See `Model`.
        shrink: Factor by which images are shrunk first; surplus rows and columns at the end are
            cut.

    Raises:
        ValueError: If the network cannot read inputs of that shape.

    Examples:
        >>> from f3ast_tff.models import SmallCNN
        >>> SmallCNN(filters=(8, 16), hidden=(64,), input_shape=(28, 28, 1)).kernel_shapes()
        [(5, 5, 1, 8), (5, 5, 8, 16), (256, 64), (64, 10)]
    """

    filters: tuple[int, ...]
    hidden: tuple[int, ...]
    input_shape: tuple[int, ...] = (32, 32, 3)
    num_classes: int = 10
    examples_at_once: int = 100
    shrink: int = 1

    def __post_init__(self) -> None:
        if len(self.input_shape) != 3:
            raise unreadable("images, [rows, columns, channels]", self.input_shape)
        if min(self._pooled_sides()) < 1:
            raise unreadable("images that are not too small for its convolutions", self.input_shape)

    def kernel_shapes(self) -> list[tuple[int, ...]]:
        """Returns the shapes of the kernels; each kernel is followed by a bias."""
        rows, columns = self._pooled_sides()
        channels = (self.input_shape[2], *self.filters)
        units = (rows * columns * channels[-1], *self.hidden, self.num_classes)
        convolutions = [(KERNEL, KERNEL, *pair) for pair in zip(channels, self.filters)]
        return [*convolutions, *zip(units, units[1:])]

    def initial_weights(self, seed: int) -> list[np.ndarray]:
        """Returns a kernel and a bias per layer, `float32`; kernels end in (inputs, outputs)."""
        weights = []
        for index, shape in enumerate(self.kernel_shapes()):
            limit = 1 / np.sqrt(np.prod(shape[:-1]))
            for part, part_shape in enumerate((shape, shape[-1:])):
                rng = generator(seed, "initial weights", 2 * index + part)
                weights.append(initializers.uniform(rng, part_shape, limit))
        return weights

    def leaf_names(self) -> list[str]:
        """Returns the name of each array of weights, see `Model`."""
        layers = [f"conv{i}" for i in range(1, len(self.filters) + 1)]
        layers += [f"dense{i}" for i in range(1, len(self.hidden) + 1)]
        return [f"{layer}.{leaf}" for layer in (*layers, "head") for leaf in ("kernel", "bias")]

    def apply(self, weights: Any, inputs: Any) -> Any:
        """Returns logits `[batch, num_classes]` of images `[batch, rows, columns, channels]`."""
        from jax.nn import relu

        from f3ast_tff.models.jax_layers.convolution import convolution
        from f3ast_tff.models.jax_layers.max_pool import max_pool

        if self.shrink > 1:
            inputs = shrunk(inputs, self.shrink)
        layers = list(zip(weights[::2], weights[1::2]))
        x = inputs.transpose(1, 2, 0, 3)
        for kernel, bias in layers[: len(self.filters)]:
            x = max_pool(
                relu(convolution(x, kernel, padding="valid") + bias),
                size=2,
                stride=2,
                padding="valid",
            )
        x = x.transpose(2, 0, 1, 3).reshape(len(inputs), -1)
        for kernel, bias in layers[len(self.filters) : -1]:
            x = relu(x @ kernel + bias)
        kernel, bias = layers[-1]
        return x @ kernel + bias

    def penalty(self, weights: Any) -> Any:
        """There is none."""
        return 0.0

    def keras_model(self) -> Any:
        import tensorflow as tf

        def starts(shape: tuple[int, ...]) -> dict[str, Any]:
            limit = float(1 / np.sqrt(np.prod(shape[:-1])))
            # One initialiser per weight, because a shared initialiser would repeat its draws.
            kernel, bias = (tf.keras.initializers.RandomUniform(-limit, limit) for _ in range(2))
            return {"kernel_initializer": kernel, "bias_initializer": bias}

        shapes = self.kernel_shapes()
        layers = [tf.keras.layers.InputLayer(self.input_shape)]
        if self.shrink > 1:
            layers.append(tf.keras.layers.AveragePooling2D(self.shrink))
        for shape in shapes[: len(self.filters)]:
            layers += [
                tf.keras.layers.Conv2D(shape[-1], KERNEL, activation="relu", **starts(shape)),
                tf.keras.layers.MaxPooling2D(2),
            ]
        layers.append(tf.keras.layers.Flatten())
        for shape in shapes[len(self.filters) : -1]:
            layers.append(tf.keras.layers.Dense(shape[-1], activation="relu", **starts(shape)))
        layers.append(tf.keras.layers.Dense(self.num_classes, **starts(shapes[-1])))
        return tf.keras.Sequential(layers)

    def _pooled_sides(self) -> tuple[int, int]:
        rows, columns = (side // self.shrink for side in self.input_shape[:2])
        for _ in self.filters:
            rows, columns = (rows - KERNEL + 1) // 2, (columns - KERNEL + 1) // 2
        return rows, columns


def shrunk(images: Any, factor: int) -> Any:
    """Returns means of `factor` x `factor` pixels of `[batch, rows, columns, channels]`."""
    batch, rows, columns, channels = images.shape
    rows, columns = rows // factor, columns // factor
    whole = images[:, : rows * factor, : columns * factor]
    return whole.reshape(batch, rows, factor, columns, factor, channels).mean(axis=(2, 4))


def cafed_cnn(input_shape: tuple[int, ...] = (32, 32, 3), num_classes: int = 10) -> SmallCNN:
    """Returns CA-Fed's network (App. G1): two convolutions and one fully connected layer.

    The paper gives no sizes. The authors' code has 32 and 64 filters of 5 x 5, no padding, 2 x 2
    max pooling, one ReLU layer of 2048 units and a linear layer: 3,353,034 parameters.

    Args:
        input_shape: Rows, columns and channels of an image.
        num_classes: Number of classes.

    Examples:
        >>> from f3ast_tff.models import cafed_cnn
        >>> sum(weight.size for weight in cafed_cnn().initial_weights(seed=0))
        3353034
    """
    return SmallCNN((32, 64), hidden=(2048,), input_shape=input_shape, num_classes=num_classes)


def fedlaavg_cnn(input_shape: tuple[int, ...] = (32, 32, 3), num_classes: int = 10) -> SmallCNN:
    """Returns FedLaAvg's network (Sec. 5.1): two convolutions, two dense layers, a linear layer.

    The paper names the network of PyTorch's tutorial and gives no sizes (its parameter count is
    missing from the text). That tutorial, and the authors' code, have 6 and 16 filters of 5 x 5,
    no padding, 2 x 2 max pooling, and 120 and 84 units: 62,006 parameters.

    Args:
        input_shape: Rows, columns and channels of an image.
        num_classes: Number of classes.

    Examples:
        >>> from f3ast_tff.models import fedlaavg_cnn
        >>> sum(weight.size for weight in fedlaavg_cnn().initial_weights(seed=0))
        62006
    """
    return SmallCNN((6, 16), hidden=(120, 84), input_shape=input_shape, num_classes=num_classes)


@register(
    "model",
    "cafed_cnn",
    "CA-Fed's CNN",
    about="two convolutions and a layer of 2048 units (CA-Fed's code)",
    order=4,
)
@dataclass(frozen=True)
class CAFedCNNConfig(ModelConfig):
    """Configuration of `cafed_cnn`."""

    def build(self, input_shape: tuple[int, ...], num_classes: int) -> SmallCNN:
        """Inputs are images."""
        return cafed_cnn(input_shape, num_classes)


@register(
    "model",
    "fedlaavg_cnn",
    "FedLaAvg's CNN",
    about="two convolutions and layers of 120 and 84 units (FedLaAvg, Sec. 5.1)",
    order=5,
)
@dataclass(frozen=True)
class FedLaAvgCNNConfig(ModelConfig):
    """Configuration of `fedlaavg_cnn`."""

    def build(self, input_shape: tuple[int, ...], num_classes: int) -> SmallCNN:
        """Inputs are images."""
        return fedlaavg_cnn(input_shape, num_classes)


@register(
    "model",
    "small_cnn",
    "Small CNN",
    about="convolutions and layers as wide as one wishes, for any images",
    order=6,
)
@dataclass(frozen=True)
class SmallCNNConfig(ModelConfig):
    """Configuration of `SmallCNN`; by default small enough for a CPU."""

    cnn_filters: str = parameter("8,16", "filters of each 5 x 5 convolution, separated by commas")
    cnn_hidden: str = parameter("64", "units of each hidden layer, separated by commas, or empty")
    cnn_shrink: int = parameter(
        1, "images are shrunk by this factor first, each pixel a mean", minimum=1
    )

    def build(self, input_shape: tuple[int, ...], num_classes: int) -> SmallCNN:
        """Inputs are images."""
        filters, hidden = self._widths()
        return SmallCNN(filters, hidden, input_shape, num_classes, shrink=self.cnn_shrink)

    def check(self, settings: Settings) -> None:
        super().check(settings)
        self._widths()

    def _widths(self) -> tuple[tuple[int, ...], tuple[int, ...]]:
        filters = _widths("cnn_filters", self.cnn_filters)
        if not filters:
            raise ParameterError("cnn_filters", self.cnn_filters, "must name at least one number")
        return filters, _widths("cnn_hidden", self.cnn_hidden)


def _widths(name: str, text: str) -> tuple[int, ...]:
    entries = [entry.strip() for entry in text.split(",")] if text.strip() else []
    if not all(entry.isascii() and entry.isdecimal() and int(entry) > 0 for entry in entries):
        raise ParameterError(name, text, "must be numbers above 0, separated by commas")
    return tuple(int(entry) for entry in entries)
