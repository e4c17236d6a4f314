"""Sharpness-aware minimisation: FedSAM (Qu et al., Caldarola et al., both 2022)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from f3ast_tff.optimizers.optimizer import Optimizer
from f3ast_tff.optimizers.sgd import ClientSgdConfig, Sgd
from f3ast_tff.settings import parameter, register

# Added to the norm, so that a gradient of 0 looks nowhere else.
_TINY = 1e-12


@dataclass(frozen=True)
class Sam(Sgd):
    """SGD along the gradient, on the same batch, at w + radius g / |g|, g the gradient at w.

    The norm is that of the whole gradient of the loss. What a method adds to gradients (an offset,
    a pull to the start) is added to the gradient of the step, at w.

    Attributes:
        radius: Distance of the place looked at, at least 0.

    Examples:
        >>> import numpy as np
        >>> from f3ast_tff.optimizers.sam import Sam
        >>> Sam(0.1, radius=0.5).look(lambda w: 2 * w, np.array([3.0, 4.0])).round(3).tolist()
        [3.3, 4.4]
    """

    radius: float = 0.05

    def look(self, find: Callable[[Any], Any], weights: Any) -> Any:
        gradient = find(weights)
        norm = (gradient**2).sum(axis=-1, keepdims=True) ** 0.5
        return weights + self.radius * (gradient / (norm + _TINY))

    in_tff = Optimizer.in_tff


@register(
    "client_optimizer",
    "sam",
    "SAM",
    about="SGD along the gradient at a place of higher loss (FedSAM)",
    order=5,
)
@dataclass(frozen=True)
class ClientSamConfig(ClientSgdConfig):
    """Configuration of `Sam`."""

    sam_radius: float = parameter(
        0.05, "distance of the place whose gradient a step of SAM takes", minimum=0, below=1e6
    )

    def build(self) -> Sam:
        return Sam(self.client_lr, momentum=self.client_momentum, radius=self.sam_radius)
