"""Tasks: federated data sets with preprocessing and published values.

Installed as `f3ast_tff.datasets`; in the checkout, the folder `datasets`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from f3ast_tff.core.lazy_names import lazy_names

if TYPE_CHECKING:
    from .cifar10 import CIFAR10 as CIFAR10
    from .cifar10 import CIFAR10OneClass as CIFAR10OneClass
    from .cifar100 import CIFAR100 as CIFAR100
    from .file import FileTask as FileTask
    from .mnist import MNIST as MNIST
    from .shakespeare import Shakespeare as Shakespeare
    from .synthetic import LeafSynthetic as LeafSynthetic
    from .synthetic import Synthetic as Synthetic
    from .synthetic import SyntheticLinear as SyntheticLinear
    from .task import TaskConfig as TaskConfig

__getattr__, __dir__ = lazy_names(__name__)
