"""The character LSTM of Shakespeare (Table 6, reading R7)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from f3ast_tff.core.randomness import generator
from f3ast_tff.models import initializers
from f3ast_tff.models.model import ModelConfig, unreadable
from f3ast_tff.settings import parameter, register


@dataclass(frozen=True)
class CharacterLSTM:
    """Embedding, two LSTM layers, and a linear layer that predicts the next character.

    The default sizes have 720 + 271,360 + 525,312 + 23,130 = 820,522 parameters. Kernels of the
    LSTMs start He normal, as in `tff.simulation.baselines.shakespeare`; recurrent kernels start
    orthogonal.

    Pads are not masked. They follow a sequence's last character, so they do not affect earlier
    outputs, and their labels do not count. Masking would change neither loss, accuracy nor
    gradient.

    Attributes:
        vocabulary: Number of characters, including pad, oov, bos and eos.
        embedding: Length of a character's vector.
        units: Units of each LSTM.
        examples_at_once: See `Model`.
        labels_sequences: See `ModelConfig`.

    Examples:
        >>> from f3ast_tff.models import CharacterLSTM
        >>> weights = CharacterLSTM(units=16).initial_weights(seed=0)
        >>> len(weights), weights[0].shape, weights[1].shape  # Embedding; the first layer's kernel.
        (9, (90, 8), (8, 64))
    """

    vocabulary: int = 90
    embedding: int = 8
    units: int = 256
    examples_at_once: int = 256
    labels_sequences: ClassVar[bool] = True

    def initial_weights(self, seed: int) -> list[np.ndarray]:
        """Returns 9 arrays `float32`.

        Embedding; kernel, recurrent kernel and bias of each LSTM; the last layer's kernel and bias.
        The gates of an LSTM are input, forget, cell, output.
        """
        units = self.units
        rngs = [generator(seed, "initial weights", index) for index in range(9)]
        weights = [initializers.uniform(rngs[0], (self.vocabulary, self.embedding), 0.05)]
        for first, features in ((1, self.embedding), (4, units)):
            weights += [
                initializers.he_normal(rngs[first], (features, 4 * units)),
                initializers.orthogonal(rngs[first + 1], (units, 4 * units)),
                initializers.lstm_bias(units),
            ]
        weights += [
            initializers.glorot_uniform(rngs[7], (units, self.vocabulary)),
            np.zeros(self.vocabulary, np.float32),
        ]
        return weights

    def leaf_names(self) -> list[str]:
        """Returns the name of each array of weights, see `Model`."""
        lstms = [f"lstm{i}.{leaf}" for i in (1, 2) for leaf in ("kernel", "recurrent", "bias")]
        return ["embedding", *lstms, "head.kernel", "head.bias"]

    def apply(self, weights: Any, inputs: Any) -> Any:
        """Returns logits `[batch, length, vocabulary]` of integer ids `[batch, length]`."""
        from f3ast_tff.models.jax_layers.lstm import Layer, lstm

        embedding, in_1, across_1, bias_1, in_2, across_2, bias_2, kernel, bias = weights
        # Time first, so that a step of the loops reads and writes contiguous memory.
        x = embedding[inputs.T]
        x = lstm(x, [Layer(in_1, across_1, bias_1), Layer(in_2, across_2, bias_2)])
        return (x @ kernel + bias).transpose(1, 0, 2)

    def penalty(self, weights: Any) -> Any:
        """There is none."""
        return 0.0

    def keras_model(self) -> Any:
        """Inputs are ids of any integer type, of any length."""
        import tensorflow as tf

        recurrent = [
            tf.keras.layers.LSTM(self.units, kernel_initializer="he_normal", return_sequences=True)
            for _ in range(2)
        ]
        return tf.keras.Sequential(
            [
                tf.keras.layers.InputLayer((None,), dtype=tf.int32),
                tf.keras.layers.Embedding(self.vocabulary, self.embedding),
                *recurrent,
                tf.keras.layers.Dense(self.vocabulary),
            ]
        )


@dataclass(frozen=True)
class CharactersConfig(ModelConfig):
    """Base of networks that predict the next character of sequences of ids."""

    labels_sequences: ClassVar[bool] = True

    def check_inputs(self, features: np.ndarray, num_classes: int) -> None:
        """Refuses an id outside the vocabulary, which would be read as another."""
        wrong = features[(features < 0) | (features >= num_classes)]
        if len(wrong):
            raise ValueError(
                f"reads ids from 0 to {num_classes - 1}, the classes that it predicts; "
                f"the examples have {wrong[0]}"
            )


@register(
    "model",
    "character_lstm",
    "Character LSTM",
    about="embedding and two LSTM layers that predict the next character (reading R7)",
    order=3,
)
@dataclass(frozen=True)
class CharacterLSTMConfig(CharactersConfig):
    """Configuration of `CharacterLSTM`."""

    lstm_units: int = parameter(256, "units of each LSTM layer", minimum=1)

    def build(self, input_shape: tuple[int, ...], num_classes: int) -> CharacterLSTM:
        """Inputs are sequences of ids below `num_classes`."""
        if len(input_shape) != 1:
            raise unreadable("sequences of character ids, [length]", input_shape)
        return CharacterLSTM(num_classes, units=self.lstm_units)
