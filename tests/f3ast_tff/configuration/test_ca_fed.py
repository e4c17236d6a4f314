"""What CA-Fed's server is told, by settings."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from f3ast_tff import datasets
from f3ast_tff.configuration.build import build_availability, build_strategy
from f3ast_tff.configuration.resolve import resolve
from f3ast_tff.errors import SettingError
from f3ast_tff.estimation import trained_minima
from f3ast_tff.models import SoftmaxRegression
from f3ast_tff.preprocessing import AsStored
from f3ast_tff.selection.strategy import no_losses

N = 8
P = np.full(N, 1 / N)
SIZES = np.full(N, 50)


def strategy(**given: Any) -> tuple[Any, Any]:
    settings = resolve({"num_clients": N, "clients_per_round": N, "algorithm": "ca_fed", **given})
    world = build_availability(settings, P)
    return build_strategy(settings, P, SIZES, world), world


def test_oracle_knows_the_chains() -> None:
    made, world = strategy(availability="markov")
    np.testing.assert_allclose(made.activity.pi, world.stationary)
    np.testing.assert_allclose(made.activity.eigenvalue, world.eigenvalue)


def test_independent_clients_have_no_memory() -> None:
    made, _ = strategy(availability="home_devices")
    np.testing.assert_array_equal(made.activity.eigenvalue, 0)


def test_estimates_start_from_the_history() -> None:
    """Of 400 rounds of pi = 0.9 and 0.1 the estimate is nearer to the truth than 1/2 is."""
    fresh, world = strategy(availability="markov", activity="estimated")
    np.testing.assert_array_equal(fresh.activity.pi, 0.5)
    made, _ = strategy(availability="markov", activity="estimated", activity_history=400)
    assert np.all(np.abs(made.activity.pi - world.stationary) < 0.3)


def test_oracle_knows_the_clusters() -> None:
    made, world = strategy(
        availability="markov_clusters", cluster_pi="0.9,0.1", cluster_eigenvalues="0,0.5"
    )
    np.testing.assert_allclose(made.activity.pi, [0.9] * 4 + [0.1] * 4)
    np.testing.assert_allclose(made.activity.eigenvalue, [0] * 4 + [0.5] * 4)
    assert made.activity.pi.shape == world.mask(1).shape


def test_oracle_of_what_nobody_knows_is_refused() -> None:
    with pytest.raises(SettingError, match="--activity=oracle: is not known of smartphones"):
        strategy(availability="smartphones")


@pytest.mark.parametrize(
    ("which", "factor", "strict"), [("paper", 4, True), ("released", 1, False)]
)
def test_readings_of_equation_16(which: str, factor: float, strict: bool) -> None:
    made, _ = strategy(availability="markov", ca_fed_bias=which, kappa2=3.0, tau=0.5)
    assert (made.bias_factor, made.strict, made.kappa2, made.tau) == (factor, strict, 3, 0.5)


@pytest.mark.parametrize(
    ("algorithm", "name"),
    [
        ("unbiased", "Unbiased"),
        ("more_available", "MoreAvailable"),
        ("adafed", "AdaFed"),
        ("ca_fed", "CAFed"),
    ],
)
def test_algorithms_are_their_strategies(algorithm: str, name: str) -> None:
    made, _ = strategy(algorithm=algorithm, availability="markov")
    assert type(made).__name__ == name


@pytest.mark.parametrize("algorithm", ["f3ast", "f3ast_adam"])
def test_f3ast_in_the_reading_of_ca_feds_authors(algorithm: str) -> None:
    """Another rule, by its preset or by its own setting, with K as given."""
    given = {"algorithm": algorithm, "availability": "markov", "clients_per_round": 3}
    assert type(strategy(**given)[0]).__name__ == "F3AST"
    for reading in ({"reading": "ca_fed"}, {"f3ast_rule": "ca_fed"}):
        made, world = strategy(**given, rate_beta=0.25, **reading)
        assert type(made).__name__ == "CAFedF3AST"
        assert made.beta == 0.25
        np.testing.assert_allclose(made.activity.pi, world.stationary)
        cohort = made.select(1, np.ones(N, bool), 3, no_losses)
        assert cohort.ids.tolist() == [4, 5, 6]


def test_that_reading_changes_ca_fed_too() -> None:
    made, _ = strategy(availability="markov", reading="ca_fed")
    assert (made.bias_factor, made.strict) == (1, False)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"rate_clusters": 2}, "--rate_clusters=2: must not be given with f3ast_rule=ca_fed"),
        ({"aggregate": "sum_over_k"}, "--aggregate=sum_over_k: must be sum with f3ast_rule=ca_fed"),
        (
            {"reading": "released", "aggregate": "sum"},
            "--short_rounds=fill_unavailable: must be available_only with f3ast_rule=ca_fed",
        ),
        ({"algorithm": "unbiased"}, "--f3ast_rule=ca_fed: is of f3ast, f3ast_adam; the algorithm"),
    ],
)
def test_what_that_rule_would_pass_over_is_refused(given: dict[str, Any], message: str) -> None:
    with pytest.raises(SettingError) as error:
        resolve({"algorithm": "f3ast", "f3ast_rule": "ca_fed", **given})
    assert str(error.value).startswith(message)


def test_trained_minima_are_those_of_the_tasks_clients() -> None:
    """Each the loss of a client's own best model, on its training data; running ones start at 0."""
    pytest.importorskip("scipy")
    given = {"task": "leaf_synthetic", "availability": "markov"}
    running, _ = strategy(**given)
    np.testing.assert_array_equal(running.loss_estimates.minima, 0)
    made, _ = strategy(**given, loss_minima="trained")
    data, model = datasets.leaf_synthetic(N, 0.5, 0.5, 0), SoftmaxRegression(60, 10, 0.01)
    expected = trained_minima(model, AsStored(), data.train)
    assert np.all(expected > 0)
    np.testing.assert_array_equal(made.loss_estimates.minima, expected)


@pytest.mark.parametrize(
    ("task", "message"),
    [
        ("cifar10", "--model=cafed_cnn: must be softmax_regression with loss_minima=trained"),
        ("synthetic", "--ridge=0.0: must be above 0 with loss_minima=trained"),
    ],
)
def test_minima_that_cannot_be_trained_are_refused(task: str, message: str) -> None:
    with pytest.raises(SettingError) as error:
        resolve({"task": task, "algorithm": "ca_fed", "loss_minima": "trained"})
    assert str(error.value) == message
