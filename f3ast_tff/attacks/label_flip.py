"""Attackers that train on wrong labels."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from f3ast_tff.attacks.attack import AttackConfig
from f3ast_tff.core.errors import ParameterError
from f3ast_tff.settings import register


@register(
    "attack",
    "label_flip",
    "Label flip",
    about="attackers train on the label C - 1 - y in place of y, of C classes",
    order=3,
)
@dataclass(frozen=True)
class LabelFlip(AttackConfig):
    """Attackers train on the label C - 1 - y in place of y; their test labels stay.

    Examples:
        >>> import numpy as np
        >>> from f3ast_tff.attacks import LabelFlip
        >>> LabelFlip().labels(np.array([0, 3, -1]), num_classes=10).tolist()
        [9, 6, -1]
    """

    changes_labels: ClassVar[bool] = True

    def labels(self, labels: np.ndarray, num_classes: int) -> np.ndarray:
        if not num_classes:
            allowed = "must be another with labels that are values, not classes"
            raise ParameterError("attack", "label_flip", allowed)
        flipped = np.where(labels < 0, labels, num_classes - 1 - labels)
        return flipped.astype(labels.dtype)
