"""`examples/f3ast_in_numpy.py` against the fused engine: the same data, cohorts, rates, model."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from f3ast_tff import simulate

ROUNDS = 20
FILE = Path(__file__).resolve().parents[2] / "examples" / "f3ast_in_numpy.py"


@pytest.fixture(scope="module")
def plain() -> ModuleType:
    spec = importlib.util.spec_from_file_location("f3ast_in_numpy", FILE)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


@pytest.mark.long
@pytest.mark.parametrize("seed", [0, 3])
def test_it_trains_the_model_of_the_fused_engine(plain: ModuleType, seed: int) -> None:
    fused = simulate("synthetic", "f3ast", "home_devices", rounds=ROUNDS, seed=seed, data_seed=seed)
    train, test = plain.synthetic(seed)
    rounds = list(plain.f3ast(train, ROUNDS, seed))
    for t, (state, selected, weights) in enumerate(
        zip(rounds, fused.selection["selected"], fused.selection["weights"]), start=1
    ):
        assert state.number == t
        there = selected >= 0
        np.testing.assert_array_equal(state.cohort, selected[there])
        np.testing.assert_allclose(state.weights, weights[there], rtol=1e-12)
    np.testing.assert_allclose(rounds[-1].rates, fused.selection["final_rates"], rtol=1e-12)
    for ours, theirs in zip(rounds[-1].model, fused.weights):
        np.testing.assert_allclose(ours, theirs, atol=2e-5)
    final = fused.metrics["test_sample_accuracy"].iloc[-1]
    # The two may differ by about one test example, where two classes agree within rounding.
    assert plain.accuracy(rounds[-1].model, test) == pytest.approx(final, abs=2e-4)


@pytest.mark.long
def test_it_says_its_accuracy(plain: ModuleType, capsys: pytest.CaptureFixture[str]) -> None:
    plain.main(rounds=50)
    (line,) = capsys.readouterr().out.splitlines()
    assert line.startswith("round 50: test accuracy 0.")
