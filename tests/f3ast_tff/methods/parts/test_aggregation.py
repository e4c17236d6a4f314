"""A user's aggregation: on each engine, or refused."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pytest

from benchmarks.tiny import engine_parts, tiny_data
from f3ast_tff.core.errors import ParameterError
from f3ast_tff.core.local_training import LocalTraining
from f3ast_tff.methods.amplified_fedavg import AmplifiedFedAvg
from f3ast_tff.methods.fedlaavg import FedLaAvg
from f3ast_tff.methods.parts.aggregation import Aggregation
from f3ast_tff.methods.parts.strategy import Cohort
from f3ast_tff.methods.scaffold import Scaffold
from f3ast_tff.methods.sum_and_mean import WeightedMean, WeightedSum
from f3ast_tff.optimizers import Sgd
from f3ast_tff.settings import register
from tests.f3ast_tff.engines.conftest import make_engine  # noqa: F401 - a fixture
from tests.f3ast_tff.engines.distributed.workers_here import WorkersHere

WORK = LocalTraining(4, seed=3)
FEDLAAVG, SCAFFOLD = FedLaAvg(1), Scaffold("mean")
PLAIN_SGD: dict[str, Any] = {"engine": "fused", "client_optimizer": "sgd", "client_momentum": 0.0}
COHORT = Cohort(np.array([0, 3, 5]), np.array([0.5, 1.7, 0.2]))


class PositivePart(Aggregation):
    """The positive part of each entry of the mean: another for minus the mean."""

    normalise: ClassVar[bool] = True

    def in_jax(self, delta: list[Any]) -> list[Any]:
        from jax import numpy as jnp

        return [jnp.maximum(leaf, 0) for leaf in delta]

    def in_tf(self, delta: list[Any]) -> list[Any]:
        import tensorflow as tf

        return [tf.maximum(leaf, 0) for leaf in delta]


@register("aggregation", "jax_alone", about="twice the sum")
@dataclass(frozen=True)
class JaxAlone(Aggregation):
    def in_jax(self, delta: list[Any]) -> list[Any]:
        return [2 * leaf for leaf in delta]


@register("aggregation", "fused_alone", about="the sum, on one engine")
@dataclass(frozen=True)
class FusedAlone(Aggregation):
    engines: ClassVar[tuple[str, ...]] = ("fused",)


def step(engine: Any) -> tuple[np.ndarray, float]:
    before = engine.weights()
    (outcome,) = engine.run_rounds(1, [COHORT])
    steps = [after - start for after, start in zip(engine.weights(), before)]
    return np.concatenate([leaf.ravel() for leaf in steps]), outcome.update_norm


@pytest.mark.parametrize(
    ("name", "split"),
    [
        ("fused", 0),
        ("fused", 2),
        pytest.param("tff_in_process", 0, marks=pytest.mark.tff),
        pytest.param("tff_in_process", 2, marks=pytest.mark.slow),
        pytest.param("tff", 0, marks=pytest.mark.slow),
    ],
)
def test_server_steps_along_what_it_returns(
    name: str,
    split: int,
    make_engine: Callable[..., Any],  # noqa: F811
) -> None:
    data, own = tiny_data(), (WORK, Sgd(1.0), PositivePart())
    mean, _ = step(make_engine("fused", data, WORK, Sgd(1.0), WeightedMean()))
    expected = np.maximum(mean, 0)
    options = {}
    if split:
        options = {"workers": WorkersHere.of(name, engine_parts(data, *own), split)}
    got, norm = step(make_engine(name, data, *own, **options))
    np.testing.assert_allclose(got, expected, atol=1e-5)
    assert norm == pytest.approx(np.linalg.norm(expected), rel=1e-4)


@pytest.mark.tff
def test_without_a_form_of_its_own_nothing_is_added() -> None:
    from f3ast_tff.engines.tff.learning_process import (
        ImportanceWeightedSumFactory,
        aggregation_factory,
    )

    factory = aggregation_factory(WeightedSum())
    assert isinstance(factory, ImportanceWeightedSumFactory)


@pytest.mark.parametrize(
    ("config", "settings", "message"),
    [
        (JaxAlone(), {"engine": "tff"}, "aggregation = jax_alone: defines no in_tf, so"),
        (FusedAlone(), {"engine": "tff"}, "fused_alone: only runs with engine fused"),
        (FEDLAAVG, {"engine": "fused", "num_workers": 2}, "num_workers = 2: must not be"),
        (SCAFFOLD, {"engine": "tff", "client_optimizer": "adam"}, "client_optimizer = adam: must"),
        (SCAFFOLD, {**PLAIN_SGD, "client_momentum": 0.9}, "client_momentum = 0.9: must be 0"),
        (SCAFFOLD, {**PLAIN_SGD, "num_workers": 2}, "num_workers = 2: must not be"),
    ],
)
def test_engines_that_cannot_execute_it_are_refused(
    config: Aggregation, settings: dict[str, Any], message: str
) -> None:
    with pytest.raises(ParameterError, match=message):
        config.check(settings)


@pytest.mark.parametrize("engine", ["fused", "tff"])
def test_others_are_not(engine: str) -> None:
    """A memory of the server only is allowed with workers."""
    settings = {**PLAIN_SGD, "engine": engine, "num_workers": None, "tff_runtime": "tf"}
    for config in (WeightedSum(), FEDLAAVG, SCAFFOLD):
        config.check(settings)
    AmplifiedFedAvg("mean").check({**settings, "client_optimizer": "adam", "num_workers": 2})
    if engine == "fused":
        JaxAlone().check(settings)
        FusedAlone().check(settings)
