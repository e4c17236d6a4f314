"""Methods of late updates: FedBuff, FADAS, FedAsync and FedAvg in time, by hand."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from f3ast_tff.core.errors import ParameterError
from f3ast_tff.core.round_constraint import RoundConstraint
from f3ast_tff.methods.fadas import Fadas
from f3ast_tff.methods.fedasync import FedAsync
from f3ast_tff.methods.fedbuff import FedBuff, OnArrival
from f3ast_tff.methods.parts.late import admitted_by, staleness_weight
from f3ast_tff.methods.parts.strategy import Cohort, Round, Strategy
from tests.f3ast_tff.methods.small_world import N, small_world
from tests.f3ast_tff.methods.small_world import config as config_of

FOUR = small_world(p=np.full(4, 0.25))


def round_with(t: int, asked_in: list[int], strategy: Strategy) -> Cohort:
    """Plays round t with available updates of these rounds, each from a different client."""
    now = Round(t, np.ones(4, bool), RoundConstraint(4))
    asked = np.array(asked_in, np.int64)
    enters = admitted_by(strategy, now, asked).enters
    return strategy.weigh(replace(now, asked_in=asked), np.arange(len(asked)), enters)


def test_fedbuff_by_hand() -> None:
    """M = 2. Round 1: one update waits.

    Round 2: two enter. The server has not stepped before, so tau = 0: 1/2 each.

    Round 3: updates of rounds 1 and 3 are 1 and 0 steps old: 1 / (2 sqrt(2)), 1/2.

    Round 4: a client asked in round 2 got the model before that round's step, so its update is 2
    steps old. With the two updates of round 4 three enter: 1 / (3 sqrt(3)), 1/3, 1/3.
    """
    strategy = FedBuff(buffer_size=2).build(FOUR)
    assert len(round_with(1, [1], strategy)) == 0
    assert round_with(2, [1, 2], strategy).weights.tolist() == [0.5, 0.5]
    third = round_with(3, [1, 3], strategy).weights
    np.testing.assert_allclose(third, [1 / np.sqrt(8), 0.5])
    fourth = round_with(4, [2, 4, 4], strategy)
    np.testing.assert_allclose(fourth.weights, [1 / np.sqrt(27), 1 / 3, 1 / 3])
    assert fourth.step == 1.0
    assert strategy.state()["stepped"].tolist() == [2, 3, 4]


def test_steps_are_counted_beyond_the_room() -> None:
    """Step t is that of round t; after 40 steps an update of round 31 is 9 steps old."""
    strategy, again = (FedBuff(buffer_size=1).build(FOUR) for _ in range(2))
    for t in range(1, 34):
        round_with(t, [t], strategy)
    again.restore(strategy.state())
    for each in (strategy, again):
        for t in range(34, 40):
            round_with(t, [t], each)
        np.testing.assert_allclose(round_with(40, [31], each).weights, [1 / np.sqrt(10)])
        assert each.state()["stepped"].tolist() == [*range(1, 41)]


@pytest.mark.parametrize(("threshold", "factors"), [(1, [1, 1, 0.5]), (2, [1, 1, 1]), (None, [1])])
def test_fadas_steps_over_its_longest_delay(threshold: int | None, factors: list[float]) -> None:
    """tau_max is 0, 1 and 2 steps: above tau_c it divides the rate; weights stay 1 / m."""
    given = {"fadas_delay_adaptive": False} if threshold is None else {"fadas_tau_c": threshold}
    strategy = Fadas(buffer_size=1, **given).build(FOUR)
    steps = []
    for t, asked_in in ((1, [1]), (2, [2, 1]), (3, [3, 1])):
        cohort = round_with(t, asked_in, strategy)
        steps.append(cohort.step)
        assert cohort.weights.tolist() == [1 / len(asked_in)] * len(asked_in)
    assert steps[: len(factors)] == factors
    assert threshold is not None or steps == [1.0] * 3


def test_fadas_of_the_paper_caps_its_rate_by_the_delay() -> None:
    """With eta .1 a delay of 5 changes nothing, one of 20 halves the rate, 1 / 20 being .05."""
    world = replace(small_world(), server_lr=0.1)
    strategy = Fadas(fadas_delayed_rate="capped").build(world)
    assert [strategy.factor(longest) for longest in (1, 5, 10, 20)] == [1.0, 1.0, 1.0, 0.5]
    with pytest.raises(ParameterError, match="fadas_delayed_rate = capped: must be divided"):
        Fadas(fadas_delayed_rate="capped").build(replace(world, server_lr=None))


@pytest.mark.parametrize("config", [FedBuff, Fadas, FedAsync])
def test_clients_without_data_are_not_asked(config: type[OnArrival]) -> None:
    """Their updates of 0 would fill the buffer."""
    p = np.array([0.5, 0.5, 0, 0, 0, 0])
    strategy = config().build(small_world(p=p))
    for t in range(1, 21):
        now = Round(t, np.ones(len(p), bool), RoundConstraint(3))
        assert set(strategy.select(now)) <= {0, 1}


@pytest.mark.parametrize(
    ("given", "shares"),
    [
        ({"fedasync_weight": "constant"}, [0.6, 0.6, 0.6]),
        # 0.6 / sqrt(1 + tau), tau = 0, 1, 3.
        ({}, [0.6, 0.6 / np.sqrt(2), 0.3]),
        # 0.6 / (1 + tau), tau = 0, 1, 3.
        ({"fedasync_power": 1.0}, [0.6, 0.3, 0.15]),
        # 1 up to tau = 1, then 1 / (2 (3 - 1) + 1).
        (
            {"fedasync_weight": "hinge", "fedasync_hinge_a": 2.0, "fedasync_hinge_b": 1.0},
            [0.6, 0.6, 0.12],
        ),
    ],
    ids=str,
)
def test_fedasync_shares_by_hand(given: dict[str, Any], shares: list[float]) -> None:
    """Steps in rounds 1, 2, 3, 4; a model of round 1 in round 4 is 3 steps old."""
    strategy = FedAsync(**given).build(FOUR)
    found = [round_with(t, [asked], strategy).weights for t, asked in ((1, 1), (2, 1), (3, 3))]
    np.testing.assert_allclose(
        np.concatenate([*found[:2], round_with(4, [1], strategy).weights]), shares
    )
    np.testing.assert_allclose(found[2], [0.6])


def test_updates_in_time_enter_up_to_their_rounds() -> None:
    """Round 9, at most two rounds late: those of rounds 9 and 7 enter, that of 6 is dropped."""
    strategy = config_of("fedavg_in_time", in_time_rounds=2).build(small_world())
    now = Round(9, np.ones(N, bool), RoundConstraint(3))
    found = strategy.admit(now, np.array([9, 7, 6]))
    assert found.enters.tolist() == [True, True, False]
    assert found.dropped.tolist() == [False, False, True]


@pytest.mark.parametrize(
    ("kind", "expected"),
    [("constant", [1, 1, 1]), ("root", [1, 1 / 2, 1 / 3]), ("inverse", [1, 1 / 4, 1 / 9])],
)
def test_staleness_weights_by_hand(kind: str, expected: list[float]) -> None:
    """tau = 0, 3, 8: 1 + tau = 1, 4, 9."""
    np.testing.assert_allclose(staleness_weight(kind, np.array([0, 3, 8])), expected)
