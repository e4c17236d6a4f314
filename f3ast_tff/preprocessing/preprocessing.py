"""What turns stored features into a model's inputs."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np


class Preprocessing(Protocol):
    """A pure function of features and of draws made on the host, the same in both frameworks.

    What is random in it (augmentation) is drawn with NumPy from (seed, round, client), a few
    integers an example; the pixels are computed where the model is trained.

    Attributes:
        num_draws: Integers drawn for an example each time that it is trained on, 0 for none.
    """

    @property
    def num_draws(self) -> int:
        """See the class."""
        ...

    def output_shape(self, stored_shape: tuple[int, ...]) -> tuple[int, ...]:
        """Returns the shape of a model input, of the shape of an example as it is stored."""
        ...

    def draws(self, round_number: int, client: int, shape: tuple[int, ...]) -> np.ndarray:
        """Returns the draws of a client's visits to its examples, a pure function.

        Args:
            round_number: Round t, from 1.
            client: Client id.
            shape: Shape of `LocalTraining.order` for that client and round.

        Returns:
            `int32 [*shape, num_draws]`, for the visits in their order.
        """
        ...

    def in_jax(self, features: Any, draws: Any | None) -> Any:
        """Returns model inputs `float32` (ids stay integers) of features `[n, ...]`.

        Args:
            features: As stored.
            draws: `int32 [n, num_draws]` in training, `None` in evaluation.
        """
        ...

    def in_tf(self, features: Any, draws: Any | None) -> Any:
        """As `in_jax`, in TensorFlow."""
        ...
