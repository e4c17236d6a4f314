"""The code for Flower on the page about LoRA does what the page's own server does."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np

from f3ast_tff.availability import Table
from tests.f3ast_tff.flower.in_process_grid import InProcessGrid

PAGE = Path(__file__).resolve().parents[3] / "docs/lora.md"
ROUNDS = 40


def test_whole_matrices_are_an_exact_product() -> None:
    _, own, flower = re.findall(r"```python\n(.*?)```", PAGE.read_text(), flags=re.DOTALL)
    names: dict[str, Any] = {}
    exec(own.partition("best = ")[0] + flower, names)
    n = names["N"]
    worlds = [np.random.default_rng([7, t]).random(n) for t in range(1, ROUNDS + 1)]
    names["strategy"]._availability = Table(np.array(worlds) < names["chance"])
    grid = InProcessGrid(names["app"], n, {})
    started = {"initial_arrays": names["initial"], "num_rounds": ROUNDS, "timeout": 60}
    (found,) = names["strategy"].start(grid, **started).arrays.to_numpy_ndarrays()
    strategy = names["F3AST"].start(names["p"], names["K"], seed=0, rate_beta=0.01)
    expected = names["train"](strategy, "flora", ROUNDS)[-1]
    np.testing.assert_allclose(found, expected, atol=1e-9)
