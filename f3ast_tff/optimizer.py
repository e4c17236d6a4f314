"""Client and server optimizers, as values that every engine understands."""

from __future__ import annotations

from dataclasses import dataclass

OPTIMIZERS = ("sgd", "adam")


@dataclass(frozen=True)
class Optimizer:
    """An optimizer and its constants, with the semantics of `tff.learning.optimizers`.

    Attributes:
        name: One of `OPTIMIZERS`.
        learning_rate: Above 0.
        beta_1: Decay of Adam's first moment, in [0, 1).
        beta_2: Decay of Adam's second moment, in [0, 1).
        epsilon: Added to the root of Adam's (not bias-corrected) second moment, as in TFF.
        clip_norm: Global norm that gradients are clipped to before the step, or `None`.
    """

    name: str
    learning_rate: float
    beta_1: float = 0.9
    beta_2: float = 0.999
    epsilon: float = 1e-7
    clip_norm: float | None = None

    def __post_init__(self) -> None:
        if self.name not in OPTIMIZERS:
            raise ValueError(f"optimizer {self.name!r}: must be one of {', '.join(OPTIMIZERS)}")
