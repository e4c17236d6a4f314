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
from f3ast_tff.methods.fedstale import FedStale
from f3ast_tff.methods.mifa import Mifa
from f3ast_tff.methods.parts.aggregation import Aggregation
from f3ast_tff.methods.parts.memory import Memory
from f3ast_tff.methods.parts.strategy import Cohort
from f3ast_tff.methods.scaffold import Scaffold
from f3ast_tff.methods.sum_and_mean import WeightedMean, WeightedSum
from f3ast_tff.optimizers import Sgd
from f3ast_tff.settings import register
from f3ast_tff.settings.configuration import Settings
from f3ast_tff.settings.resolve import resolve
from tests.f3ast_tff.engines.conftest import make_engine  # noqa: F401 - a fixture
from tests.f3ast_tff.engines.distributed.workers_here import WorkersHere

WORK = LocalTraining(4, seed=3)
FEDLAAVG, SCAFFOLD = FedLaAvg(memory_from_round=1), Scaffold("mean")
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


@register("aggregation", "largest", about="the largest update, entry by entry")
@dataclass(frozen=True)
class Largest(Aggregation):
    def combine(self, updates: np.ndarray, weights: np.ndarray) -> np.ndarray:
        return updates.max(axis=0)


class Clips(Memory):
    echo_clip = 1.0


class HalfMessages(Memory):
    def message(self, client: Any, update: Any, losses: Any, now: Any) -> tuple[Any, Any]:
        return update / 2, 1.0


@register("aggregation", "halves", about="the sum of halves of updates")
@dataclass(frozen=True)
class Halves(Aggregation):
    memory = HalfMessages()


class StartLosses(HalfMessages):
    start_loss = True


@register("aggregation", "by_start_loss", about="the sum of halves, which reads losses")
@dataclass(frozen=True)
class ByStartLoss(Aggregation):
    memory = StartLosses()


@register("aggregation", "largest_clipped", about="the same with an echo_clip")
@dataclass(frozen=True)
class LargestClipped(Largest):
    memory = Clips()


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
        pytest.param("tff_in_process", 0, marks=[pytest.mark.tff, pytest.mark.long]),
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
        RulesInTff,
        aggregation_factory,
    )

    factory = aggregation_factory(RulesInTff.of(WeightedSum(), num_weights=1))
    assert isinstance(factory, ImportanceWeightedSumFactory)


@pytest.mark.parametrize(
    ("config", "settings", "message"),
    [
        (JaxAlone(), {"engine": "tff"}, "aggregation = jax_alone: defines no in_tf, so"),
        (FusedAlone(), {"engine": "tff"}, "fused_alone: only runs with engine fused"),
        (Halves(), {"engine": "host", "num_workers": 2}, "halves, which changes each client's up"),
        (
            Largest(),
            {"engine": "host", "num_workers": 2},
            "num_workers = 2: .* aggregation largest",
        ),
        (
            Largest(),
            {"engine": "fused", "delivery": "late"},
            "delivery = late: must not be late on engine fused with aggregation largest",
        ),
        (
            ByStartLoss(),
            {"engine": "host", "delivery": "late"},
            "delivery = late: must not be late with aggregation by_start_loss, which reads losses",
        ),
        (LargestClipped(), {"engine": "host"}, "no combine with an echo_clip"),
        (
            LargestClipped(),
            {"engine": "host", "private": "head"},
            "private = head: must not be given with aggregation largest_clipped: it clips",
        ),
    ],
)
def test_engines_that_cannot_execute_it_are_refused(
    config: Aggregation, settings: dict[str, Any], message: str
) -> None:
    with pytest.raises(ParameterError, match=message):
        config.check(Settings.of(settings, is_late="delivery" in settings))


def test_stacked_updates_may_be_late_elsewhere() -> None:
    for given in ({"engine": "host", "delivery": "late"}, {"engine": "fused"}):
        Largest().check(Settings.of(given, is_late="delivery" in given))


def test_losses_at_the_start_are_read_in_the_round() -> None:
    ByStartLoss().check(Settings.of({"engine": "host", "delivery": "certain"}))


def test_cohort_weights_are_summed_if_the_algorithm_divides_by_rates() -> None:
    for algorithm, expected in (("f3ast", "sum"), ("fedavg", "mean")):
        settings = resolve({"algorithm": algorithm, "aggregation": "fedprox"}).settings
        assert settings["cohort_weights"] == expected


def test_a_sum_takes_weights_for_a_sum_and_a_mean_takes_all() -> None:
    for meant_for in (WeightedSum, FedStale, FedLaAvg, Mifa):
        assert Scaffold("sum").takes_weights(meant_for)
    assert not Scaffold("sum").takes_weights(WeightedMean)
    assert Scaffold("mean").takes_weights(WeightedMean)


def test_combined_by_hand() -> None:
    """0.5 (1, 2) + 1.5 (3, -2) is (5, -2); over 2, (2.5, -1)."""
    updates, weights = np.array([[1.0, 2.0], [3.0, -2.0]]), np.array([0.5, 1.5])
    assert WeightedSum().combine(updates, weights).tolist() == [5, -2]
    assert WeightedMean().combine(updates, weights).tolist() == [2.5, -1]


@pytest.mark.parametrize("engine", ["fused", "tff"])
def test_others_are_not(engine: str) -> None:
    """A memory of the server only is allowed with workers."""
    settings = {**PLAIN_SGD, "engine": engine, "num_workers": None, "tff_runtime": "tf"}
    for config in (WeightedSum(), FEDLAAVG, SCAFFOLD):
        config.check(Settings.of(settings))
    AmplifiedFedAvg("mean").check(
        Settings.of({**settings, "client_optimizer": "adam", "num_workers": 2})
    )
    SCAFFOLD.check(
        Settings.of({key: settings[key] for key in settings if key != "client_momentum"})
    )
    if engine == "fused":
        JaxAlone().check(Settings.of(settings))
        FusedAlone().check(Settings.of(settings))
