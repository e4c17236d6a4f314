"""FedLaAvg's Example 1: two clients take turns, each with its own quadratic."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks.tiny import engine_parts
from f3ast_tff.availability import Turns
from f3ast_tff.core.federated_data import ClientExamples, FederatedData
from f3ast_tff.core.local_training import LocalTraining
from f3ast_tff.core.round_constraint import RoundConstraint
from f3ast_tff.engines.host.rules_in_numpy import RulesInNumpy
from f3ast_tff.engines.jax.engine import FusedEngine
from f3ast_tff.methods.fedavg import FedAvg
from f3ast_tff.methods.fedlaavg import FedLaAvg
from f3ast_tff.methods.mifa import Mifa
from f3ast_tff.methods.parts.aggregation import Aggregation
from f3ast_tff.methods.sum_and_mean import WeightedMean
from f3ast_tff.optimizers import Sgd
from tests.f3ast_tff.methods.small_world import played

MEANS, P = np.array([-1.0, 3.0]), np.array([0.5, 0.5])
FIRST, SECOND = 6, 2
RATE = 0.02


def world() -> Turns:
    return Turns(np.array([0, FIRST]), np.array([FIRST, SECOND]), FIRST + SECOND)


def fedavg_at_period_ends(periods: int) -> list[float]:
    strategy, model, ends = FedAvg.start(P, 1, baseline_sampling="without_replacement"), 0.0, []
    for t in range(1, periods * (FIRST + SECOND) + 1):
        cohort = played(strategy, t, world().mask(t), 1)
        model -= RATE * float(np.mean(model - MEANS[cohort.ids]))
        if t % (FIRST + SECOND) == 0:
            ends.append(model)
    return ends


def fedlaavg(rounds: int) -> list[float]:
    strategy, server = FedLaAvg.start(P, 1), RulesInNumpy(Mifa(), P, np.zeros(1))
    path = []
    for t in range(1, rounds + 1):
        cohort = played(strategy, t, world().mask(t), 1)
        server.round(t, cohort, lambda k, model, offset: -RATE * (model - MEANS[k]), RATE)
        path.append(float(server.model[0]))
    return path


def test_fedavg_oscillates_around_the_wrong_mean() -> None:
    """Theorem 1: eq. (25) has a closed form, which weighs clients by their time available."""
    a, b = (1 - RATE) ** FIRST, (1 - RATE) ** SECOND
    limit = (MEANS[1] * (1 - b) + b * MEANS[0] * (1 - a)) / (1 - a * b)
    ends = fedavg_at_period_ends(200)
    assert ends[-1] == pytest.approx(limit, abs=1e-9)
    by_time = (FIRST * MEANS[0] + SECOND * MEANS[1]) / (FIRST + SECOND)
    assert abs(limit - by_time) < 0.1 < abs(limit - MEANS.mean())


@pytest.mark.long
def test_fedlaavg_converges_to_the_right_mean() -> None:
    """Theorem 2."""
    path = fedlaavg(2000)
    assert path[-1] == pytest.approx(MEANS.mean(), abs=1e-4)
    assert max(path[-50:]) - min(path[-50:]) < 1e-4


@pytest.mark.long
def test_so_does_an_engine() -> None:
    """A model of one bias: 3 of client 0's 4 labels are class 0, 1 of client 1's 4."""
    labels = np.array([0, 0, 0, 1, 1, 1, 1, 0], np.int32)
    examples = ClientExamples(np.zeros((8, 1), np.float32), labels, np.array([0, 4, 8]))
    data = FederatedData(examples, examples, 2)

    def probability_of_class_0(aggregation: Aggregation) -> float:
        parts = engine_parts(data, LocalTraining(4), Sgd(1.0), aggregation, Sgd(0.2), p=P)
        engine = FusedEngine(parts, device="cpu")
        strategy = (
            FedLaAvg.start(P, 1)
            if aggregation.memory
            else FedAvg.start(P, 1, baseline_sampling="without_replacement")
        )
        rounds = range(1, 100 * (FIRST + SECOND) + 1)
        one = RoundConstraint(1)
        engine.run_rounds(1, [played(strategy, t, world().mask(t), one) for t in rounds])
        logits = engine.weights()[1]
        return float(np.exp(logits[0]) / np.exp(logits).sum())

    assert probability_of_class_0(Mifa()) == pytest.approx(0.5, abs=1e-3)
    assert probability_of_class_0(WeightedMean()) > 0.57
