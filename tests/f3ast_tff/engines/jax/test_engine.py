"""Features that only the fused engine has."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from benchmarks.tiny import engine_parts, tiny_data
from f3ast_tff.core.errors import ParameterError
from f3ast_tff.core.local_training import LocalTraining
from f3ast_tff.engines.jax import programs as jax_programs
from f3ast_tff.methods.parts.aggregation import Aggregation
from f3ast_tff.methods.parts.strategy import Cohort
from f3ast_tff.methods.sum_and_mean import WeightedMean, WeightedSum
from f3ast_tff.optimizers import Adam, Sgd

WITHOUT_TENSORFLOW = """
import sys

class Refuse:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in ("tensorflow", "tensorflow_federated", "keras", "tqdm"):
            raise ImportError(name)

sys.meta_path.insert(0, Refuse())
import run_experiments
sys.exit(run_experiments.main(sys.argv))
"""


@pytest.mark.long
def test_runs_where_tensorflow_cannot_be_imported(tmp_path: Any) -> None:
    arguments = ["--engine=fused", "--device=cpu", "--rounds=3", f"--output_dir={tmp_path}"]
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT_TENSORFLOW, *arguments],
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    assert "finished: round 3" in done.stdout


def test_an_absent_device_is_a_setting_error() -> None:
    from f3ast_tff.engines.jax.devices import find_device

    with pytest.raises(ParameterError, match="device = gpu: JAX sees no such device"):
        find_device("gpu")


@pytest.mark.long
def test_few_programs_for_clients_of_every_size(make_engine: Callable[..., Any]) -> None:
    """All cohorts of 1 to 6 clients (2 to 31 steps) share one program of a round."""
    jax_programs.latest_programs.cache_clear()
    engine = make_engine("fused", tiny_data(), LocalTraining(4), Sgd(1.0), WeightedSum())
    rng = np.random.default_rng(0)
    for t in range(1, 30):
        ids = rng.choice(6, rng.integers(1, 7), replace=False)
        engine.run_rounds(t, [Cohort(ids, np.ones(len(ids)))])
    engine.evaluate()
    engine.client_losses(np.array([1, 2]))
    engine.client_losses(np.array([5]))
    assert engine._programs.traces == 3


class OwnSum(Aggregation):
    """An aggregation without value semantics: its behaviour could change behind its identity."""


@pytest.mark.long
def test_runs_of_one_composition_share_programs(make_engine: Callable[..., Any]) -> None:
    """Other rates, another aggregation, or a user's object get separate programs."""
    jax_programs.latest_programs.cache_clear()

    def traces(server: Any, aggregation: Any) -> int:
        engine = make_engine("fused", tiny_data(), LocalTraining(4), server, aggregation)
        before = engine._programs.traces
        engine.run_rounds(1, [Cohort(np.array([0, 3]), np.ones(2))])
        engine.evaluate()
        return int(engine._programs.traces - before)

    assert [traces(Sgd(1.0), WeightedSum()) for _ in range(3)] == [2, 0, 0]
    assert [traces(Sgd(0.5), WeightedSum()), traces(Sgd(0.5), WeightedMean())] == [2, 2]
    own = OwnSum()
    assert [traces(Sgd(0.5), own) for _ in range(2)] == [2, 2]


def test_two_engines_agree_bit_for_bit(make_engine: Callable[..., Any]) -> None:
    cohorts = [Cohort(np.array([0, 3, 5]), np.array([0.5, 1.7, 0.2]))] * 5
    weights = []
    for _ in range(2):
        engine = make_engine("fused", tiny_data(), LocalTraining(4), Adam(0.1), WeightedSum())
        engine.run_rounds(1, cohorts)
        weights.append(engine.weights())
    for a, b in zip(*weights):
        np.testing.assert_array_equal(a, b)


@pytest.mark.long
@pytest.mark.parametrize(("lanes", "equal"), [(2, True), (3, True), (2, False)])
def test_loops_of_known_length_compute_the_same(lanes: int, equal: bool) -> None:
    """Results equal those of one client after another; with equal sizes no step has a mask."""
    from f3ast_tff.engines.jax.engine import FusedEngine

    data = tiny_data()
    if equal:
        train = data.train
        examples = (train.features[:60], train.labels[:60], np.arange(0, 61, 10))
        data = replace(data, train=type(train)(*examples))
    optimizers = {"client": Sgd(0.1), "cohort_size": 3}
    parts = engine_parts(data, LocalTraining(4), Adam(0.1), WeightedSum(), **optimizers)
    engines = [FusedEngine(parts, device="cpu", num_lanes=number) for number in (1, lanes)]
    assert engines[1]._clients.form.equal_steps == equal
    cohorts = [Cohort(np.array(ids), np.ones(len(ids))) for ids in ([0, 3, 5], [4], [2, 1])]
    one, several = (engine.run_rounds(1, cohorts, by_client=True) for engine in engines)
    for a, b in zip(one, several):
        assert a.train_loss == pytest.approx(b.train_loss, rel=1e-6)
        np.testing.assert_allclose(a.client_losses, b.client_losses, rtol=1e-6)
        np.testing.assert_array_equal(a.delivered, b.delivered)
    for a, b in zip(*(engine.weights() for engine in engines)):
        np.testing.assert_allclose(a, b, atol=1e-6)
