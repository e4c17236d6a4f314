"""LoRA of peft in a network of PyTorch: clients that come and go train and send the adapters alone.

pip install 'f3ast-tff[torch]' peft scikit-learn; python peft_adapters.py

A network learns half of scikit-learn's digits in one place. The others are mirrored, for 30 clients
of two digits each, who fine-tune adapters of rank 4 around its two matrices.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from peft import LoraConfig, get_peft_model
from sklearn.datasets import load_digits
from torch import nn

from f3ast_tff import FederatedData, Simulation, simulate
from f3ast_tff.models.factor_pairs import FactorPair
from f3ast_tff.torch import TorchModel

RANK, ALPHA = 4, 8


def pretrained(images: np.ndarray, digits: np.ndarray) -> nn.Module:
    """Returns a network trained on all images at once."""
    torch.manual_seed(0)
    network = nn.Sequential(nn.Linear(64, 32), nn.ReLU(), nn.Linear(32, 10))
    x, y = torch.tensor(images, dtype=torch.float32), torch.tensor(digits)
    adam = torch.optim.Adam(network.parameters(), 0.01)
    for _ in range(100):
        adam.zero_grad()
        nn.functional.cross_entropy(network(x), y).backward()
        adam.step()
    return network


class Adapted(TorchModel):
    """A network with adapters of peft; says which leaves are A and B of which matrix."""

    def factor_pairs(self) -> tuple[FactorPair, ...]:
        """Returns the pairs, for the setting `factors`; a base is `[outputs, inputs]`."""
        place = {name: number for number, name in enumerate(self.leaf_names())}
        return tuple(
            FactorPair(
                place[name.replace("lora_A.default", "base_layer")],
                place[name],
                place[name.replace("lora_A", "lora_B")],
                scale=ALPHA / RANK,
                transposed=False,
            )
            for name in place
            if "lora_A" in name
        )


def fine_tuned(network: nn.Module, data: FederatedData, **settings: Any) -> Simulation:
    """Returns a run that trains and sends the adapters alone."""
    torch.manual_seed(0)
    config = LoraConfig(r=RANK, lora_alpha=ALPHA, target_modules=["0", "2"])
    model = Adapted(get_peft_model(network, config))
    given: dict[str, Any] = {
        "algorithm": "f3ast",
        "availability": "smartphones",
        "constraint": 5,
        "client_lr": 0.1,
        "local_epochs": 2,
        **settings,
    }
    return simulate(data, model=model, train="lora_A,lora_B", **given)


def main(rounds: int = 60, **settings: Any) -> tuple[float, float]:
    """Prints and returns accuracies on mirrored digits: of the network, and after fine-tuning."""
    images, digits = load_digits(return_X_y=True)
    images = images / 16
    network = pretrained(images[::2], digits[::2])
    images = images[1::2].reshape(-1, 8, 8)[:, :, ::-1].reshape(-1, 64)
    digits, number = digits[1::2], np.arange(len(images))
    # Client k holds parts of the digits k mod 10 and k + 1 mod 10.
    clients = (digits - number % 2) % 10 + 10 * (number % 3)
    data = FederatedData.from_arrays(images, digits, clients, test=0.2)
    with torch.no_grad():
        guesses = network(torch.tensor(images, dtype=torch.float32)).argmax(dim=1).numpy()
    before = float((guesses == digits).mean())
    result = fine_tuned(network, data, rounds=rounds, **settings)
    last = result.metrics.iloc[-1]
    after = float(last["test_sample_accuracy"])
    sent = last["bytes_up"] / 1024
    print(f"before {before:.3f}, after {after:.3f}; clients sent {sent:.0f} KiB")
    return before, after


if __name__ == "__main__":
    main()
