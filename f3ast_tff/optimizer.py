"""Client and server optimizers, as values that every engine understands."""

from __future__ import annotations

from dataclasses import dataclass

OPTIMIZERS = ("sgd", "adam", "yogi", "adagrad")


@dataclass(frozen=True)
class Optimizer:
    """An optimizer and its constants, with the semantics of `tff.learning.optimizers`.

    Attributes:
        name: One of `OPTIMIZERS`, those of Reddi et al.
        learning_rate: Above 0.
        momentum: Of SGD, in [0, 1); 0 for none.
        beta_1: Decay of the first moment of Adam and Yogi, in [0, 1).
        beta_2: Decay of their second moment, in [0, 1).
        epsilon: Added to the root of the (not bias-corrected) second moment in Adam and Yogi,
            under the root in Adagrad; as in TFF.
        initial_accumulator: What the second moment starts from in Yogi and Adagrad.
        clip_norm: Global norm that gradients are clipped to before the step, or `None`.
        decay: Factor of the learning rate from round to round, in (0, 1]; of a client's
            optimizer alone.
    """

    name: str
    learning_rate: float
    momentum: float = 0.0
    beta_1: float = 0.9
    beta_2: float = 0.999
    epsilon: float = 1e-7
    initial_accumulator: float = 1e-6
    clip_norm: float | None = None
    decay: float = 1.0

    def __post_init__(self) -> None:
        if self.name not in OPTIMIZERS:
            raise ValueError(f"optimizer {self.name!r}: must be one of {', '.join(OPTIMIZERS)}")

    def rate(self, round_number: int) -> float:
        """Returns the learning rate of round t, from 1."""
        return self.learning_rate * self.decay ** (round_number - 1)
