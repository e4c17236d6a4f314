"""Inputs of CA-Fed's server."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from f3ast_tff.availability import FourClassesConfig, IndependentAvailability, MarkovClustersConfig
from f3ast_tff.core.errors import ParameterError
from f3ast_tff.methods.parts.loss_estimates import trained_minima
from tests.f3ast_tff.methods.small_world import config, played, small_world

N = 8
P = np.full(N, 1 / N)


def strategy(algorithm: str, availability: Any, **given: Any) -> Any:
    return config(algorithm, **given).build(small_world(availability, p=P))


def test_oracle_knows_the_chains() -> None:
    world = FourClassesConfig().build(P, 0)
    made = strategy("ca_fed", world)
    np.testing.assert_allclose(made.knowledge.pi, world.stationary)
    np.testing.assert_allclose(made.knowledge.eigenvalue, world.eigenvalue)


def test_independent_clients_have_no_memory() -> None:
    made = strategy("ca_fed", IndependentAvailability(np.full(N, 0.3), 0))
    np.testing.assert_array_equal(made.knowledge.eigenvalue, 0)


def test_estimates_start_from_the_history() -> None:
    """After 400 rounds of pi = 0.9 and 0.1, the estimate is closer to the truth than 1/2."""
    world = FourClassesConfig().build(P, 0)
    fresh = strategy("ca_fed", world, availability_knowledge="estimated")
    np.testing.assert_array_equal(fresh.knowledge.pi, 0.5)
    made = strategy("ca_fed", world, availability_knowledge="estimated", availability_history=400)
    assert np.all(np.abs(made.knowledge.pi - world.stationary) < 0.3)


def test_oracle_knows_the_clusters() -> None:
    world = MarkovClustersConfig("0.9,0.1", "0,0.5").build(P, 0)
    made = strategy("ca_fed", world)
    np.testing.assert_allclose(made.knowledge.pi, [0.9] * 4 + [0.1] * 4)
    np.testing.assert_allclose(made.knowledge.eigenvalue, [0] * 4 + [0.5] * 4)
    assert made.knowledge.pi.shape == world.mask(1).shape


@pytest.mark.parametrize("algorithm", ["unbiased", "ca_fed"])
def test_oracle_of_what_nobody_knows_is_refused(algorithm: str) -> None:
    unknown = SimpleNamespace(stationary=None)
    with pytest.raises(
        ParameterError, match="availability_knowledge = oracle: is not known of SimpleNamespace"
    ):
        strategy(algorithm, unknown)


def test_unbiased_needs_no_eigenvalue() -> None:
    world = SimpleNamespace(stationary=np.full(N, 0.5))
    np.testing.assert_array_equal(strategy("unbiased", world).knowledge.pi, 0.5)
    with pytest.raises(ParameterError, match="must be estimated"):
        strategy("ca_fed", world)


def test_f3ast_of_ca_feds_authors_takes_the_less_available() -> None:
    world = FourClassesConfig(markov_order="blocks").build(P, 0)
    made = strategy("f3ast_of_ca_fed", world, rate_beta=0.25)
    np.testing.assert_allclose(made.knowledge.pi, world.stationary)
    cohort = played(made, 1, np.ones(N, bool), 3)
    assert cohort.ids.tolist() == [4, 5, 6]


def test_the_preset_of_ca_feds_authors_is_their_released_code() -> None:
    made = config("ca_fed", "ca_fed").build(small_world())
    assert (made.bias_factor, made.strict) == (1, False)


def test_trained_minima_are_those_of_the_clients() -> None:
    """Each is the training loss of the client's own best model; running minima start at 0."""
    pytest.importorskip("scipy")
    world = small_world()
    running = config("ca_fed").build(world)
    np.testing.assert_array_equal(running.loss_estimates.minima, 0)
    made = config("ca_fed", loss_minima="trained").build(world)
    expected = trained_minima(world.model, world.preprocessing, world.train)
    assert np.all(expected > 0)
    np.testing.assert_array_equal(made.loss_estimates.minima, expected)
