"""Tasks: federated data sets with preprocessing and published values.

Installed as `f3ast_tff.datasets`; in the checkout, the folder `datasets`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from f3ast_tff.core.lazy_names import lazy_names

if TYPE_CHECKING:
    from .cifar10 import CIFAR10, CIFAR10OneClass
    from .cifar100 import CIFAR100
    from .file import FileTask
    from .mnist import MNIST
    from .shakespeare import Shakespeare
    from .synthetic import LeafSynthetic, Synthetic, SyntheticLinear
    from .task import TaskConfig

__all__ = [
    "CIFAR10",
    "CIFAR100",
    "CIFAR10OneClass",
    "FileTask",
    "LeafSynthetic",
    "MNIST",
    "Shakespeare",
    "Synthetic",
    "SyntheticLinear",
    "TaskConfig",
]

__getattr__, __dir__ = lazy_names(__name__)
