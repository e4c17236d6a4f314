"""The example of peft's adapters: they alone are trained and sent, by any rule of `factors`."""

from __future__ import annotations

import runpy
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("peft", reason="in the environment of `make test-torch` alone")
EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "peft_adapters.py"
# Numbers of A and B around a 32 x 64 and a 10 x 32 matrix, at rank 4.
FACTORS, BASES = 4 * (64 + 32) + 4 * (32 + 10), 32 * 64 + 10 * 32


@pytest.fixture(scope="module")
def example() -> dict[str, Any]:
    return runpy.run_path(str(EXAMPLE))


def test_adapters_learn_mirrored_digits(example: dict[str, Any]) -> None:
    before, after = example["main"]()
    assert before < 0.5 and after > before + 0.3


@pytest.mark.parametrize(
    ("factors", "down", "moves"),
    [("changes", FACTORS, False), ("fedex", FACTORS + BASES, True), ("flora", BASES, True)],
)
def test_only_the_server_moves_the_base(
    factors: str, down: int, moves: bool, example: dict[str, Any]
) -> None:
    network = example["pretrained"](np.eye(10, 64), np.arange(10))
    data = example["FederatedData"].from_arrays(
        np.eye(10, 64, dtype=np.float32), np.arange(10)[::-1], np.arange(10) % 5, test=None
    )
    settings = {"rounds": 1, "availability": "always", "factors": factors}
    run = example["fine_tuned"](network, data, **settings)
    last = run.metrics.iloc[-1]
    assert last["bytes_up"] == 4 * 5 * FACTORS and last["bytes_down"] == 4 * 5 * down
    names = dict(zip(run.model.leaf_names(), run.weights))
    kernel = names["base_model.model.2.base_layer.weight"]
    assert (not np.array_equal(kernel, network[2].weight.detach().numpy())) == moves
    bias = names["base_model.model.2.base_layer.bias"]
    np.testing.assert_array_equal(bias, network[2].bias.detach().numpy())
    assert names["base_model.model.2.lora_B.default.weight"].any() == (factors != "flora")
