"""Memories: averages that stay accurate, in NumPy and in JAX, declarations, and latest updates."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from benchmarks.tiny import engine_parts, tiny_data
from f3ast_tff.core.errors import ParameterError
from f3ast_tff.core.local_training import LocalTraining
from f3ast_tff.engines.engine import EngineParts
from f3ast_tff.engines.host.rules_in_numpy import RulesInNumpy, Train, updates_of
from f3ast_tff.methods.fedlaavg import FedLaAvg
from f3ast_tff.methods.fedstale import FedStale
from f3ast_tff.methods.mifa import Mifa
from f3ast_tff.methods.parts.aggregation import Aggregation
from f3ast_tff.methods.parts.memory import (
    RoundContext,
    added,
    clipped,
    initial_server,
    renewed,
    server_names,
)
from f3ast_tff.methods.parts.strategy import Cohort
from f3ast_tff.methods.parts.update_memory import UpdateMemory
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


@pytest.mark.parametrize("aggregation", EVERY.values(), ids=EVERY)
def test_no_engine_without_client_shares(aggregation: Aggregation) -> None:
    with pytest.raises(ParameterError, match="p = None: must be given: .* has a memory"):
        engine_parts(tiny_data(), LocalTraining(4), aggregation=aggregation)
    parts = (tiny_data(), LocalTraining(4))
    assert isinstance(engine_parts(*parts, aggregation=aggregation, p=P[:6]), EngineParts)
    with pytest.raises(ParameterError, match="training_loss with a memory"):
        engine_parts(*parts, aggregation=aggregation, p=P[:6], client_loss="training_loss")


def cohort(ids: list[int] | np.ndarray, weights: np.ndarray | None = None) -> Cohort:
    """Returns a cohort, by default with weights p_k."""
    ids = np.asarray(ids, np.int64)
    return Cohort(ids, P[ids] if weights is None else weights)


NOBODY = cohort([])


def server(aggregation: Aggregation, p: np.ndarray = P, size: int = SIZE) -> RulesInNumpy:
    return RulesInNumpy(aggregation, p, np.zeros(size, np.float32))


def everybody_sends(value: float, size: int = SIZE, n: int = N) -> Train:
    return updates_of(np.full((n, size), value, np.float32))


def random_rounds(rounds: int) -> list[tuple[np.ndarray, np.ndarray]]:
    """Clients per round, and the update that each of the N would send."""
    rng = np.random.default_rng(5)
    cohorts = [rng.permutation(N)[: rng.integers(1, N + 1)] for _ in range(rounds)]
    return [(ids, rng.normal(size=(N, SIZE)).astype(np.float32)) for ids in cohorts]


def test_average_is_that_of_everybodys_latest_update() -> None:
    """FedLaAvg's eqs. (4) to (6): weights p_k, beta = 1; Delta is the average g_t itself."""
    rules, latest = server(Mifa()), np.zeros((N, SIZE))
    for t, (ids, updates) in enumerate(random_rounds(200), start=1):
        latest[ids] = updates[ids]
        delta, _ = rules.round(t, cohort(ids), updates_of(updates))
        np.testing.assert_allclose(delta, P @ latest, atol=1e-6)
        np.testing.assert_array_equal(rules.kept["client_update"], latest)
        np.testing.assert_allclose(rules.kept["server_average_update"], P @ latest, atol=3e-7)


@pytest.mark.parametrize("cohort_weights", ["sum", "mean"])
@pytest.mark.parametrize("beta", [0.0, 0.3, 1.0])
def test_delta_is_the_formula_for_any_weights(beta: float, cohort_weights: str) -> None:
    """sum_{k in S} a_k (D_k - beta y_k) + beta sum_j p_j y_j; a_k are weights, or weights over sum.

    Some cohorts hold a client twice, as with replacement.
    """
    rules, latest = server(FedStale(cohort_weights, beta)), np.zeros((N, SIZE))
    rng = np.random.default_rng(1)
    for t in range(1, 60):
        ids, weights = rng.integers(N, size=5), rng.random(5) + 0.1
        a = weights / weights.sum() if cohort_weights == "mean" else weights
        updates = rng.normal(size=(N, SIZE)).astype(np.float32)
        expected = a @ (updates[ids] - beta * latest[ids]) + beta * P @ latest
        delta, _ = rules.round(t, cohort(ids, weights), updates_of(updates))
        np.testing.assert_allclose(delta, expected, atol=3e-6)
        latest[ids] = updates[ids]


def test_updates_are_remembered_per_learning_rate() -> None:
    """Eq. (5): the present rate times g_t; with a decay, old updates must shrink too."""
    rules = server(Mifa())
    rules.round(1, cohort([0]), everybody_sends(0.5), rate=0.1)
    np.testing.assert_allclose(rules.kept["server_average_update"], 0.3 * 5, rtol=1e-6)
    delta, _ = rules.round(2, cohort([1]), everybody_sends(0.0), rate=0.02)
    np.testing.assert_allclose(delta, 0.3 * 5 * 0.02, rtol=1e-6)


def test_before_its_first_round_it_notes_and_the_model_follows_the_mean() -> None:
    """Round 2 is client 1's mean, with weight 0.05 of 0.05; from round 3 on p_0 y_0 counts."""
    rules = server(FedLaAvg(memory_from_round=3))
    first, _ = rules.round(1, cohort([0]), everybody_sends(1.0))
    second, _ = rules.round(2, cohort([1]), everybody_sends(2.0))
    nobody, advanced = rules.round(2, NOBODY, everybody_sends(0.0))
    np.testing.assert_array_equal([first, second], [np.ones(SIZE), np.full(SIZE, 2)])
    assert not nobody.any() and advanced is not None and not advanced.moves
    third, _ = rules.round(3, cohort([1]), everybody_sends(3.0))
    np.testing.assert_allclose(third, 0.3 * 1 + 0.05 * 3, rtol=1e-6)


def test_steps_when_empty_from_its_first_round_and_once_there_is_an_update() -> None:
    rules = server(FedLaAvg(memory_from_round=3))
    moves = []
    for t, ids in ((3, []), (1, [0]), (2, []), (3, []), (4, [])):
        delta, advanced = rules.round(t, cohort(ids), everybody_sends(1.0), rate=0.5)
        assert advanced is not None and advanced.keeps == bool(ids)
        moves.append(advanced.moves)
    assert moves == [False, True, False, True, True]
    np.testing.assert_allclose(delta, 0.3, rtol=1e-6)
    np.testing.assert_allclose(rules.model, 1 + 0.3 + 0.3, rtol=1e-6)


def test_of_beta_zero_nothing_is_left_in_an_empty_round() -> None:
    rules = server(FedStale("sum", 0.0))
    rules.round(1, cohort([0]), everybody_sends(1.0))
    before = rules.model.copy()
    delta, advanced = rules.round(2, NOBODY, everybody_sends(1.0))
    assert advanced is not None and not advanced.moves and not delta.any()
    np.testing.assert_array_equal(rules.model, before)


@pytest.mark.parametrize(("beta", "steps"), [(0.0, False), (0.5, True)])
def test_a_memory_that_counts_for_nothing_moves_no_server(beta: float, steps: bool) -> None:
    """A server with momentum would move along an average times 0."""
    now = RoundContext(np, 5, 0.1, 1.0, np.zeros(2), 2)
    rules = type("Rules", (UpdateMemory,), {"beta": beta})()
    assert rules.steps({"total_seen": 1}, now, np.bool_(False)) == steps


def test_a_clipped_vector_keeps_its_direction() -> None:
    """Of norm 5: to norm 1, left at 10; NaN if the sum of squares is no float32."""
    vector = np.array([3.0, 4.0], np.float32)
    np.testing.assert_allclose(clipped(vector, 1.0, np), [0.6, 0.8], rtol=1e-6)
    np.testing.assert_array_equal(clipped(vector, 10.0, np), vector)
    with np.errstate(over="ignore"):
        assert np.isnan(clipped(1e30 * vector, 1.0, np)).all()


def test_it_waits_for_all_who_count() -> None:
    """p = (1/2, 0, 1/2): client 1 does not count; client 2 is the last to take part."""
    p = np.array([0.5, 0.0, 0.5])
    rules, found = server(Mifa("wait"), p, 1), []
    for t, ids in enumerate(([0], [], [0, 1], [2], [], [1]), start=1):
        now = Cohort(np.array(ids, int), p[ids])
        _, advanced = rules.round(t, now, everybody_sends(1.0, 1, 3))
        assert advanced is not None and advanced.keeps == bool(ids) and advanced.fits
        found.append((advanced.moves, float(rules.model[0])))
    assert found == [(False, 0), (False, 0), (False, 0), (True, 1), (True, 2), (True, 3)]
    assert rules.kept["server_total_seen"] == 2
    others = server(Mifa("wait"), p, 1)
    _, advanced = others.round(1, Cohort(np.array([0, 2]), p[[0, 2]]), everybody_sends(1.0, 1, 3))
    assert advanced is not None and advanced.moves


def test_client_twice_in_a_cohort_is_remembered_once() -> None:
    rules = server(Mifa())
    rules.round(1, cohort([2, 0, 2]), everybody_sends(1.0))
    np.testing.assert_allclose(rules.kept["server_average_update"], P[0] + P[2], rtol=1e-6)
    assert rules.kept["server_total_seen"] == 2
