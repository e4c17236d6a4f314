"""Methods with a memory on the engines, by hand, with the clients of `two_biases.py`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from benchmarks.tiny import tiny_data, with_nan_client
from f3ast_tff.core.local_training import LocalTraining
from f3ast_tff.methods.amplified_fedavg import AmplifiedFedAvg
from f3ast_tff.methods.amplified_scaffold import AmplifiedScaffold
from f3ast_tff.methods.fedawe import FedAwe
from f3ast_tff.methods.fedlaavg import FedLaAvg
from f3ast_tff.methods.focus import Focus
from f3ast_tff.methods.mifa import Mifa
from f3ast_tff.methods.mimic import Mimic
from f3ast_tff.methods.parts.strategy import Cohort
from f3ast_tff.methods.scaffold import Scaffold
from f3ast_tff.optimizers import Geometric, Sgd
from tests.f3ast_tff.engines.two_biases import ENGINES, ONE_ENGINE, P2, biases, labelled, s
from tests.f3ast_tff.methods.every_memory import FEDSTALE, FEDVARP, MIFA, MIFA_WAITS

MIMIC = Mimic()


@pytest.mark.long
@ENGINES
def test_mifa_by_hand(made: Callable[..., Any]) -> None:
    """Without a remembered update, y is 0: Delta = sum_{k in S} p_k D_k + sum_{j not in S} p_j y_j.

    Round 1, client 0: D_0 = 1/4, Delta = 1/4 * 1/4, a = 1/16; y_0 = 1/4.
    Round 2, client 1: D_1 = -s(1/8) / 2, Delta = -3/8 s(1/8) + 1/16, a = 1/8 - 3/8 s(1/8).
    """
    rounds = [([0], [0.25]), ([1], [0.75])]
    found = biases(made, MIFA, rounds)
    np.testing.assert_allclose(found, [1 / 16, 1 / 8 - 3 / 8 * s(1 / 8)], rtol=2e-6)


@ONE_ENGINE
def test_mifa_that_waits_by_hand(made: Callable[..., Any]) -> None:
    """Round 1, client 0: y_0 = 1/4 is stored, a = 0. Round 2, client 1: now each has taken part.

    D_1 = -1/4 at a = 0, so Delta = 3/4 * -1/4 + 1/4 * 1/4 = -1/8 = a.
    """
    rounds = [([0], [0.25]), ([1], [0.75])]
    found = biases(made, MIFA_WAITS, rounds)
    np.testing.assert_allclose(found, [0, -1 / 8], rtol=2e-6)


@ONE_ENGINE
def test_fedvarp_by_hand(made: Callable[..., Any]) -> None:
    """Delta = mean_S (D_k - y_k) + sum_j p_j y_j; weights 2, 2 stand for a plain mean.

    Round 1, client 0: D_0 = 1/4 = Delta = a = y_0. Round 2, both, with s = s(1/2):
    D_0 = (1 - s) / 2, D_1 = -s / 2; Delta = 1/2 ((1 - s) / 2 - 1/4 - s / 2) + 1/4 * 1/4
    = 3/16 - s / 2, a = 7/16 - s / 2.
    Round 3, no client: the model rests, although the average of y is not 0.
    """
    rounds = [([0], [2.0]), ([0, 1], [2.0, 2.0]), ([], [])]
    found = biases(made, FEDVARP, rounds)
    second = 7 / 16 - s(1 / 2) / 2
    np.testing.assert_allclose(found, [1 / 4, second, second], rtol=2e-6)


@ONE_ENGINE
def test_fedstale_by_hand(made: Callable[..., Any]) -> None:
    """Delta = sum_S p_k / pi_k (D_k - y_k / 2) + 1/2 sum_j p_j y_j; p / pi = (1/2, 1).

    Round 1, client 0: D_0 = 1/4 = y_0, Delta = 1/2 * 1/4, a = 1/8. Round 2, both, s = s(1/4):
    Delta = 1/2 ((1 - s) / 2 - 1/8) - s / 2 + 1/2 * 1/4 * 1/4 = 7/32 - 3/4 s, a = 11/32 - 3/4 s.
    """
    rounds = [([0], [0.5]), ([0, 1], [0.5, 1.0])]
    found = biases(made, FEDSTALE, rounds)
    np.testing.assert_allclose(found, [1 / 8, 11 / 32 - 3 / 4 * s(1 / 4)], rtol=2e-6)


@ONE_ENGINE
def test_mimic_by_hand(made: Callable[..., Any]) -> None:
    """Client 1 has labels 0, 0, 0, 1: D_1 = (3 (1 - s) - s) / 8 = 3/8 - s / 2.

    Round 1, both, s = 1/2: D = (1/4, 1/8), Delta = 3/16 = a; client 0 is 1/16 above it.
    Round 2, client 0, s = s(3/8): Delta = (1 - s) / 2 - 1/16, a = 5/8 - s / 2.
    """
    rounds = [([0, 1], [1.0, 1.0]), ([0], [1.0])]
    found = biases(made, MIMIC, rounds, labelled([0], [0, 0, 0, 1]))
    np.testing.assert_allclose(found, [3 / 16, 5 / 8 - s(3 / 8) / 2], rtol=2e-6)


@ENGINES
def test_fedawe_by_hand(made: Callable[..., Any]) -> None:
    """Clients send x_k + (t - tau_k) D_k; the model is their mean. Weights 2 are a plain mean.

    Round 1, client 0: x_0 = 0, D_0 = 1/4, missed 1: a = 1/4 = x_0.
    Round 2, client 1: x_1 = 0 still, D_1 = -1/4, missed 2: a = -1/2 = x_1.
    Round 3, both: client 0 from x_0 = 1/4, missed 2, sends 1/4 + (1 - s(1/2)); client 1 from
    x_1 = -1/2, missed 1, sends -1/2 - s(-1) / 2; a = 3/8 - s(1/2) / 2 - s(-1) / 4 = x_0 = x_1.
    Round 4, client 1, missed 1: a - s(2a) / 2.
    """
    rounds = [([0], [2.0]), ([1], [2.0]), ([0, 1], [2.0, 2.0]), ([1], [2.0])]
    found = biases(made, FedAwe(), rounds)
    third = 3 / 8 - s(1 / 2) / 2 - s(-1) / 4
    fourth = third - s(2 * third) / 2
    np.testing.assert_allclose(found, [1 / 4, -1 / 2, third, fourth], rtol=5e-6, atol=3e-7)


@pytest.mark.long
@ENGINES
def test_fedawe_with_another_rate_and_a_clip(made: Callable[..., Any]) -> None:
    """eta_g = 1/2: round 1, D_0 = 1/4: a = 1/8. Round 2: client 1 sends 0 + 1/2 * 2 * -1/4 = -1/4.

    Round 3: client 0 continues from x_0 = 1/8, D_0 = (1 - s(1/4)) / 2, and sends 1/8 + D_0.
    With a clip at C = sqrt(2) / 4 the echoes, (a, -a) of norm sqrt(2) |a|, stay within |a| = 1/4.
    Round 1 has 1/4. Round 2 has -1/4 instead of -1/2, so a = 0 - 1/2 * 1/4. Round 3 has 1/4 instead
    of 2 D_0 = 0.44, so a = 1/8 + 1/2 * 1/4. The clip leaves x_k alone.
    """
    rounds = [([0], [1.0]), ([1], [1.0]), ([0], [1.0])]
    found = biases(made, FedAwe(), rounds, server_lr=0.5)
    np.testing.assert_allclose(found, [1 / 8, -1 / 4, 1 / 8 + (1 - s(1 / 4)) / 2], rtol=5e-6)
    found = biases(made, FedAwe(np.sqrt(2) / 4), rounds, server_lr=0.5)
    np.testing.assert_allclose(found, [1 / 8, -1 / 8, 1 / 4], rtol=5e-6)


@ENGINES
def test_fedawe_scores_the_mean_of_all_models(made: Callable[..., Any]) -> None:
    """As above, x = (x_0, x_1) is (1/4, 0), then (1/4, -1/2); p = (1/4, 3/4) or (1/2, 1/2).

    The mean model a = p_0 x_0 + p_1 x_1 has a loss of log(1 + exp(-2a)) on client 0, label 0.
    """
    rounds = [([0], 1 / 4, 0.0), ([1], 1 / 4, -1 / 2)]
    for p in (P2, np.array([0.5, 0.5])):
        work = LocalTraining(4, epochs=1)
        parts = (labelled([0], [1]), work, Sgd(1.0), FedAwe())
        engine = made(*parts, client=Sgd(0.5), p=p, cohort_size=2)
        for t, (ids, x_0, x_1) in enumerate(rounds, start=1):
            engine.run_rounds(t, [Cohort(np.array(ids), np.ones(1))])
            mean = p @ [x_0, x_1]
            expected = [np.log1p(np.exp(-2 * mean)), np.log1p(np.exp(2 * mean))]
            np.testing.assert_allclose(engine.evaluate().loss, expected, rtol=1e-5)
        parts = (labelled([0], [1]), work, Sgd(1.0), FedAwe(fedawe_scored="server_model"))
        engine = made(*parts, client=Sgd(0.5), p=p, cohort_size=2)
        engine.run_rounds(1, [Cohort(np.array([0]), np.ones(1))])
        expected = [np.log1p(np.exp(-1 / 2)), np.log1p(np.exp(1 / 2))]
        np.testing.assert_allclose(engine.evaluate().loss, expected, rtol=1e-5)


@ENGINES
def test_scaffold_by_hand(made: Callable[..., Any]) -> None:
    """Two local steps along g - c_k + c, g_0(a) = s(2a) - 1, g_1(a) = s(2a); rate 1/2.

    Then c_k = -c + c_k - D_k / (2 * 1/2), the mean of its g. All c are 0 at first.
    Round 1, client 0: to 1/4, then by (1 - s(1/2)) / 2, so a1 = 3/4 - s(1/2) / 2. D_0 = a1, so
    c_0 = -a1, c = p_0 c_0 = -a1 / 4.
    Round 2, client 1: its steps are along g_1 + c; c_1 is the mean of g_1 at a1 and at the middle
    point b; c = -a1 / 4 + 3/4 c_1.
    Round 3, client 0: along g_0 - c_0 + c.
    """
    rounds = [([0], [1.0]), ([1], [1.0]), ([0], [1.0])]
    found = biases(made, Scaffold("mean"), rounds, steps=2)
    a1 = 3 / 4 - s(1 / 2) / 2
    b = a1 - (s(2 * a1) - a1 / 4) / 2
    a2 = b - (s(2 * b) - a1 / 4) / 2
    c = -a1 / 4 + 3 / 4 * (s(2 * a1) + s(2 * b)) / 2
    d = a2 - (s(2 * a2) - 1 + a1 + c) / 2
    a3 = d - (s(2 * d) - 1 + a1 + c) / 2
    np.testing.assert_allclose(found, [a1, a2, a3], rtol=5e-6)


@ENGINES
def test_focus_by_hand(made: Callable[..., Any]) -> None:
    """Two local steps along g - G_k with rate 1/2; only the second gradient is reported.

    g_0(a) = s(2a) - 1 and g_1(a) = s(2a); all G are 0 at first, and w -= 1/2 (G_0 / 4 + 3/4 G_1).
    Round 1, client 0: from 0 to 1/4, G_0 = s(1/2) - 1.
    Round 2, client 1: from a1 to b = a1 - s(2 a1) / 2, G_1 = s(2b).
    Round 3, client 0: from a2 to d = a2 - (g_0(a2) - G_0) / 2, G_0 = g_0(d).
    Round 4, no client: the model keeps moving.
    """
    rounds = [([0], [0.25]), ([1], [0.75]), ([0], [0.25]), ([], [])]
    found = biases(made, Focus(), rounds, steps=2)
    first = s(1 / 2) - 1
    a1 = -first / 8
    g1 = s(2 * (a1 - s(2 * a1) / 2))
    a2 = a1 - first / 8 - 3 / 8 * g1
    d = a2 - (s(2 * a2) - 1 - first) / 2
    a3 = a2 - (s(2 * d) - 1) / 8 - 3 / 8 * g1
    np.testing.assert_allclose(found, [a1, a2, a3, a3 + a3 - a2], rtol=5e-6)


@ONE_ENGINE
def test_amplified_fedavg_by_hand(made: Callable[..., Any]) -> None:
    """P = 2, eta = 3.

    Round 1, client 0: a = 1/4. Round 2, client 1: by -s(1/2) / 2, and the period's move from 0
    counts three times: a2 = 3/4 - 3/2 s(1/2).
    Round 3, client 0: a3 = a2 + (1 - s(2 a2)) / 2. Round 4, no client: the period still ends,
    a4 = a2 + 3 (a3 - a2).
    """
    rounds = [([0], [1.0]), ([1], [1.0]), ([0], [1.0]), ([], [])]
    found = biases(made, AmplifiedFedAvg("mean", 2, 3.0), rounds)
    a2 = 3 / 4 - 3 / 2 * s(1 / 2)
    a3 = a2 + (1 - s(2 * a2)) / 2
    np.testing.assert_allclose(found, [1 / 4, a2, a3, a2 + 3 * (a3 - a2)], rtol=5e-6)


@ENGINES
def test_amplified_scaffold_by_hand(made: Callable[..., Any]) -> None:
    """P = 2, eta = 2, two local steps as in SCAFFOLD's case.

    Period 1, client 0 twice, without controls: by 1/4, (1 - s(1/2)) / 2 to a1, and twice more to
    m. The mean of its four g is -m / 2. The period's end doubles the move: a2 = 2m.
    Period 2: c_0 = -m / 2, c_1 = 0, c = p_0 c_0 = -m / 8. Round 3, client 1: along g_1 + c.
    Round 4, client 0: along g_0 - c_0 + c = g_0 + 3/8 m; the period's end doubles the move from a2.
    Round 5, client 1: now c_1 is the mean of client 1's g in round 3, and c_0 of client 0's g in
    round 4.
    """
    rounds = [([0], [1.0]), ([0], [1.0]), ([1], [1.0]), ([0], [1.0]), ([1], [1.0])]
    found = biases(made, AmplifiedScaffold("mean", 2, 2.0), rounds, steps=2)

    def two_steps(a: float, label: int, offset: float) -> tuple[float, float]:
        """Returns the model after two steps, and the mean of g."""
        first = s(2 * a) - 1 + label
        b = a - (first + offset) / 2
        second = s(2 * b) - 1 + label
        return b - (second + offset) / 2, (first + second) / 2

    a1 = 3 / 4 - s(1 / 2) / 2
    b = a1 + (1 - s(2 * a1)) / 2
    m = b + (1 - s(2 * b)) / 2
    a3, of_1 = two_steps(2 * m, 1, -m / 8)
    moved, of_0 = two_steps(a3, 0, 3 / 8 * m)
    a4 = 2 * moved - 2 * m
    c = of_0 / 4 + 3 / 4 * of_1
    a5, _ = two_steps(a4, 1, c - of_1)
    np.testing.assert_allclose(found, [a1, 2 * m, a3, a4, a5], rtol=1e-5)


@ENGINES
def test_a_round_without_clients_follows_the_memory(made: Callable[..., Any]) -> None:
    """MIFA with client rates 1/2, 1/4, 1/8.

    Round 1, client 0: 1/2 uphill; g_1 = 1/4 * 1/2 = 1/8, a = 1/2 * 1/8 = 1/16.
    Round 2: no client. g_2 = g_1, a = 1/16 + 1/4 * 1/8 = 3/32; |step| = sqrt(2) / 32.
    Round 3: client 1, -s(3/16); g_3 = 1/8 - 3/4 s(3/16), a = 3/32 + 1/8 g_3.
    """
    parts = (labelled([0], [1]), LocalTraining(1), Sgd(1.0), Mifa())
    client = Sgd(0.5, schedule=Geometric(0.5))
    engine = made(*parts, client=client, p=P2, cohort_size=1)
    last = 3 / 32 + (1 / 8 - 3 / 4 * s(3 / 16)) / 8
    for t, (ids, bias) in enumerate(zip(([0], [], [1]), (1 / 16, 3 / 32, last)), start=1):
        (outcome,) = engine.run_rounds(t, [Cohort(np.array(ids, int), P2[ids])])
        kernel, biases = engine.weights()
        np.testing.assert_allclose(biases, [bias, -bias], rtol=1e-6)
        assert not kernel.any() and not outcome.rejected and outcome.num_dropped == 0
        if t == 2:
            assert np.isnan(outcome.train_loss)
            assert outcome.update_norm == pytest.approx(np.sqrt(2) / 32, rel=1e-6)


@pytest.mark.long
@ENGINES
def test_a_round_of_broken_clients_is_one_without_clients(made: Callable[..., Any]) -> None:
    rules = FedLaAvg(memory_from_round=1)
    parts = (with_nan_client(tiny_data(), 2), LocalTraining(4, epochs=2), Sgd(1.0), rules)
    client = Sgd(0.1, schedule=Geometric(0.8))
    engine = made(*parts, client=client, p=np.full(6, 1 / 6), cohort_size=6)
    engine.run_rounds(1, [Cohort(np.array([0, 5]), np.ones(2))])
    start = {key: value.copy() for key, value in engine.state().items()}
    outcomes, models = [], []
    for ids in ([], [2]):
        engine.restore({key: value.copy() for key, value in start.items()})
        outcomes += engine.run_rounds(2, [Cohort(np.array(ids, int), np.ones(len(ids)))], True)
        models.append(engine.weights())
    for one, other in zip(*models):
        np.testing.assert_array_equal(one, other)
    empty, broken = outcomes
    assert (empty.num_dropped, broken.num_dropped) == (0, 1)
    assert not empty.rejected and not broken.rejected and np.isnan(broken.train_loss)
    assert empty.update_norm == broken.update_norm > 0
    assert empty.client_losses.shape == empty.delivered.shape == (0,)
    assert broken.delivered.tolist() == [False] and np.isnan(broken.client_losses).all()
