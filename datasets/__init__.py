"""Federated data sets. Installed as `f3ast_tff.datasets`; a folder of its own in the checkout."""

from .cifar10 import cifar10, cifar10_one_class
from .cifar100 import cifar100
from .cifar100_from_tff import cifar100_from_tff
from .mnist import mnist
from .shakespeare import shakespeare
from .shakespeare_from_tff import shakespeare_from_tff
from .source import default_data_dir
from .synthetic import leaf_synthetic, synthetic, synthetic_linear

__all__ = [
    "cifar10",
    "cifar100",
    "cifar100_from_tff",
    "cifar10_one_class",
    "default_data_dir",
    "leaf_synthetic",
    "mnist",
    "shakespeare",
    "shakespeare_from_tff",
    "synthetic",
    "synthetic_linear",
]
