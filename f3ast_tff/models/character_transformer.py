"""A small decoder of characters, after GPT-2: the network for federated fine-tuning."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from f3ast_tff.core.errors import ParameterError
from f3ast_tff.core.randomness import generator
from f3ast_tff.models import initializers
from f3ast_tff.models.character_lstm import CharactersConfig
from f3ast_tff.models.model import unreadable
from f3ast_tff.settings import parameter, register
from f3ast_tff.settings.configuration import Settings

# Standard deviation of initial kernels, that of GPT-2 (Radford et al., 2019).
_DEVIATION = 0.02
# Units of a block's hidden layer over its width.
_HIDDEN = 4


@dataclass(frozen=True)
class CharacterTransformer:
    """Embeddings of characters and places, blocks of causal attention, and a linear layer.

    A block adds to x, of each place, first attention over this and earlier places, then a layer of
    GELUs, each of the layer norm of x (Radford et al., 2019). The last layer reads the layer norm
    of the last block. The default sizes have 116,314 weights, 98,304 of them in the 12 kernels of
    blocks, which low-rank adapters are for.

    Pads are not masked: they follow a sequence's last character, so that no output that counts
    attends to them. Initial kernels are normal with deviation 0.02, divided by sqrt(2 blocks) for
    the kernels that add to x; norms start as the identity, biases at 0.

    Attributes:
        vocabulary: Number of characters, including pad, oov, bos and eos.
        length: Largest number of characters of a sequence.
        width: Length of x at a place; a multiple of `heads`.
        blocks: Number of blocks.
        heads: Heads of a block's attention.
        examples_at_once: See `Model`.
        labels_sequences: See `ModelConfig`.

    Examples:
        >>> from f3ast_tff.models import CharacterTransformer
        >>> model = CharacterTransformer(width=16, heads=2)
        >>> leaves = dict(zip(model.leaf_names(), model.initial_weights(seed=0)))
        >>> leaves["block1.query.kernel"].shape
        (16, 16)
    """

    vocabulary: int = 90
    length: int = 80
    width: int = 64
    blocks: int = 2
    heads: int = 4
    examples_at_once: int = 64
    labels_sequences: ClassVar[bool] = True

    def initial_weights(self, seed: int) -> list[np.ndarray]:
        """Returns the arrays of `leaf_names`, `float32`; kernels are [inputs, outputs]."""
        weights = []
        for place, (name, shape) in enumerate(self._leaves()):
            part = name.rpartition(".")[2]
            if part in ("scale", "offset", "bias"):
                weights.append(np.full(shape, part == "scale", np.float32))
                continue
            adds = name.endswith((".out.kernel", ".down.kernel"))
            deviation = _DEVIATION / np.sqrt(2 * self.blocks) if adds else _DEVIATION
            rng = generator(seed, "initial weights", place)
            weights.append(initializers.normal(rng, shape, deviation))
        return weights

    def leaf_names(self) -> list[str]:
        """Returns the name of each array of weights, see `Model`."""
        return [name for name, _ in self._leaves()]

    def _leaves(self) -> Iterator[tuple[str, tuple[int, ...]]]:
        width, hidden = self.width, _HIDDEN * self.width
        yield "embedding", (self.vocabulary, width)
        yield "position.embedding", (self.length, width)
        for number in range(1, self.blocks + 1):
            block = f"block{number}"
            yield from _norm(f"{block}.norm1", width)
            for name in ("query", "key", "value", "out"):
                yield f"{block}.{name}.kernel", (width, width)
            yield from _norm(f"{block}.norm2", width)
            yield from _linear(f"{block}.up", (width, hidden))
            yield from _linear(f"{block}.down", (hidden, width))
        yield from _norm("norm", width)
        yield from _linear("head", (width, self.vocabulary))

    def apply(self, weights: Any, inputs: Any) -> Any:
        """Returns logits `[batch, length, vocabulary]` of integer ids `[batch, length]`."""
        import jax.numpy as jnp
        from jax.nn import gelu

        from f3ast_tff.models.jax_layers.attention import causal_attention
        from f3ast_tff.models.jax_layers.layer_norm import layer_norm

        of = dict(zip(self.leaf_names(), weights))

        def norm(x: Any, name: str) -> Any:
            return layer_norm(x, of[f"{name}.scale"], of[f"{name}.offset"])

        x = jnp.asarray(of["embedding"])[inputs] + of["position.embedding"][: inputs.shape[1]]
        for number in range(1, self.blocks + 1):
            block = f"block{number}"
            read = norm(x, f"{block}.norm1")
            query, key, value = (
                read @ of[f"{block}.{name}.kernel"] for name in ("query", "key", "value")
            )
            attended = causal_attention(query, key, value, self.heads)
            x = x + attended @ of[f"{block}.out.kernel"]
            wide = norm(x, f"{block}.norm2") @ of[f"{block}.up.kernel"]
            wide = gelu(wide + of[f"{block}.up.bias"])
            x = x + wide @ of[f"{block}.down.kernel"] + of[f"{block}.down.bias"]
        return norm(x, "norm") @ of["head.kernel"] + of["head.bias"]

    def penalty(self, weights: Any) -> Any:
        """There is none."""
        return 0.0

    def keras_model(self) -> Any:
        """Refuses, as there is no Keras form.

        Raises:
            ParameterError: Always.
        """
        raise ParameterError("engine", "tff", "must be fused with model character_transformer")


def _norm(name: str, width: int) -> Iterator[tuple[str, tuple[int, ...]]]:
    yield f"{name}.scale", (width,)
    yield f"{name}.offset", (width,)


def _linear(name: str, shape: tuple[int, int]) -> Iterator[tuple[str, tuple[int, ...]]]:
    yield f"{name}.kernel", shape
    yield f"{name}.bias", shape[1:]


@register(
    "model",
    "character_transformer",
    "Character transformer",
    about="a decoder of two blocks of causal attention that predicts the next character",
    order=7,
)
@dataclass(frozen=True)
class CharacterTransformerConfig(CharactersConfig):
    """Configuration of `CharacterTransformer`."""

    engines: ClassVar[tuple[str, ...]] = ("fused",)

    transformer_width: int = parameter(64, "length of a character's vector", minimum=1)
    transformer_blocks: int = parameter(2, "blocks of attention and a hidden layer", minimum=1)
    transformer_heads: int = parameter(4, "heads of a block's attention", minimum=1)

    def build(self, input_shape: tuple[int, ...], num_classes: int) -> CharacterTransformer:
        """Inputs are sequences of ids below `num_classes`."""
        if len(input_shape) != 1:
            raise unreadable("sequences of character ids, [length]", input_shape)
        return CharacterTransformer(
            num_classes,
            length=input_shape[0],
            width=self.transformer_width,
            blocks=self.transformer_blocks,
            heads=self.transformer_heads,
        )

    def check(self, settings: Settings) -> None:
        super().check(settings)
        if self.transformer_width % self.transformer_heads:
            allowed = f"must divide transformer_width, {self.transformer_width}"
            raise ParameterError("transformer_heads", self.transformer_heads, allowed)
