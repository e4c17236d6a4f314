"""ResNet-18 with group normalisation: the model of CIFAR-100 (reading R12)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from f3ast_tff.core.randomness import generator
from f3ast_tff.models import initializers
from f3ast_tff.models.model import ModelConfig, unreadable
from f3ast_tff.settings import Reading, parameter, register

STAGES = (64, 128, 256, 512)
BLOCKS_PER_STAGE = 2
WEIGHT_DECAY = 1e-4


@dataclass(frozen=True)
class ResNet18:
    """A 7 x 7 stem of stride 2, max pooling of stride 2, four stages of two blocks, a linear layer.

    Blocks are pre-activation blocks (He et al., "Identity mappings in deep residual networks",
    2016): normalise, ReLU, convolve, twice. The very first block starts with its convolution,
    because the stem has normalised. The first block of a stage with more channels has a 1 x 1
    convolution and a normalisation in its shortcut. Norms have 32 groups and epsilon 1e-3;
    convolutions have no bias; the penalty is 1e-4 times the sum of the squares of all kernels and
    of the last layer's bias.

    `released` is `tff.simulation.models.resnet_models.create_resnet18`, the network of the
    released code. No stage has a stride, so images of 24 x 24 stay 6 x 6 through all stages.
    (That network ends in a softmax and its loss takes probabilities; here it ends in the logits.)
    `strided` halves the image at the start of stages 2, 3 and 4, as He et al. do.

    Attributes:
        variant: `released` or `strided`.
        image: Side of the images, pixels; weights do not depend on it.
        num_classes: Number of classes.
        examples_at_once: See `Model`.

    Examples:
        >>> import math
        >>> from f3ast_tff.models import ResNet18
        >>> shapes = ResNet18(variant="strided", num_classes=100).weight_shapes()
        >>> len(shapes), sum(map(math.prod, shapes))
        (62, 11227812)
    """

    variant: str = "released"
    image: int = 24
    num_classes: int = 100
    examples_at_once: int = 250

    @property
    def strides(self) -> tuple[int, ...]:
        """Stride of the first block of each stage."""
        return (1, 2, 2, 2) if self.variant == "strided" else (1, 1, 1, 1)

    def weight_shapes(self) -> list[tuple[int, ...]]:
        """Returns the shapes of the weights, in their order."""
        shapes: list[tuple[int, ...]] = [(7, 7, 3, 64), (64,), (64,)]
        channels = 64
        for stage, filters in enumerate(STAGES):
            for block in range(BLOCKS_PER_STAGE):
                if stage or block:
                    shapes += [(channels,), (channels,)]
                shapes += [(3, 3, channels, filters), (filters,), (filters,)]
                if channels != filters:
                    shapes += [(1, 1, channels, filters), (filters,), (filters,)]
                shapes += [(3, 3, filters, filters)]
                channels = filters
        shapes += [(channels,), (channels,), (channels, self.num_classes), (self.num_classes,)]
        return shapes

    def leaf_names(self) -> list[str]:
        """Returns the name of each array of weights, see `Model`; `norm` stands for all norms."""

        def norm(name: str) -> list[str]:
            return [f"{name}.scale", f"{name}.offset"]

        names, channels = ["stem.kernel", *norm("stem.norm")], STAGES[0]
        for stage, filters in enumerate(STAGES):
            for block in range(BLOCKS_PER_STAGE):
                here = f"stage{stage + 1}.block{block + 1}"
                if stage or block:
                    names += norm(f"{here}.norm1")
                names += [f"{here}.conv1.kernel", *norm(f"{here}.norm2")]
                if channels != filters:
                    names += [f"{here}.shortcut.kernel", *norm(f"{here}.shortcut.norm")]
                names += [f"{here}.conv2.kernel"]
                channels = filters
        return [*names, *norm("norm"), "head.kernel", "head.bias"]

    def initial_weights(self, seed: int) -> list[np.ndarray]:
        """Returns 62 arrays `float32`: kernels He normal (the last N(0, 0.01^2)), norms identity.

        Kernels are `[height, width, channels, filters]`; a norm is its scale and its offset.
        """
        *shapes, last_kernel, last_bias = self.weight_shapes()
        weights: list[np.ndarray] = []
        is_scale = True
        for index, shape in enumerate(shapes):
            if len(shape) == 4:
                rng = generator(seed, "initial weights", index)
                weights.append(initializers.he_normal(rng, shape))
            else:
                weights.append(np.full(shape, is_scale, np.float32))
                is_scale = not is_scale
        rng = generator(seed, "initial weights", len(shapes))
        weights.append(initializers.normal(rng, last_kernel, 0.01))
        return [*weights, np.zeros(last_bias, np.float32)]

    def apply(self, weights: Any, inputs: Any) -> Any:
        """Returns logits `[batch, num_classes]` of standardised images `[batch, side, side, 3]`."""
        from jax.nn import relu

        from f3ast_tff.models.jax_layers.convolution import convolution
        from f3ast_tff.models.jax_layers.group_norm import group_norm
        from f3ast_tff.models.jax_layers.max_pool import max_pool

        following: Iterator[Any] = iter(weights)

        def convolve(x: Any, stride: int = 1) -> Any:
            return convolution(x, next(following), stride)

        def normalise(x: Any) -> Any:
            return group_norm(x, next(following), next(following))

        x = relu(normalise(convolve(inputs.transpose(1, 2, 0, 3), 2)))
        x = max_pool(x, 3, 2)
        for stage, filters in enumerate(STAGES):
            for block in range(BLOCKS_PER_STAGE):
                stride = 1 if block else self.strides[stage]
                y = relu(normalise(x)) if stage or block else x
                y = relu(normalise(convolve(y, stride)))
                shortcut = x if x.shape[-1] == filters else normalise(convolve(x, stride))
                x = shortcut + convolve(y)
        x = relu(normalise(x)).mean(axis=(0, 1))
        return x @ next(following) + next(following)

    def penalty(self, weights: Any) -> Any:
        kernels = [weight for weight in weights if weight.ndim > 1]
        return WEIGHT_DECAY * sum((weight**2).sum() for weight in [*kernels, weights[-1]])

    def keras_model(self) -> Any:
        if self.variant != "released":
            return _in_keras(self)
        import tensorflow as tf
        import tensorflow_federated as tff

        shape = (self.image, self.image, 3)
        model = tff.simulation.models.resnet_models.create_resnet18(shape, self.num_classes)
        model.layers[-1].activation = tf.keras.activations.linear
        return model


def _in_keras(model: ResNet18) -> Any:
    import tensorflow as tf

    layers, decay = tf.keras.layers, tf.keras.regularizers.L2(WEIGHT_DECAY)

    def norm_relu(x: Any) -> Any:
        return layers.ReLU()(layers.GroupNormalization()(x))

    def convolve(x: Any, filters: int, size: int, stride: int = 1) -> Any:
        return layers.Conv2D(
            filters,
            size,
            stride,
            padding="same",
            use_bias=False,
            kernel_initializer="he_normal",
            kernel_regularizer=decay,
        )(x)

    images = layers.Input((model.image, model.image, 3))
    x = norm_relu(convolve(images, STAGES[0], 7, 2))
    x = layers.MaxPooling2D(3, 2, padding="same")(x)
    for stage, filters in enumerate(STAGES):
        for block in range(BLOCKS_PER_STAGE):
            stride = 1 if block else model.strides[stage]
            y = norm_relu(x) if stage or block else x
            y = convolve(norm_relu(convolve(y, filters, 3, stride)), filters, 3)
            if x.shape[-1] != filters:
                x = layers.GroupNormalization()(convolve(x, filters, 1, stride))
            x = layers.add([x, y])
    x = layers.GlobalAveragePooling2D()(norm_relu(x))
    logits = layers.Dense(
        model.num_classes,
        kernel_initializer=tf.keras.initializers.RandomNormal(stddev=0.01),
        kernel_regularizer=decay,
        bias_regularizer=decay,
    )(x)
    return tf.keras.Model(images, logits)


@register(
    "model",
    "resnet18",
    "ResNet-18",
    about="ResNet-18 with group normalisation, for images of three channels",
    order=2,
)
@dataclass(frozen=True)
class ResNet18Config(ModelConfig):
    """Configuration of `ResNet18`."""

    resnet_variant: str = parameter(
        Reading("R12", "strided", "released"),
        "strides of 2 between the stages as in He et al., or the released code's",
        choices=("strided", "released"),
    )

    def build(self, input_shape: tuple[int, ...], num_classes: int) -> ResNet18:
        """Inputs are square images of three channels."""
        if len(input_shape) != 3 or input_shape[0] != input_shape[1] or input_shape[2] != 3:
            raise unreadable("square images of three channels, [side, side, 3]", input_shape)
        return ResNet18(self.resnet_variant, input_shape[0], num_classes)
