"""Rules for each engine, compared with the same rounds by hand in NumPy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from benchmarks.tiny import TEST_SIZES, tiny_data, with_nan_client
from f3ast_tff.core.local_training import LocalTraining
from f3ast_tff.engines import Engine, RoundOutcome
from f3ast_tff.methods.parts.strategy import Cohort
from f3ast_tff.methods.sum_and_mean import WeightedMean, WeightedSum
from f3ast_tff.optimizers import Geometric, Inverse, InverseSqrt, Schedule, Sgd
from tests.f3ast_tff.engines import reference

LR = 0.1
WORK = LocalTraining(4, epochs=2, seed=3)
NAN_CLIENT = 2
COHORT = Cohort(np.array([0, 3, 5]), np.array([0.5, 1.7, 0.2]))


@pytest.fixture(
    scope="module",
    params=[
        pytest.param("tff", marks=pytest.mark.slow),
        pytest.param("tff_in_process", marks=pytest.mark.long),
        "fused",
        "fused_lanes",
        "host",
    ],
)
def sum_engine(request: pytest.FixtureRequest, make_engine: Callable[..., Any]) -> Any:
    """F3AST's composition; client 2 has a NaN."""
    data = with_nan_client(tiny_data(), NAN_CLIENT)
    return make_engine(request.param, data, WORK, Sgd(1.0), WeightedSum())


@pytest.fixture
def engine(sum_engine: Any) -> Any:
    """The same engine, restored to its start after each test."""
    start = sum_engine.state()
    yield sum_engine
    sum_engine.restore(start)


def run_round(engine: Engine, round_number: int, cohort: Cohort) -> RoundOutcome:
    (outcome,) = engine.run_rounds(round_number, [cohort])
    return outcome


def delta(engine: Any, round_number: int, cohort: Cohort, rate: float = LR) -> reference.Weights:
    """Delta by hand, from the engine's model."""
    train = tiny_data().train
    return reference.delta(
        engine.weights(), train, WORK, round_number, cohort.ids, cohort.weights, rate
    )


@pytest.mark.long
def test_round_adds_the_weighted_sum_unnormalised(engine: Any) -> None:
    """Weights sum to 2.4; a mean would give an update 2.4 times smaller."""
    for round_number in (1, 2, 3):
        before = engine.weights()
        expected = delta(engine, round_number, COHORT)
        outcome = run_round(engine, round_number, COHORT)
        for after, start, step in zip(engine.weights(), before, expected):
            np.testing.assert_allclose(after - start, step, atol=2e-6)
        assert outcome.update_norm == pytest.approx(reference.norm(expected), rel=1e-5)
        assert outcome.num_dropped == 0 and not outcome.rejected


def test_first_train_loss_starts_from_log_num_classes(engine: Any) -> None:
    """From zero weights the first batch's loss is log 3, and SGD only lowers the mean."""
    outcome = run_round(engine, 1, Cohort(np.array([3]), np.array([1.0])))
    assert 0.8 < outcome.train_loss < np.log(3) + 0.05


def test_repeated_client_counts_twice(engine: Any) -> None:
    start = engine.state()
    run_round(engine, 1, Cohort(np.array([3, 3]), np.array([0.5, 0.5])))
    twice = engine.weights()
    engine.restore(start)
    run_round(engine, 1, Cohort(np.array([3]), np.array([1.0])))
    for a, b in zip(twice, engine.weights()):
        np.testing.assert_allclose(a, b, atol=1e-7)


def test_repeated_clients_count_in_loss_and_drops(engine: Any) -> None:
    start = engine.state()
    alone = []
    for k in (3, 5):
        alone.append(run_round(engine, 1, Cohort(np.array([k]), np.array([1.0]))).train_loss)
        engine.restore(start)
    ids = np.array([5, NAN_CLIENT, 3, 5, NAN_CLIENT, 5])
    outcome = run_round(engine, 1, Cohort(ids, np.full(6, 0.2)))
    sizes = tiny_data().train.sizes[[3, 5]]
    expected = np.average(alone, weights=[sizes[0], 3 * sizes[1]])
    assert outcome.train_loss == pytest.approx(expected, rel=1e-5)
    assert outcome.num_dropped == 2 and not outcome.rejected


def test_non_finite_update_is_dropped_and_counted(engine: Any) -> None:
    """Without the NaN client, the update is exactly the sum over the rest."""
    cohort = Cohort(np.array([0, NAN_CLIENT, 5]), np.array([0.5, 9.0, 0.2]))
    others = Cohort(np.array([0, 5]), np.array([0.5, 0.2]))
    before, expected = engine.weights(), delta(engine, 4, others)
    outcome = run_round(engine, 4, cohort)
    assert outcome.num_dropped == 1 and not outcome.rejected
    assert np.isfinite(outcome.train_loss)
    for after, start, step in zip(engine.weights(), before, expected):
        np.testing.assert_allclose(after - start, step, atol=2e-6)


def test_round_of_only_non_finite_updates_leaves_all_state_alone(engine: Any) -> None:
    before = engine.state()
    outcome = run_round(engine, 1, Cohort(np.array([NAN_CLIENT]), np.array([1.0])))
    assert outcome.num_dropped == 1 and outcome.rejected and outcome.update_norm == 0
    for name, value in engine.state().items():
        np.testing.assert_array_equal(value, before[name])


def test_overflowing_aggregate_leaves_the_model_alone(engine: Any) -> None:
    before = engine.weights()
    outcome = run_round(engine, 1, Cohort(np.array([0]), np.array([np.inf])))
    assert outcome.rejected
    for after, start in zip(engine.weights(), before):
        np.testing.assert_array_equal(after, start)


def test_restored_engine_repeats_bit_for_bit(engine: Any) -> None:
    run_round(engine, 1, COHORT)
    saved = engine.state()
    run_round(engine, 2, COHORT)
    first = engine.weights()
    engine.restore(saved)
    run_round(engine, 2, COHORT)
    for a, b in zip(first, engine.weights()):
        np.testing.assert_array_equal(a, b)


def test_foreign_state_is_refused(engine: Any) -> None:
    state = engine.state()
    state.pop("0000")
    with pytest.raises(ValueError, match="another model or server optimizer"):
        engine.restore(state)


def test_evaluate_sums_by_client(engine: Any) -> None:
    run_round(engine, 1, COHORT)
    scores = engine.evaluate()
    assert scores.count.tolist() == list(TEST_SIZES)
    test = tiny_data().test
    for k in range(test.num_clients):
        x, y = test.client(k)
        loss = reference.losses(engine.weights(), x, y)
        right = reference.log_probabilities(engine.weights(), x).argmax(axis=1) == y
        assert scores.loss[k] == pytest.approx(loss.sum(), abs=1e-4)
        assert scores.correct[k] == right.sum()


def test_client_losses_are_means_over_the_client(engine: Any) -> None:
    run_round(engine, 1, COHORT)
    train = tiny_data().train
    expected = [reference.losses(engine.weights(), *train.client(k)).mean() for k in (4, 0, 3)]
    np.testing.assert_allclose(engine.client_losses(np.array([4, 0, 3])), expected, rtol=1e-5)


@pytest.mark.long
@pytest.mark.parametrize(
    "name", [pytest.param("tff", marks=pytest.mark.slow), "tff_in_process", "fused", "host"]
)
def test_training_losses(made: Callable[..., Any]) -> None:
    """Each batch's loss before its step, in the round's order; the model stays.

    Training by hand: client k's first batch is scored with the global model, each later batch with
    the model after the earlier steps.
    """
    parts = (tiny_data(), WORK, Sgd(1.0), WeightedMean())
    engine = made(*parts, client_loss="training_loss")
    run_round(engine, 1, COHORT)
    before = engine.weights()
    got = engine.client_losses(np.array([4, 0]), 2)
    for a, b in zip(before, engine.weights()):
        np.testing.assert_array_equal(a, b)
    train = tiny_data().train
    for k, total in zip((4, 0), got):
        x, y = train.client(k)
        weights, expected = before, 0.0
        for segment in WORK.order(2, k, len(y)):
            for start in range(0, len(segment), WORK.batch_size):
                batch = segment[start : start + WORK.batch_size]
                expected += reference.losses(weights, x[batch], y[batch]).sum()
                steps = reference.gradient(weights, x[batch], y[batch])
                weights = [weight - LR * step for weight, step in zip(weights, steps)]
        assert total == pytest.approx(expected, rel=1e-4)


def test_empty_rounds_in_a_block_leave_the_model_alone(engine: Any) -> None:
    """A block of three rounds equals three single rounds; the empty round changes nothing."""
    start = engine.state()
    nobody = Cohort(np.zeros(0, np.int64), np.zeros(0))
    outcomes = engine.run_rounds(1, [COHORT, nobody, COHORT])
    block = engine.weights()
    assert outcomes[1].rejected and outcomes[1].update_norm == 0
    engine.restore(start)
    singles = [run_round(engine, 1, COHORT), run_round(engine, 3, COHORT)]
    for a, b in zip(block, engine.weights()):
        np.testing.assert_array_equal(a, b)
    assert [outcomes[0], outcomes[2]] == singles


@pytest.mark.long
@pytest.mark.tff
def test_non_finite_clients_are_dropped_alike_under_a_mean(make_engine: Callable[..., Any]) -> None:
    """The mean is over the remaining clients."""
    cohort = Cohort(np.array([0, NAN_CLIENT, 5]), np.array([3.0, 100.0, 1.0]))
    data, results = with_nan_client(tiny_data(), NAN_CLIENT), []
    for name in ("tff", "fused", "fused_lanes", "host"):
        engine = make_engine(name, data, LocalTraining(4), Sgd(1.0), WeightedMean())
        (outcome,) = engine.run_rounds(1, [cohort])
        assert outcome.num_dropped == 1
        results.append((engine.weights(), outcome))
    for weights, outcome in results[1:]:
        assert outcome.train_loss == pytest.approx(results[0][1].train_loss, rel=1e-5)
        assert outcome.update_norm == pytest.approx(results[0][1].update_norm, rel=1e-5)
        for a, b in zip(weights, results[0][0]):
            np.testing.assert_allclose(a, b, atol=1e-6)


@pytest.mark.parametrize(
    ("name", "schedule"),
    [
        *[("fused", schedule) for schedule in (Geometric(0.5), Inverse(), InverseSqrt(1))],
        ("host", Inverse()),
        # `test_memories_alike.py` has a decreasing rate on both engines.
        pytest.param("tff_in_process", InverseSqrt(1), marks=pytest.mark.slow),
    ],
    ids=str,
)
def test_a_round_trains_at_its_rate(schedule: Schedule, made: Callable[..., Any]) -> None:
    client = Sgd(LR, schedule=schedule)
    engine = made(tiny_data(), WORK, Sgd(1.0), WeightedSum(), client=client)
    for t in (1, 2, 9):
        before = engine.weights()
        expected = delta(engine, t, COHORT, LR * schedule.factor(t))
        engine.run_rounds(t, [COHORT])
        for new, old, step in zip(engine.weights(), before, expected):
            np.testing.assert_allclose(new - old, step, atol=2e-6)
