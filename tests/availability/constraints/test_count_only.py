"""Constraints on the number of clients alone."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

import numpy as np
import pytest

from f3ast_tff.availability import (
    CommunicationConstraint,
    CycleK,
    FixedK,
    HoldK,
    MarkovK,
    PoissonK,
    StepsK,
    UniformK,
)

ALL: dict[str, CommunicationConstraint] = {
    "fixed": FixedK(clients_per_round=3),
    "cycle": CycleK("2,5"),
    "hold": HoldK("2,5"),
    "steps": StepsK("1=2,4=7"),
    "uniform": UniformK("2:6"),
    "poisson": PoissonK("4.0", 9),
    "markov": MarkovK("1,4,8:0.8"),
}


def k(constraint: CommunicationConstraint, rounds: Iterable[int]) -> list[int]:
    return [constraint.limit(t).k for t in rounds]


each = pytest.mark.parametrize("constraint", ALL.values(), ids=ALL)


@each
def test_k_is_a_function_of_the_round_within_its_bounds(
    constraint: CommunicationConstraint,
) -> None:
    forward = k(constraint, range(1, 200))
    assert k(constraint, range(199, 0, -1)) == forward[::-1]
    assert min(forward) >= 1
    assert max(forward) <= constraint.largest_k


@each
def test_only_the_number_counts(constraint: CommunicationConstraint) -> None:
    assert all(constraint.limit(t).counts_only for t in range(1, 30))


@each
def test_mean_k_is_that_of_many_rounds(constraint: CommunicationConstraint) -> None:
    """Rounds 5 to 4004. The mean of `markov` has standard error 2.9 * 3 / sqrt(4000) = 0.14."""
    drawn = k(constraint, range(5, 4005))
    assert isinstance(constraint.mean_k, float)
    assert abs(np.mean(drawn) - constraint.mean_k) < 4.5 * 0.14


def test_mean_k_by_hand() -> None:
    """Poisson with mean 1, clipped to 1..2: P(K = 2) = 1 - 2 / e."""
    assert CycleK("2,5").mean_k == 3.5
    assert HoldK("2,5").mean_k == StepsK("1=2,9=5").mean_k == 5
    assert UniformK("2:5").mean_k == 3.5
    assert MarkovK("1,4,4:0.8").mean_k == 3
    assert PoissonK("1.0", 2).mean_k == pytest.approx(2 - 2 / np.e)
    assert PoissonK("20.0", 1000).mean_k == pytest.approx(20)
    assert (PoissonK("1e-9", 5).mean_k, PoissonK("1e6", 5).mean_k) == (pytest.approx(1), 5)


def test_schedules_by_hand() -> None:
    assert k(FixedK(clients_per_round=12), (1, 50)) == [12, 12]
    assert k(CycleK("2,5,9"), range(1, 6)) == [2, 5, 9, 2, 5]
    assert k(HoldK("2,5,9"), range(1, 6)) == [2, 5, 9, 9, 9]
    assert k(StepsK("1=4,3=2,5=8"), (1, 2, 3, 4, 5, 99)) == [4, 4, 2, 2, 8, 8]


def test_uniform_takes_each_value_alike() -> None:
    """3000 draws from 3 values: about 1000 each, with standard deviation 26."""
    counts = Counter(k(UniformK("2:4", seed=1), range(1, 3001)))
    assert sorted(counts) == [2, 3, 4]
    assert all(abs(count - 1000) < 5 * 26 for count in counts.values())


def test_poisson_has_its_mean_and_variance() -> None:
    """Mean and variance are 20. Over 3000 rounds their standard errors are 0.082 and 0.52."""
    drawn = k(PoissonK("20.0", 1000, seed=1), range(1, 3001))
    assert abs(np.mean(drawn) - 20) < 5 * 0.082
    assert abs(np.var(drawn) - 20) < 5 * 0.53
    assert set(k(PoissonK("1e-9", 5), range(1, 50))) == {1}
    assert set(k(PoissonK("1e6", 5), range(1, 50))) == {5}


def test_markov_is_uniform_with_memory() -> None:
    """Two levels, memory 0.8: each level half of the time, correlation of successive K_t 0.8.

    Over 2000 rounds the mean has standard error 0.5 sqrt(1.8 / 0.2 / 2000) = 0.034, and the
    correlation about sqrt((1 - 0.64) / 2000) = 0.013.
    """
    constraint = MarkovK("1,2:0.8", seed=1)
    high = np.array(k(constraint, range(1, 2001))) - 1
    assert abs(high.mean() - 0.5) < 5 * 0.034
    assert abs(np.corrcoef(high[1:], high[:-1])[0, 1] - 0.8) < 5 * 0.013


def test_rounds_before_the_first_are_refused() -> None:
    with pytest.raises(ValueError, match="round 0"):
        MarkovK("1,2:0.5").limit(0)


def test_random_k_depends_on_the_seed() -> None:
    for one, other in (
        (UniformK("1:50", seed=1), UniformK("1:50", seed=2)),
        (PoissonK("30.0", 99, seed=1), PoissonK("30.0", 99, seed=2)),
        (MarkovK("1,2,3:0.5", seed=1), MarkovK("1,2,3:0.5", seed=2)),
    ):
        assert k(one, range(1, 30)) != k(other, range(1, 30))
