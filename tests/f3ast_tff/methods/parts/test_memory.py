"""Averages that stay accurate, in NumPy and in JAX, and declarations of memories."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from f3ast_tff.core.errors import ParameterError
from f3ast_tff.core.local_training import LocalTraining
from f3ast_tff.engines.engine import EngineParts
from f3ast_tff.methods.parts.aggregation import Aggregation
from f3ast_tff.methods.parts.memory import (
    added,
    initial_server,
    renewed,
    server_names,
    use_of_start,
)
from tests.f3ast_tff.engines.tiny import engine_parts, tiny_data
from tests.f3ast_tff.methods.every_memory import EVERY

N, SIZE, ROUNDS = 7, 4, 10_000
P = np.array([0.3, 0.05, 0.1, 0.2, 0.15, 0.12, 0.08])


def long_history() -> tuple[np.ndarray, np.ndarray]:
    """One client and its update per round, of sizes 1e-3 to 1e3; the last N are small."""
    rng = np.random.default_rng(2)
    scale = 10.0 ** rng.uniform(-3, 3, ROUNDS)
    scale[-N:] = 1e-3
    ids = rng.integers(N, size=ROUNDS)
    ids[-N:] = np.arange(N)
    return ids, (scale[:, None] * rng.normal(size=(ROUNDS, SIZE))).astype(np.float32)


def in_numpy(ids: np.ndarray, updates: np.ndarray) -> tuple[Any, Any]:
    """Returns the average and its rounding error."""
    share, table = P.astype(np.float32), np.zeros((N, SIZE), np.float32)
    pair = (np.zeros(SIZE, np.float32), np.zeros(SIZE, np.float32))
    for k, update in zip(ids.tolist(), updates):
        pair = renewed(pair, share[k], table[k], update)
        table[k] = update
    return pair


def in_jax(ids: np.ndarray, updates: np.ndarray) -> tuple[Any, Any]:
    """The same, compiled."""
    import jax
    import jax.numpy as jnp

    share = jnp.asarray(P, jnp.float32)

    def step(so_far: Any, now: Any) -> Any:
        pair, table = so_far
        k, update = now
        return (renewed(pair, share[k], table[k], update), table.at[k].set(update)), None

    start = ((jnp.zeros(SIZE), jnp.zeros(SIZE)), jnp.zeros((N, SIZE)))
    run = jax.jit(lambda start, history: jax.lax.scan(step, start, history)[0])
    (average, error), _ = jax.device_get(run(start, (ids, updates)))
    return average, error


@pytest.mark.parametrize("kept", [in_numpy, in_jax])
def test_average_is_accurate_after_ten_thousand_rounds(kept: Any) -> None:
    """Compared with a recomputation in double precision from the remembered updates.

    Updates reached 4e3 and end at 1e-3. So a float32 sum keeps errors of about 1e-4 of past
    updates, and is wrong in its second digit. Two parts together are right up to the rounding of
    p_j and of each p_j y_j; so is the first part alone.
    """
    ids, updates = long_history()
    average, error = kept(ids, updates)
    assert average.dtype == error.dtype == np.float32
    table = np.zeros((N, SIZE))
    table[ids] = updates
    exact = P @ table
    rounding = 2.0**-22 * (P @ np.abs(table))
    assert np.all(np.abs(average.astype(np.float64) + error - exact) < rounding)
    assert np.all(np.abs(average - exact) < rounding)

    single, now = np.zeros(SIZE, np.float32), np.zeros((N, SIZE), np.float32)
    for k, update in zip(ids, updates):
        single += np.float32(P[k]) * (update - now[k])
        now[k] = update
    assert np.abs(single - exact).max() > 100 * rounding.max()


def test_a_sum_in_two_parts_keeps_what_rounding_drops() -> None:
    """1 + 1e-8 ten thousand times is 1 + 1e-4; float32 alone would stay at 1."""
    pair = (np.ones(1, np.float32), np.zeros(1, np.float32))
    for _ in range(10_000):
        pair = added(pair, np.full(1, 1e-8, np.float32))
    assert float(pair[0][0]) == pytest.approx(1.0001, abs=1e-7)
    assert float(pair[0][0]) + float(pair[1][0]) == pytest.approx(1.0001, abs=1e-11)


@pytest.mark.parametrize("name", ["mifa", "mifa_waits", "scaffold", "amplified_scaffold"])
def test_server_starts_from_nothing_or_the_model(name: str) -> None:
    memory, model = EVERY[name].memory, np.array([1.0, 2.0], np.float32)
    assert memory is not None
    values = initial_server(memory, model, np)
    assert list(values) == server_names(memory)
    for key, value in values.items():
        expected = model if key == "period_start" else 0 * model[: np.size(value)]
        np.testing.assert_array_equal(value, expected.reshape(np.shape(value)))
        # A value must not change with the model.
        assert value is not model and value.dtype == np.float32


@pytest.mark.parametrize(
    ("name", "used"),
    [
        ("mifa", {"shift"}),
        ("mimic", {"shift"}),
        ("fedawe", {"model", "scale", "shift"}),
        ("scaffold", {"offset"}),
        ("amplified_fedavg", set()),
        ("amplified_scaffold", {"offset"}),
        ("focus", {"offset"}),
    ],
)
def test_what_crosses_to_clients(name: str, used: set[str]) -> None:
    memory = EVERY[name].memory
    assert memory is not None
    start = use_of_start(memory)._asdict()
    assert {part for part, value in start.items() if value is not None} == used


@pytest.mark.parametrize("aggregation", EVERY.values(), ids=EVERY)
def test_no_engine_without_client_shares(aggregation: Aggregation) -> None:
    with pytest.raises(ParameterError, match="p = None: must be given: .* has a memory"):
        engine_parts(tiny_data(), LocalTraining(4), aggregation=aggregation)
    parts = (tiny_data(), LocalTraining(4))
    assert isinstance(engine_parts(*parts, aggregation=aggregation, p=P[:6]), EngineParts)
    with pytest.raises(ParameterError, match="training_loss with a memory"):
        engine_parts(*parts, aggregation=aggregation, p=P[:6], client_loss="training_loss")
