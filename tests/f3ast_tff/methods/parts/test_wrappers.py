"""Wrappers of a strategy: minimum separation, and shares among present clients."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from f3ast_tff.availability import Stays
from f3ast_tff.core.errors import ParameterError
from f3ast_tff.core.rates import ParticipationRates
from f3ast_tff.core.round_constraint import RoundConstraint
from f3ast_tff.methods.f3ast import F3AST
from f3ast_tff.methods.fedau import FedAU
from f3ast_tff.methods.fedavg import FedAvg, Uniform
from f3ast_tff.methods.fedlaavg import FedLaAvg
from f3ast_tff.methods.oort_loss import OortLoss
from f3ast_tff.methods.parts.algorithm import StrategyContext
from f3ast_tff.methods.parts.all_available import AllAvailable
from f3ast_tff.methods.parts.strategy import Outcome, Round, Strategy, cohort_of
from f3ast_tff.methods.parts.wrappers import OfThosePresent, Separated
from f3ast_tff.methods.power_of_choice import PowerOfChoice
from f3ast_tff.run.build import Builder
from f3ast_tff.run.given_objects import settings_of
from f3ast_tff.settings.configuration import Configuration
from f3ast_tff.settings.registry import builtin_registry
from f3ast_tff.settings.resolve import resolve
from tests.f3ast_tff.methods.small_world import config, played, small_world

N = 12


def selected(strategy: Strategy, mask: np.ndarray, k: int, rounds: int) -> np.ndarray:
    seen = np.zeros((rounds, len(mask)), bool)
    for t in range(1, rounds + 1):
        ids = played(strategy, t, mask, k).ids
        seen[t - 1, ids] = True
    return seen


def test_a_wrapper_breaks_the_rules_that_its_strategy_breaks() -> None:
    class Plain:
        """Has none of the optional attributes."""

    rates = ParticipationRates(np.ones(2), 0.1)
    filling = F3AST.tracking(np.full(2, 0.5), rates, short_rounds="fill_unavailable")
    assert Separated(filling, 1, 2).may_select == {"unavailable"}
    assert Separated(Plain(), 1, 2).may_select == frozenset()  # type: ignore[arg-type]
    assert Separated(Plain(), 1, 2).participation_rates() is None  # type: ignore[arg-type]


def test_arrived_updates_and_the_checkpoint_are_those_of_the_strategy_inside() -> None:
    """FedAvg in time drops updates of earlier rounds."""
    in_time = config("fedavg_in_time").build(small_world())
    wrapped = Separated(in_time, 1, 6)
    now = Round(3, np.ones(6, bool), RoundConstraint(2))
    assert wrapped.admit(now, np.array([3, 2])).enters.tolist() == [True, False]
    assert [*wrapped.state()] == [*in_time.state(), "free_from"]


def test_two_clients_by_hand() -> None:
    """R = 2 and K = 1: a selected client rests for two rounds, so each third round is empty."""
    strategy = Separated(Uniform.start([0.5, 0.5], 2), 2, 2)
    sizes = []
    for t in range(1, 8):
        sizes.append(len(played(strategy, t, np.ones(2, bool), 1)))
    assert sizes == [1, 1, 0, 1, 1, 0, 1]


def test_all_take_turns() -> None:
    """12 clients, K = 3, R = 3: each round has 12 - 3 x 3 = 3 free clients, so all take turns."""
    seen = selected(Separated(Uniform.start(np.full(N, 1 / N), 1), 3, N), np.ones(N, bool), 3, 40)
    assert np.array_equal(seen[4:], seen[:-4])
    assert np.all(seen.reshape(10, 4, N).sum(axis=1) == 1)


@pytest.mark.parametrize("stop", [1, 5, 9])
def test_resumed_is_uninterrupted(stop: int) -> None:
    def new() -> Separated:
        return Separated(
            F3AST.tracking(np.full(N, 1 / N), ParticipationRates(np.full(N, 0.5), 0.1)), 4, N
        )

    mask = np.arange(N) % 5 > 0
    expected = selected(new(), mask, 2, 12)
    first, second = new(), new()
    for t in range(1, stop + 1):
        played(first, t, mask, 2)
    second.restore(first.state())
    for t in range(stop + 1, 13):
        ids = played(second, t, mask, 2).ids
        assert np.array_equal(np.sort(ids), np.flatnonzero(expected[t - 1]))


def test_lost_updates_reach_the_strategy_inside() -> None:
    """Two of three are asked, one is lost: its rate decays as if it had not been selected."""
    rates = ParticipationRates(np.full(3, 0.5), 0.1)
    strategy = Separated(F3AST.tracking(np.full(3, 1 / 3), rates, ties="lowest_id"), 1, 3)
    now = Round(1, np.ones(3, bool), RoundConstraint(2))
    kept = cohort_of(strategy, now, np.array([True, False, True]))
    assert kept.ids.tolist() == [0]
    np.testing.assert_allclose(strategy.participation_rates(), [0.55, 0.45, 0.45])
    # Both rest, also the client with the lost update: it was selected.
    assert played(strategy, 2, np.ones(3, bool), 2).ids.tolist() == [2]


def test_a_client_drawn_twice_in_a_round_rests_once() -> None:
    strategy = Separated(FedAvg.start([1.0], 1), 1, 1)
    one = np.ones(1, bool)
    sizes = [len(played(strategy, t, one, 3)) for t in (1, 2, 3)]
    assert sizes == [3, 0, 3]


@pytest.mark.parametrize("algorithm", ["f3ast", "mifa", "fedavg"])
def test_by_its_setting(algorithm: str) -> None:
    small = {"num_clients": 12, "clients_per_round": 3, "rounds": 8, "availability": "always"}
    configuration = resolve({"algorithm": algorithm, "selection_separation": 3, **small})
    strategy = Builder(configuration).strategy
    assert isinstance(strategy, Separated)
    seen = selected(strategy, np.ones(12, bool), 3, 8)
    assert seen.reshape(2, 4, 12).sum(axis=1).max() == 1


P = np.array([0.5, 0.25, 0.25])
# Client 0 leaves after round 2; client 2 joins in round 2.
STAYS = Stays(np.array([1, 1, 2]), np.array([2, 9, 9]), 0, 10)


def f3ast(p: np.ndarray = P, beta: float = 0.1) -> F3AST:
    return F3AST.tracking(p, ParticipationRates(np.full(len(p), 0.5), beta))


def test_f3ast_by_hand() -> None:
    """K = 1, beta = 0.1. A joining client starts at rate K / N_t.

    Round 1: p = (2/3, 1/3, 0), r = (1/2, 1/2): client 0, r_0 = 0.45 + 0.1.

    Round 2: p = (1/2, 1/4, 1/4), r = (0.55, 0.45, 1/3), p / r = (0.91, 0.56, 0.75): client 0.

    Round 3: p = (0, 1/2, 1/2), r = (., 0.405, 0.3): client 2, r_2 = 0.27 + 0.1.
    """
    strategy = OfThosePresent(F3AST.tracking(P, ParticipationRates(P, 0.1)), STAYS, P, mean_k=1)
    start = strategy.participation_rates()
    assert start is not None and start[:2].tolist() == [0.5, 0.5]
    found = []
    for t in (1, 2, 3):
        cohort = played(strategy, t, STAYS.mask(t), 1)
        found.append((int(cohort.ids[0]), float(cohort.weights[0])))
    assert [client for client, _ in found] == [0, 0, 2]
    np.testing.assert_allclose([w for _, w in found], [2 / 3 / 0.55, 0.5 / 0.595, 0.5 / 0.37])
    rates = strategy.participation_rates()
    assert rates is not None
    np.testing.assert_allclose(rates[1:], [0.3645, 0.37])


def test_a_client_alone_starts_at_the_rate_of_always() -> None:
    alone = Stays(np.array([1, 3, 3]), np.full(3, 9), 0, 10)
    strategy = OfThosePresent(f3ast(), alone, P, mean_k=1)
    rates = strategy.participation_rates()
    assert rates is not None and rates[0] == 1


def test_a_client_that_left_keeps_no_claim() -> None:
    """Without client 0 the weights are those of a world that only ever had clients 1 and 2."""
    strategy = OfThosePresent(AllAvailable.start(P, 1), STAYS, P, mean_k=3)
    for t, weights in ((1, [2 / 3, 1 / 3]), (2, [0.5, 0.25, 0.25]), (3, [0.5, 0.5])):
        cohort = played(strategy, t, STAYS.mask(t), 3)
        np.testing.assert_allclose(cohort.weights, weights)


RENEWABLE: dict[str, Callable[[], Strategy]] = {
    "f3ast": f3ast,
    "proportional": lambda: FedAvg.start(P, 1, baseline_sampling="without_replacement"),
    "uniform": lambda: Uniform.start(P, 1),
    "power_of_choice": lambda: PowerOfChoice.start(P, 2, poc_candidates=2),
    "all_available": lambda: AllAvailable.start(P, 1),
    "fedau": lambda: FedAU.start(P, 3),
    "oort": lambda: OortLoss.start(P, 2, sizes=[50, 25, 25]),
}


@pytest.mark.parametrize("name", RENEWABLE)
@pytest.mark.parametrize("stop", [1, 2, 3])
def test_resumed_is_uninterrupted_of_those_present(name: str, stop: int) -> None:
    def rounds(strategy: OfThosePresent, first: int, last: int) -> list[tuple[list, list]]:
        found = []
        for t in range(first, last + 1):
            cohort = played(strategy, t, STAYS.mask(t), 2, lambda ids: ids + 1.0)
            delivered = np.arange(len(cohort)) != 1
            strategy.observe(t, Outcome(cohort.ids, delivered, np.ones(len(cohort))))
            found.append((cohort.ids.tolist(), cohort.weights.tolist()))
        return found

    def new() -> OfThosePresent:
        return OfThosePresent(RENEWABLE[name](), STAYS, P, mean_k=2)

    expected = rounds(new(), 1, 6)
    first, second = new(), new()
    rounds(first, 1, stop)
    second.restore(first.state())
    assert rounds(second, stop + 1, 6) == expected[stop:]


def test_fedau_counts_from_the_round_of_joining() -> None:
    """Client 2 joins in round 2 and first takes part in round 3: its interval is 2."""
    strategy = OfThosePresent(FedAU.start(P, 3), STAYS, P, mean_k=3)
    for t in (1, 2, 3):
        mask = STAYS.mask(t) & np.array([True, True, t == 3])
        ids = played(strategy, t, mask, 3).ids
        strategy.observe(t, Outcome(ids, np.ones(len(ids), bool), np.zeros(len(ids))))
    assert strategy.state()["mean_interval"][1:].tolist() == [1, 2]


def test_late_updates_of_a_round_without_anybody_weigh_as_without_a_stop() -> None:
    """The shares of the last round with clients stay, also for a strategy restored in between."""

    class Leaving:
        def present(self, round_number: int) -> np.ndarray:
            return np.array([True, round_number < 2, False]) & (round_number < 3)

    def new() -> OfThosePresent:
        return OfThosePresent(AllAvailable.start(P, 1), Leaving(), P, mean_k=2)

    uninterrupted, restored = new(), new()
    for t in (1, 2):
        played(uninterrupted, t, Leaving().present(t), 2)
    restored.restore(uninterrupted.state())
    nobody = Round(3, np.zeros(3, bool), RoundConstraint(2), asked_in=np.array([2]))
    late = np.array([0]), np.array([True])
    weights = [
        strategy.weigh(nobody, *late).weights.tolist() for strategy in (uninterrupted, restored)
    ]
    assert weights == [[1.0], [1.0]]


def test_nobody_present_is_an_empty_round() -> None:
    away = Stays(np.full(3, 2), np.full(3, 2), 0, 10)
    strategy = OfThosePresent(f3ast(), away, P, mean_k=2)
    sizes = [len(played(strategy, t, away.mask(t), 2)) for t in (1, 2, 3)]
    assert sizes == [0, 2, 0]


def test_what_cannot_follow_is_refused() -> None:
    with pytest.raises(ParameterError, match="present: FedLaAvg does not know clients that"):
        OfThosePresent(FedLaAvg.start(P, 1), STAYS, P, mean_k=1)


def built(**settings: Any) -> tuple[Configuration, StrategyContext, Strategy]:
    small = {"num_clients": 12, "clients_per_round": 12, "rounds": 6}
    configuration = resolve({**small, **settings})
    builder = Builder(configuration)
    return configuration, builder.world, builder.strategy


def test_by_settings() -> None:
    """Shares among present clients: by default for a population, else on request."""
    configuration, world, strategy = built(availability="poisson_arrivals")
    assert configuration.settings["client_share_of"] == "present"
    assert isinstance(strategy, OfThosePresent)
    leaving = {"availability": "arrival_departure", "algorithm": "fedavg_all"}
    configuration, _, plain = built(**leaving)
    assert isinstance(plain, AllAvailable)
    _, world, renewed = built(**leaving, client_share_of="present")
    for t in range(1, 7):
        cohort = played(renewed, t, world.availability.mask(t), 12)
        assert cohort.weights.sum() == pytest.approx(1)


def test_an_availability_process_of_ones_own() -> None:
    """It is a population if it has `present`; its shares are among present clients on request."""
    own = Stays(np.ones(12, np.int64), np.arange(1, 13), 0, 12)
    given = {"availability": own, "num_clients": 12, "clients_per_round": 3}
    for share_of, kind in (("all", F3AST), ("present", OfThosePresent)):
        settings, registry = settings_of({**given, "client_share_of": share_of}, builtin_registry())
        assert type(Builder(resolve(settings, registry)).strategy) is kind


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"algorithm": "mifa"}, "aggregation mifa remembers clients that have left"),
        ({"algorithm": "unbiased"}, "Unbiased does not know clients that join and leave"),
        ({"availability": "always"}, "clients of always neither join nor leave"),
    ],
)
def test_settings_that_cannot_be_together(given: dict[str, str], message: str) -> None:
    base = {"availability": "poisson_arrivals", "client_share_of": "present"}
    with pytest.raises(ParameterError, match=message):
        built(**{**base, **given})
