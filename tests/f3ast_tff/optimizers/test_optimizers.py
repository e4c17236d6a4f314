"""Optimizers in both frameworks, compared with `tff.learning.optimizers`' formulas by hand."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from benchmarks.tiny import engine_parts, tiny_data
from f3ast_tff.core.errors import ParameterError
from f3ast_tff.core.local_training import LocalTraining
from f3ast_tff.core.schedules import client_schedule
from f3ast_tff.methods.parts.strategy import Cohort
from f3ast_tff.optimizers import (
    Adagrad,
    Adam,
    Geometric,
    Inverse,
    InverseSqrt,
    Optimizer,
    Schedule,
    Sgd,
    Yogi,
)
from f3ast_tff.optimizers.adaptive import AmsGrad
from f3ast_tff.optimizers.optimizer import OptimizerConfig
from f3ast_tff.settings import builtin_registry, register
from f3ast_tff.settings.configuration import Settings
from f3ast_tff.settings.resolve import resolve
from f3ast_tff.simulation import simulate

GRADIENTS = [np.array([1.0, -2.0]), np.array([0.5, 2.0]), np.array([0.0, 0.1])]
Steps = Callable[[Optimizer, list], np.ndarray]


def tff_steps(optimizer: Optimizer, gradients: list[np.ndarray]) -> np.ndarray:
    import tensorflow as tf

    from f3ast_tff.engines.tff.learning_process import build_optimizer

    built = build_optimizer(optimizer)
    weights = tf.zeros(2)
    state = built.initialize(tf.TensorSpec([2], tf.float32))
    for gradient in gradients:
        state, weights = built.next(state, weights, tf.constant(gradient, tf.float32))
    return weights.numpy()


def jax_steps(optimizer: Optimizer, gradients: list[np.ndarray]) -> np.ndarray:
    import jax.numpy as jnp

    from f3ast_tff.engines.jax.optimizers import JaxOptimizer

    built = JaxOptimizer(optimizer)
    weights = [np.zeros(2, np.float32)]
    state = built.init(weights)
    for gradient in gradients:
        gradients = [jnp.asarray(gradient, jnp.float32)]
        state, weights = built.update(state, weights, gradients, built.learning_rate)
    return np.asarray(weights[0])


@pytest.fixture(params=[pytest.param(tff_steps, marks=pytest.mark.tff), jax_steps])
def steps(request: pytest.FixtureRequest) -> Steps:
    return request.param


def test_sgd(steps: Steps) -> None:
    np.testing.assert_allclose(steps(Sgd(0.5), GRADIENTS[:2]), [-0.75, 0.0])


def test_momentum(steps: Steps) -> None:
    """v1 = (1, -2); v2 = 0.9 v1 + (0.5, 2) = (1.4, 0.2); w = -0.5 (v1 + v2)."""
    got = steps(Sgd(0.5, momentum=0.9), GRADIENTS[:2])
    np.testing.assert_allclose(got, [-1.2, 0.9], rtol=1e-6)


def test_gradients_are_clipped_to_the_global_norm(steps: Steps) -> None:
    """(3, 4) has norm 5 and is scaled to (0.6, 0.8); (0.3, 0.4) stays as it is."""
    clipped = Sgd(1.0, clip_norm=1.0)
    np.testing.assert_allclose(steps(clipped, [np.array([3.0, 4.0])]), [-0.6, -0.8], rtol=1e-6)
    np.testing.assert_allclose(steps(clipped, [np.array([0.3, 0.4])]), [-0.3, -0.4], rtol=1e-6)
    # The norm overflows: the result is NaN, since a step of 0 would count as a step.
    assert np.isnan(steps(clipped, [np.array([1e30, 1e30])])).all()


def adaptive(second_moment: Callable, initial: float) -> np.ndarray:
    """Step lr sqrt(1 - b2^t) / (1 - b1^t) m / (sqrt(v) + eps), eps on the uncorrected root."""
    m, v, w = np.zeros(2), np.full(2, initial), np.zeros(2)
    for t, g in enumerate(GRADIENTS, start=1):
        m, v = 0.9 * m + 0.1 * g, second_moment(v, g)
        w = w - 0.1 * np.sqrt(1 - 0.99**t) / (1 - 0.9**t) * m / (np.sqrt(v) + 0.01)
    return w


def test_adam(steps: Steps) -> None:
    expected = adaptive(lambda v, g: 0.99 * v + 0.01 * g**2, 0.0)
    got = steps(Adam(0.1, beta_2=0.99, epsilon=0.01), GRADIENTS)
    np.testing.assert_allclose(got, expected, rtol=1e-5)


def test_yogi(steps: Steps) -> None:
    expected = adaptive(lambda v, g: v + 0.01 * np.sign(g**2 - v) * g**2, 0.5)
    optimizer = Yogi(0.1, beta_2=0.99, epsilon=0.01, initial_accumulator=0.5)
    np.testing.assert_allclose(steps(optimizer, GRADIENTS), expected, rtol=1e-5)


def test_adagrad(steps: Steps) -> None:
    """v sums squares; the step is lr g / sqrt(v + eps), with eps under the root."""
    v, expected = np.full(2, 0.5), np.zeros(2)
    for g in GRADIENTS:
        v = v + g**2
        expected = expected - 0.1 * g / np.sqrt(v + 0.01)
    optimizer = Adagrad(0.1, epsilon=0.01, initial_accumulator=0.5)
    np.testing.assert_allclose(steps(optimizer, GRADIENTS), expected, rtol=1e-5)


def test_amsgrad(steps: Steps) -> None:
    """b1 = 1/2, b2 = 3/4, eps = 1, rate 1, no bias correction.

    First weight, g = 4, 0, 4: m = 2, 1, 5/2 and v = 4, 3, 25/4, so v_max = 4, 4, 25/4. Steps are
    2 / (2 + 1), 1 / (2 + 1) and 5/2 / (5/2 + 1). Second weight, g = 0, 8, 0: m = 0, 4, 2 and
    v_max = 0, 16, 16. Steps are 0, 4 / (4 + 1) and 2 / (4 + 1).
    """
    optimizer = AmsGrad(1.0, beta_1=0.5, beta_2=0.75, epsilon=1.0)
    gradients = [np.array([4.0, 0.0]), np.array([0.0, 8.0]), np.array([4.0, 0.0])]
    for number, expected in enumerate(([-2 / 3, 0], [-1, -0.8], [-1 - 5 / 7, -1.2]), start=1):
        np.testing.assert_allclose(steps(optimizer, gradients[:number]), expected, rtol=1e-6)


def test_defaults_are_the_papers_constants() -> None:
    """Adam's betas are 0.9 and 0.999 (App. C); gradients are only clipped on request (R18)."""
    for optimizer in (Adam(0.1), Yogi(0.1)):
        assert (optimizer.beta_1, optimizer.beta_2, optimizer.clip_norm) == (0.9, 0.999, None)


@pytest.mark.parametrize("momentum", [0.0, 0.9])
def test_sgd_is_exactly_its_formula(momentum: float) -> None:
    """Bit for bit in float32, with a rate known to XLA and with an unknown one."""
    import jax

    from f3ast_tff.engines.jax.optimizers import JaxOptimizer

    rng = np.random.default_rng(0)
    gradients = rng.normal(size=(5, 1000)).astype(np.float32)
    built = JaxOptimizer(Sgd(0.03, momentum=momentum))

    @jax.jit
    def by_hand(w: Any, v: Any, g: Any, rate: Any) -> Any:
        v = momentum * v + g
        return w - rate * v, v

    step = jax.jit(lambda *of_step: built.update(*of_step, 0.03))
    free = jax.jit(built.update)
    expected, velocity = np.zeros(1000, np.float32), np.zeros(1000, np.float32)
    one = other = [expected]
    state = state_of_other = built.init(one)
    for g in gradients:
        expected, velocity = by_hand(expected, velocity, g, np.float32(0.03))
        state, one = step(state, one, [g])
        state_of_other, other = free(state_of_other, other, [g], np.float32(0.03))
        np.testing.assert_array_equal(one[0], expected)
        np.testing.assert_array_equal(other[0], expected)


@dataclass(frozen=True)
class Signs(Optimizer):
    """An external optimizer with a JAX form only."""

    def in_jax(self, learning_rate: Any) -> Any:
        import optax

        return optax.sign_sgd(learning_rate)


@register("client_optimizer", "signs", about="steps along the signs of the gradient")
@dataclass(frozen=True)
class SignsConfig(OptimizerConfig):
    def build(self) -> Signs:
        return Signs(0.1)


def test_own_optimizer_runs_where_it_has_a_form() -> None:
    from f3ast_tff.engines.jax.engine import FusedEngine

    parts = engine_parts(
        tiny_data(), LocalTraining(4), client=Signs(0.1, schedule=Geometric(0.5), clip_norm=1.0)
    )
    engine = FusedEngine(parts, device="cpu")
    (outcome,) = engine.run_rounds(2, [Cohort(np.array([1]), np.ones(1))])
    assert not outcome.rejected
    # Three steps of 0.05, in either direction.
    assert np.abs(engine.weights()[0] * 20).max() == pytest.approx(3, abs=1e-5)
    SignsConfig().check(Settings.of({"engine": "fused"}))


def test_own_optimizer_is_refused_where_it_has_none() -> None:
    with pytest.raises(ParameterError, match="^client_optimizer = signs: defines no in_tff"):
        SignsConfig().check(Settings.of({"engine": "tff"}))
    with pytest.raises(ParameterError, match="^engine = tff: Signs defines no in_tff"):
        Signs(0.1).in_tff()


@pytest.mark.parametrize("kind", ["client_optimizer", "server_optimizer"])
def test_configurations_hand_every_parameter_on(kind: str) -> None:
    for component in builtin_registry().components[kind].values():
        side = kind.partition("_")[0]
        values = {f"{side}_lr": 0.25, f"{side}_momentum": 0.5, "epsilon": 0.125}
        values.update(amsgrad_beta_2=0.75, sam_radius=0.375)
        names = [parameter.name for parameter in component.parameters]
        built = component.config(**{name: values[name] for name in names}).build()
        assert type(built).__name__.lower() == component.name
        assert built.learning_rate == 0.25
        assert getattr(built, "momentum", 0.5) == 0.5
        assert getattr(built, "epsilon", 0.125) == 0.125
        assert component.name != "amsgrad" or built.beta_2 == 0.75
        assert getattr(built, "radius", 0.375) == 0.375


INVERSE_SQRT = {"client_lr": 0.1, "client_lr_schedule": "inverse_sqrt"}


@pytest.mark.parametrize(
    ("schedule", "expected"),
    [
        (Schedule(), [1, 1, 1, 1]),
        (Geometric(0.5), [1, 1 / 2, 1 / 4, 2**-30]),
        # MIFA, t = 0, 1, 2, 30: 1 / (t + 1).
        (Inverse(), [1, 1 / 2, 1 / 3, 1 / 31]),
        (Inverse(10), [1, 10 / 11, 10 / 12, 1 / 4]),
        # FedAWE, t = 0, 1, 2, 30: 1 / sqrt(t / 10 + 1).
        (InverseSqrt(), [1, 1 / np.sqrt(1.1), 1 / np.sqrt(1.2), 1 / 2]),
        (InverseSqrt(1), [1, 1 / np.sqrt(2), 1 / np.sqrt(3), 1 / np.sqrt(31)]),
    ],
)
def test_factors_by_hand(schedule: Schedule, expected: list[float]) -> None:
    factors = [schedule.factor(t) for t in (1, 2, 3, 31)]
    np.testing.assert_allclose(factors, expected, rtol=1e-15)
    assert schedule.is_constant == (expected[1] == 1)
    assert Sgd(0.1, schedule=schedule).rate(31) == pytest.approx(0.1 * expected[-1])


def test_a_decay_of_1_is_constant() -> None:
    assert Geometric(1.0).is_constant


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({}, Schedule()),
        ({"client_lr_decay": 0.9}, Geometric(0.9)),
        ({"client_lr_schedule": "geometric", "client_lr_decay": 0.9}, Geometric(0.9)),
        ({"client_lr_schedule": "inverse"}, Inverse(1)),
        ({"client_lr_schedule": "inverse_sqrt"}, InverseSqrt(10)),
        ({"client_lr_schedule": "inverse_sqrt", "client_lr_rounds": 2}, InverseSqrt(2)),
    ],
)
def test_settings(given: dict[str, Any], expected: Schedule) -> None:
    training = resolve(given).settings.training
    found = client_schedule(
        training.client_lr_schedule,
        decay=training.client_lr_decay,
        rounds=training.client_lr_rounds,
    )
    assert found == expected


def test_a_run_follows_the_schedule() -> None:
    """By settings as by an optimizer; `run/test_interrupted.py` has one that goes on."""
    given = {"num_clients": 5, "clients_per_round": 2, "rounds": 6, "device": "cpu"}
    whole = simulate(**given, **INVERSE_SQRT)
    own = Sgd(0.1, schedule=InverseSqrt())
    for a, b in zip(whole.weights, simulate(**given, client_optimizer=own).weights):
        np.testing.assert_array_equal(a, b)
    constant = simulate(**given, client_lr=0.1)
    assert np.abs(constant.weights[0] - whole.weights[0]).max() > 1e-3
