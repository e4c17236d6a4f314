"""Noise in the shape of CIFAR: a round costs what real images cost."""

from __future__ import annotations

import numpy as np

from f3ast_tff.core.federated_data import ClientExamples, FederatedData


def noise(num_classes: int, num_clients: int = 20, size: int = 100) -> FederatedData:
    """Returns images and labels of clients with `size` examples each, for training and test."""
    rng = np.random.default_rng(0)
    n = num_clients * size
    images = rng.integers(0, 256, (n, 32, 32, 3), dtype=np.uint8)
    split = ClientExamples(images, rng.integers(0, num_classes, n), np.arange(0, n + 1, size))
    return FederatedData(split, split, num_classes)
