"""A minimum separation between two selections of a client."""

from __future__ import annotations

import numpy as np
import pytest

from f3ast_tff.availability import IndependentAvailability
from f3ast_tff.core.errors import ParameterError
from f3ast_tff.methods.f3ast import F3AST
from f3ast_tff.methods.fedavg import Proportional, Uniform
from f3ast_tff.methods.parts.constraint import RoundConstraint
from f3ast_tff.methods.parts.rates import ParticipationRates
from f3ast_tff.methods.parts.strategy import Round, Strategy, cohort_of
from f3ast_tff.methods.parts.wrappers import Separated
from f3ast_tff.run.build import Builder
from f3ast_tff.settings.resolve import resolve

N = 12


def selected(strategy: Strategy, mask: np.ndarray, k: int, rounds: int) -> np.ndarray:
    seen = np.zeros((rounds, len(mask)), bool)
    for t in range(1, rounds + 1):
        ids = cohort_of(strategy, Round(t, mask, RoundConstraint(k))).ids
        seen[t - 1, ids] = True
    return seen


def test_two_clients_by_hand() -> None:
    """R = 2 and K = 1: whoever was selected rests for two rounds, the third is empty."""
    strategy = Separated(Uniform(np.ones(2)), 2, 2)
    sizes = []
    for t in range(1, 8):
        sizes.append(len(cohort_of(strategy, Round(t, np.ones(2, bool), RoundConstraint(1)))))
    assert sizes == [1, 1, 0, 1, 1, 0, 1]


def test_all_take_turns() -> None:
    """12 clients, K = 3, R = 3: 12 - 3 x 3 = 3 are free in every round, so each has its turn."""
    seen = selected(Separated(Uniform(np.ones(N)), 3, N), np.ones(N, bool), 3, 40)
    assert np.array_equal(seen[4:], seen[:-4])
    assert np.all(seen.reshape(10, 4, N).sum(axis=1) == 1)


def test_frequencies() -> None:
    """K = N, available with q = 0.4, R = 5: gaps are R + Geometric(q), rate q / (1 + R q).

    A gap has mean 7.5 and variance (1 - q) / q^2 = 3.75: in 1500 rounds a client has some 200
    selections, of variance 1500 x 3.75 / 7.5^3 = 13.3.
    """
    process = IndependentAvailability(np.full(50, 0.4), 1)
    strategy = Separated(Uniform(np.ones(50)), 5, 50)
    counts, last = np.zeros(50), np.full(50, -99)
    for t in range(1, 1501):
        ids = cohort_of(strategy, Round(t, process.mask(t), RoundConstraint(50))).ids
        assert (t - last[ids] > 5).all()
        counts[ids] += 1
        last[ids] = t
    assert np.all(np.abs(counts - 1500 / 7.5) < 5 * np.sqrt(13.3) + 1)


@pytest.mark.parametrize("stop", [1, 5, 9])
def test_resumed_is_uninterrupted(stop: int) -> None:
    def new() -> Separated:
        return Separated(F3AST(np.full(N, 1 / N), ParticipationRates(np.full(N, 0.5), 0.1)), 4, N)

    mask = np.arange(N) % 5 > 0
    expected = selected(new(), mask, 2, 12)
    first, second = new(), new()
    for t in range(1, stop + 1):
        cohort_of(first, Round(t, mask, RoundConstraint(2)))
    second.restore(first.state())
    for t in range(stop + 1, 13):
        ids = cohort_of(second, Round(t, mask, RoundConstraint(2))).ids
        assert np.array_equal(np.sort(ids), np.flatnonzero(expected[t - 1]))
    with pytest.raises(ValueError, match="saved selections lack free_from"):
        new().restore({"rates": np.ones(N)})


def test_lost_updates_reach_the_strategy_inside() -> None:
    """Two of three are asked, one is lost: its rate decays as if it had not been selected."""
    rates = ParticipationRates(np.full(3, 0.5), 0.1)
    strategy = Separated(F3AST(np.full(3, 1 / 3), rates, random_ties=False), 1, 3)
    now = Round(1, np.ones(3, bool), RoundConstraint(2))
    kept = cohort_of(strategy, now, np.array([True, False, True]))
    assert kept.ids.tolist() == [0]
    np.testing.assert_allclose(strategy.participation_rates(), [0.55, 0.45, 0.45])
    # Both rest, also the one that was lost: it was selected.
    assert cohort_of(strategy, Round(2, np.ones(3, bool), RoundConstraint(2))).ids.tolist() == [2]


def test_a_client_drawn_twice_in_a_round_rests_once() -> None:
    strategy = Separated(Proportional(np.array([1.0]), np.ones(1), replace=True), 1, 1)
    one = np.ones(1, bool)
    sizes = [len(cohort_of(strategy, Round(t, one, RoundConstraint(3)))) for t in (1, 2, 3)]
    assert sizes == [3, 0, 3]


@pytest.mark.parametrize("algorithm", ["f3ast", "mifa", "fedavg"])
def test_by_its_setting(algorithm: str) -> None:
    small = {"num_clients": 12, "clients_per_round": 3, "rounds": 8, "availability": "always"}
    configuration = resolve({"algorithm": algorithm, "selection_separation": 3, **small})
    strategy = Builder(configuration).strategy
    assert isinstance(strategy, Separated)
    seen = selected(strategy, np.ones(12, bool), 3, 8)
    assert seen.reshape(2, 4, 12).sum(axis=1).max() == 1


def test_the_released_code_does_not_rest() -> None:
    """Where K are not available it trains others, also those who rest."""
    given = {"selection_separation": 3, "short_rounds": "fill_unavailable"}
    with pytest.raises(ParameterError, match="short_rounds = fill_unavailable: must be"):
        resolve(given)
