"""Late updates on the engines, by hand.

Two clients have examples with features 0, so the model is two biases (a, -a), starting at a = 0.
There is one local step, with client rate 1/2 and server rate 1. Let s = s(2a),
s(x) = 1 / (1 + exp(-x)). Client 0 has label 0 and moves a by D = (1 - s) / 2; client 1 has label 1
and moves a by D = -s / 2. At a = 0 the updates are D = 1/4 and -1/4.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

from benchmarks.tiny import tiny_data, with_nan_client
from f3ast_tff.core.local_training import LocalTraining
from f3ast_tff.engines.engine import LateCohort
from f3ast_tff.methods.fednova import FedNova
from f3ast_tff.methods.mifa import Mifa
from f3ast_tff.methods.mimic import Mimic
from f3ast_tff.methods.parts.aggregation import Aggregation
from f3ast_tff.methods.sum_and_mean import WeightedMean, WeightedSum
from f3ast_tff.optimizers import Geometric, Optimizer, Sgd
from f3ast_tff.optimizers.adaptive import AmsGrad
from tests.f3ast_tff.engines.two_biases import ENGINES, P2, labelled

CLIENT, SERVER = Sgd(0.5), Sgd(1.0)
# Asked clients with their slots; entering clients with slot, round of asking and weight.
Asked = Sequence[tuple[int, int]]
Entering = Sequence[tuple[int, int, int, float]]


def late_round(asked: Asked, entering: Entering, step: float = 1.0) -> LateCohort:
    ids, slots = np.array(asked, np.int64).reshape(-1, 2).T
    columns = np.array(entering, float).reshape(-1, 4).T
    of, from_slots, asked_in = columns[:3].astype(np.int64)
    return LateCohort(
        of, columns[3], step, asked=ids, slots=slots, entering=from_slots, asked_in=asked_in
    )


def biases(
    made: Callable[..., Any],
    rounds: Sequence[LateCohort],
    aggregation: Aggregation | None = None,
    server: Optimizer = SERVER,
    client: Optimizer = CLIENT,
) -> list[float]:
    """Returns a after each round."""
    parts = (labelled([0], [1]), LocalTraining(4), server, aggregation or WeightedSum())
    engine = made(*parts, client=client, p=P2, cohort_size=2, late=True)
    found = []
    for t, cohort in enumerate(rounds, start=1):
        engine.run_rounds(t, [cohort])
        kernel, (first, second) = engine.weights()
        assert not kernel.any() and first == pytest.approx(-second, rel=1e-5, abs=1e-6)
        found.append(float(first))
    return found


@pytest.mark.long
@ENGINES
def test_an_update_is_computed_at_the_model_that_was_sent(made: Callable[..., Any]) -> None:
    """Both are asked in round 1. Client 0 enters at once: a = 1/4.

    Client 1 enters in round 2 with its D = -1/4 of a = 0, so a = 0. Computed at a = 1/4, D would be
    -s(1/2) / 2 = -0.311. Round 3 asks client 0 at a = 0 into the slot of client 1, and nothing
    enters. In round 4 half of its 1/4 enters.
    """
    rounds = [
        late_round([(0, 0), (1, 1)], [(0, 0, 1, 1.0)]),
        late_round([], [(1, 1, 1, 1.0)]),
        late_round([(0, 1)], []),
        late_round([], [(0, 1, 3, 0.5)]),
    ]
    found = biases(made, rounds)
    assert found == pytest.approx([0.25, 0.0, 0.0, 0.125], abs=1e-6)


@ENGINES
def test_a_mean_over_updates_of_two_rounds(made: Callable[..., Any]) -> None:
    """Client 0 of round 1 has D = 1/4 and weight 3.

    Client 1 of round 2, still at a = 0, has D = -1/4 and weight 1, and is twice in the cohort. The
    mean is (3 * 1/4 - 2 * 1/4) / 5 = 1/20. At half the server rate a is 1/40.
    """
    rounds = [
        late_round([(0, 4)], []),
        late_round([(1, 2)], [(0, 4, 1, 3.0), (1, 2, 2, 1.0), (1, 2, 2, 1.0)], step=0.5),
    ]
    found = biases(made, rounds, WeightedMean())
    assert found == pytest.approx([0.0, 1 / 40], abs=1e-6)


@pytest.mark.long
@ENGINES
def test_mifa_takes_updates_in_when_they_enter(made: Callable[..., Any]) -> None:
    """p = (1/4, 3/4); client rates 1/2, 1/4, 1/8. Delta is the round's rate times sum_k p_k g_k.

    Round 1: both at a = 0, g = (1/2, -1/2); client 0 enters, Delta = 1/2 * 1/4 * 1/2 = 1/16.
    Round 2: client 1 enters, Delta = 1/4 (1/4 * 1/2 - 3/4 * 1/2) = -1/16.
    Round 3: no update enters, Delta = 1/8 (1/4 * 1/2 - 3/4 * 1/2) = -1/32. Both updates are divided
    by the rate of round 1; with that of round 2 Delta would be -5/64.
    """
    rounds = [
        late_round([(0, 0), (1, 1)], [(0, 0, 1, 0.25)]),
        late_round([], [(1, 1, 1, 0.75)]),
        late_round([], []),
    ]
    client = Sgd(0.5, Geometric(0.5))
    found = biases(made, rounds, Mifa(), client=client)
    assert found == pytest.approx([1 / 16, 0, -1 / 32], abs=1e-6)


@ENGINES
def test_mimic_takes_updates_in_when_they_enter(made: Callable[..., Any]) -> None:
    """Round 1: client 0, Delta = 1/4, c_0 = 0.

    Round 2: client 1 of round 1, and client 0 of a = 1/4 with D_0 = (1 - s(1/2)) / 2 = d:
    Delta = (-1/4 + d) / 2, c_1 = Delta + 1/4.

    Round 3: client 1 again, asked in round 2 at a = 1/4, with D_1 = -s(1/2) / 2 = d - 1/2:
    Delta = d - 1/2 + c_1.
    """
    rounds = [
        late_round([(0, 0), (1, 1)], [(0, 0, 1, 1.0)]),
        late_round([(0, 2), (1, 0)], [(1, 1, 1, 1.0), (0, 2, 2, 1.0)]),
        late_round([], [(1, 0, 2, 1.0)]),
    ]
    d = (1 - 1 / (1 + np.exp(-0.5))) / 2
    second = (d - 0.25) / 2
    expected = np.cumsum([0.25, second, d - 0.5 + second + 0.25])
    assert biases(made, rounds, Mimic()) == pytest.approx(expected, abs=1e-6)


@ENGINES
def test_amsgrad_keeps_the_largest_moment_and_its_rate_may_fall(made: Callable[..., Any]) -> None:
    """Rate 1/10, b1 = 0.9, b2 = 0.99, epsilon almost 0; Delta = g, -g / 2, 0 with g = 1/4.

    m = .1 g, .09 g - .05 g = .04 g, .036 g; v = .01 g^2, .0124 g^2, then less, so v_max stays.
    Steps 1/10 * (.1 / .1, .04 / sqrt(.0124), .036 / sqrt(.0124)); the last has 1/3 of the rate.
    """
    rounds = [
        late_round([(0, 0), (1, 1)], [(0, 0, 1, 1.0)]),
        late_round([], [(1, 1, 1, 0.5)]),
        late_round([], [(0, 0, 1, 1.0), (1, 1, 1, 1.0)], step=1 / 3),
    ]
    root = np.sqrt(0.0124)
    expected = 0.1 * np.cumsum([1.0, 0.04 / root, 0.036 / root / 3])
    found = biases(made, rounds, server=AmsGrad(0.1, epsilon=1e-8))
    assert found == pytest.approx(expected, abs=1e-5)


@ENGINES
def test_a_late_update_that_is_not_finite_is_dropped(made: Callable[..., Any]) -> None:
    """Client 2's features hold a NaN. If it enters alone, the model stays as it is."""
    parts = (with_nan_client(tiny_data(), 2), LocalTraining(8))
    engine = made(*parts, cohort_size=3, late=True)
    rounds = [
        late_round([(2, 0), (3, 1)], []),
        late_round([], [(2, 0, 1, 1.0)]),
        late_round([(2, 2)], [(3, 1, 1, 1.0), (2, 2, 3, 1.0)]),
    ]
    before = engine.weights()
    done = []
    for t, cohort in enumerate(rounds, start=1):
        done += engine.run_rounds(t, [cohort], by_client=True)
        if t == 2:
            for one, other in zip(engine.weights(), before):
                np.testing.assert_array_equal(one, other)
    assert [outcome.rejected for outcome in done] == [True, True, False]
    assert [outcome.num_dropped for outcome in done] == [0, 1, 1]
    assert done[2].delivered is not None and done[2].delivered.tolist() == [True, False]
    losses = done[2].client_losses
    assert losses is not None and np.isfinite(losses[0]) and np.isnan(losses[1])
    assert all(np.isfinite(weight).all() for weight in engine.weights())


def many_rounds() -> list[LateCohort]:
    """Six clients in turn; each enters two rounds after it is asked."""
    found = []
    for t in range(1, 9):
        entering = [((t - 2) % 6, (t - 2) % 3, t - 2, 0.5)] if t > 2 else []
        found.append(late_round([(t % 6, t % 3)], entering))
    return found


@pytest.mark.long
@pytest.mark.parametrize("aggregation", [WeightedSum(), Mifa()], ids=["sum", "mifa"])
@ENGINES
def test_resumed_with_updates_under_way(aggregation: Aggregation, made: Callable[..., Any]) -> None:
    """After round 5 the updates of rounds 4 and 5 are in flight; later rounds agree bit for bit."""
    parts = (tiny_data(), LocalTraining(8), Sgd(1.0), aggregation)
    rounds = many_rounds()

    def run(engine: Any, first: int, last: int) -> None:
        for t in range(first, last + 1):
            engine.run_rounds(t, [rounds[t - 1]])

    whole, resumed = (made(*parts, p=np.full(6, 1 / 6), cohort_size=1, late=True) for _ in "ab")
    run(whole, 1, 5)
    saved = {key: np.array(value) for key, value in whole.state().items()}
    run(whole, 6, 8)
    resumed.restore(saved)
    run(resumed, 6, 8)
    for one, other in zip(whole.weights(), resumed.weights()):
        np.testing.assert_array_equal(one, other)


@pytest.mark.long
@pytest.mark.parametrize("name", ["fused", "host"])
def test_room_for_more_updates_than_at_first(made: Callable[..., Any]) -> None:
    """Slot 40 with room for 16, in a block of rounds; the update of slot 0 survives the growth."""
    parts = (labelled([0], [1]), LocalTraining(4), Sgd(1.0), WeightedSum())
    engine = made(*parts, client=Sgd(0.5), cohort_size=2, late=True)
    rounds = [
        late_round([(0, 0)], []),
        late_round([(1, 40)], []),
        late_round([], [(0, 0, 1, 1.0), (1, 40, 2, 0.5)]),
    ]
    engine.run_rounds(1, rounds)
    assert engine.weights()[1][0] == pytest.approx(0.125, abs=1e-6)


@ENGINES
def test_fednova_counts_the_steps_of_updates_that_enter(made: Callable[..., Any]) -> None:
    """Client 1 takes two steps, by -1/4 and then by -s(-1/2) / 2; client 0 one, by 1/4.

    Both are asked at a = 0 and enter in round 2 with weights 1/4 and 3/4: tau_eff = 7/4, and
    a = 7/4 (D_0 / 4 + 3/4 D_1 / 2). Client 2 of round 2 is broken, so round 3 has client 0 alone,
    asked in round 2 at a = 0 with D = 1/4: tau_eff = 1.
    """
    data = labelled([0], [1] * 8, [0])
    data.train.features[-1] = np.nan
    parts = (data, LocalTraining(4), SERVER, FedNova("mean"))
    engine = made(*parts, client=CLIENT, p=np.full(3, 1 / 3), cohort_size=3, late=True)
    rounds = [
        late_round([(0, 0), (1, 1)], []),
        late_round([(0, 2), (2, 3)], [(0, 0, 1, 0.25), (1, 1, 1, 0.75)]),
        late_round([], [(0, 2, 2, 0.5), (2, 3, 2, 0.5)]),
    ]
    found = []
    for t, cohort in enumerate(rounds, start=1):
        engine.run_rounds(t, [cohort])
        found.append(float(engine.weights()[1][0]))
    second = -1 / 4 - 1 / (1 + np.exp(0.5)) / 2
    a = 7 / 4 * (1 / 16 + 3 / 8 * second)
    assert found == pytest.approx([0, a, a + 1 / 4], abs=1e-6)
