"""A client's work with `TorchModel` over a plain PyTorch loop on the same batches, in turns.

    .venv-torch/bin/python -m benchmarks.torch_client

One thread. The client has 200 examples, batches of 20, 5 epochs; a line per network.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np
import torch
from torch import nn

from benchmarks.timing import interleaved, machine
from f3ast_tff.core.randomness import generator
from f3ast_tff.models.training_function import Examples, Work
from f3ast_tff.optimizers import Sgd
from f3ast_tff.torch import TorchModel

REPEATS = 31
NUM_EXAMPLES, BATCH, EPOCHS, RATE = 200, 20, 5, 0.05


def softmax() -> nn.Module:
    """Returns softmax regression from 60 numbers to ten classes."""
    return nn.Linear(60, 10)


def cnn() -> nn.Module:
    """Returns two convolutions and a linear layer, for images of 28 x 28 and ten classes."""
    return nn.Sequential(
        nn.Sequential(nn.Conv2d(1, 16, 3), nn.ReLU(), nn.MaxPool2d(2)),
        nn.Sequential(nn.Conv2d(16, 32, 3), nn.ReLU(), nn.MaxPool2d(2)),
        nn.Sequential(nn.Flatten(), nn.Linear(800, 10)),
    )


NETWORKS: dict[str, tuple[Callable[[], nn.Module], tuple[int, ...]]] = {
    "softmax regression": (softmax, (60,)),
    "CNN, 28 x 28": (cnn, (1, 28, 28)),
}


def by_hand(module: nn.Module, start: list[torch.Tensor], data: Examples, work: Work) -> None:
    """Trains a client as a plain loop does; tensors are made beforehand."""
    with torch.no_grad():
        for parameter, first in zip(module.parameters(), start, strict=True):
            parameter.copy_(first)
    features, labels = torch.from_numpy(data.features), torch.from_numpy(data.labels)
    step = torch.optim.SGD(module.parameters(), RATE)
    for row in torch.from_numpy(work.order):
        for first in range(0, len(row), BATCH):
            batch = row[first : first + BATCH]
            loss = nn.functional.cross_entropy(module(features[batch]), labels[batch])
            step.zero_grad()
            loss.backward()
            step.step()


def main() -> None:
    """Prints a line per network."""
    torch.set_num_threads(1)
    print(machine(), "PyTorch", torch.__version__)
    for name, (make, shape) in NETWORKS.items():
        own, hand = (1e3 * seconds for seconds in _seconds(make, shape))
        print(f"{name}: TorchModel {own:.2f} ms, by hand {hand:.2f} ms, ratio {own / hand:.2f}")


def _seconds(make: Callable[[], nn.Module], shape: tuple[int, ...]) -> tuple[float, float]:
    rng = generator(0, "torch client")
    features = rng.normal(size=(NUM_EXAMPLES, *shape)).astype(np.float32)
    data = Examples(features, rng.integers(0, 10, NUM_EXAMPLES))
    order = np.array([rng.permutation(NUM_EXAMPLES) for _ in range(EPOCHS)])
    work = Work(0, 1, BATCH, EPOCHS, None, RATE, Sgd(RATE), order=order, seed=0)
    model, plain = TorchModel(make()), make()
    start = [parameter.detach().clone() for parameter in plain.parameters()]
    weights = model.initial(0)
    seconds = interleaved(
        {
            "own": lambda _: model.train(weights, data, work),
            "hand": lambda _: by_hand(plain, start, data, work),
        },
        REPEATS,
        clock=time.process_time,
    )
    return seconds["own"], seconds["hand"]


if __name__ == "__main__":
    main()
