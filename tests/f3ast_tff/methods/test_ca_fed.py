"""CA-Fed: Algorithm 1 round by round, the excluded clients, and the inputs of its server."""

from __future__ import annotations

from fractions import Fraction
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from f3ast_tff.availability import FourClassesConfig, IndependentAvailability, MarkovClustersConfig
from f3ast_tff.core.errors import ParameterError
from f3ast_tff.methods.ca_fed import CAFed, TotalError, exclude, included_clients
from f3ast_tff.methods.parts.availability_knowledge import EstimatedAvailability, KnownAvailability
from f3ast_tff.methods.parts.loss_estimates import LossEstimates, trained_minima
from f3ast_tff.methods.unbiased import Unbiased
from tests.f3ast_tff.methods.small_world import Spy, config, played, small_world

P = np.array([0.5, 0.25, 0.25])
PI = np.array([0.5, 0.8, 0.4])
EIGENVALUE = np.array([0.0, 0.1, 0.9])
ALL = np.ones(3, bool)


def ca_fed(**given: Any) -> CAFed:
    """CA-Fed with the oracle and minima of 0, so that gaps equal losses."""
    return with_minima_of_0(CAFed.knowing(P, KnownAvailability(PI, EIGENVALUE), **given))


def with_minima_of_0(strategy: CAFed) -> CAFed:
    n = len(strategy.p)
    strategy.kept["losses_"] = LossEstimates(n, minima=np.zeros(n))
    return strategy


def test_factor_4_or_1() -> None:
    """Losses (1, 1, 1.5), kappa^2 = 1, Gamma' = 1.5; clients are tried by lambda: 2, 1, 0.

    With all clients the error is 0.5 + 0.25 + 0.375 = 1.125. Without 2 it is 1 + factor * 1.5 / 16:
    1.375 for the paper's 4, and 1.094 for the released 1.

    So the released code excludes client 2, and then stops: without 1 as well it is 1 + 1.5 / 4;
    without 0, 1 + 1.5 * 9 / 16. The paper excludes no client: without 1 alone it is
    0.875 / 0.75 + 6 / 16; without 0 alone, 0.625 / 0.5 + 6 / 4. Weights are p / pi.
    """
    for form, ids, weights in (
        ("paper", [0, 1, 2], [1, 0.3125, 0.625]),
        ("released", [0, 1], [1, 0.3125]),
    ):
        spy = Spy([1.0, 1.0, 1.5])
        cohort = played(ca_fed(ca_fed_bias=form), 1, ALL, 3, spy)
        assert cohort.ids.tolist() == ids
        np.testing.assert_allclose(cohort.weights, weights)
        assert spy.asked == [[0, 1, 2]]


def test_the_excluded_report_and_do_not_train() -> None:
    """Only client 2 is available, and it is excluded: it is asked, but the cohort is empty."""
    strategy = ca_fed(ca_fed_bias="released")
    played(strategy, 1, ALL, 3, Spy([1.0, 1.0, 1.5]))
    spy = Spy([1.0, 1.0, 1.5])
    cohort = played(strategy, 2, np.array([False, False, True]), 3, spy)
    assert spy.asked == [[2]]
    assert len(cohort) == 0
    assert strategy.included().tolist() == [True, True, False]
    # Once its loss equals the other losses, it is included again.
    again = played(strategy, 3, np.array([False, False, True]), 3, Spy([1.0, 1.0, 1.0]))
    assert again.ids.tolist() == [2]


def test_small_kappa_excludes_more() -> None:
    rng = np.random.default_rng(0)
    n = 100
    pi, eigenvalue = rng.choice([0.1, 0.9], n), rng.choice([0.0, 0.9], n)
    p, losses = rng.dirichlet(np.full(n, 5.0)), rng.random(n)
    included = []
    for kappa2 in (1e-2, 1e-1, 1.0, 10.0, 100.0, 1e4):
        strategy = with_minima_of_0(
            CAFed.knowing(p, KnownAvailability(pi, eigenvalue), kappa2=kappa2)
        )
        played(strategy, 1, np.ones(n, bool), n, lambda ids: losses[ids])
        included.append(int(strategy.included().sum()))
    assert included == sorted(included)
    assert included[0] < n / 2
    assert included[-1] == n


def test_first_round_with_running_minima() -> None:
    """All gaps are 0: by Sec. IV-A no error falls and all stay; by line 19 all except one go."""
    for form, expected in (("paper", [0, 1, 2]), ("released", [0])):
        strategy = CAFed.knowing(P, KnownAvailability(PI, EIGENVALUE), ca_fed_bias=form)
        # Client 0, with the smallest lambda, is tried last.
        assert played(strategy, 1, ALL, 3, Spy([1.0, 2.0, 3.0])).ids.tolist() == expected


@pytest.mark.long
@settings(max_examples=40)
@given(st.integers(0, 2**32 - 1), st.integers(1, 12), st.booleans())
def test_large_kappa_is_unbiased_bit_for_bit(seed: int, k: int, oracle: bool) -> None:
    rng = np.random.default_rng(seed)
    n = 10
    p, pi = rng.dirichlet(np.full(n, 3.0)) * 0.9 + 0.01, rng.uniform(0.1, 0.9, n)
    activities = [
        KnownAvailability(pi, rng.uniform(0, 0.9, n)) if oracle else EstimatedAvailability(n)
        for _ in range(2)
    ]
    ca_fed_ = CAFed.knowing(p, activities[0], loss_beta=0.5, kappa2=1e12, seed=seed % 1000)
    unbiased = Unbiased.knowing(p, activities[1], seed=seed % 1000)
    for t in range(1, 16):
        mask, losses = rng.random(n) < pi, rng.random(n)
        found = played(ca_fed_, t, mask, k, lambda ids, losses=losses: losses[ids])
        expected = played(unbiased, t, mask, k)
        np.testing.assert_array_equal(found.ids, expected.ids)
        np.testing.assert_array_equal(found.weights, expected.weights)


def test_small_k_asks_and_trains_at_most_k() -> None:
    """Two of three are drawn, asked, and weigh 3 / 2 of p / pi; over 60 rounds all pairs occur."""
    strategy, pairs = ca_fed(kappa2=1e9), set()
    for t in range(1, 61):
        spy = Spy([1.0, 1.0, 1.0])
        cohort = played(strategy, t, ALL, 2, spy)
        assert spy.asked == [cohort.ids.tolist()]
        np.testing.assert_allclose(cohort.weights, 1.5 * (P / PI)[cohort.ids])
        pairs.add(tuple(cohort.ids))
    assert pairs == {(0, 1), (0, 2), (1, 2)}


def test_estimated_activity_decides_with_the_round_it_sees() -> None:
    """Beta(1, 1), one round: available clients have pi = 2 / 3, so they weigh 1.5 p."""
    strategy = CAFed.knowing(P, EstimatedAvailability(3))
    cohort = played(strategy, 1, np.array([True, False, True]), 3, Spy([1.0] * 3))
    np.testing.assert_allclose(cohort.weights, 1.5 * P[[0, 2]])


def test_shares_of_another_sum_are_refused() -> None:
    with pytest.raises(ValueError, match="p sums to 0.75"):
        CAFed.knowing(np.array([0.5, 0.25, 0.0]), KnownAvailability(PI, EIGENVALUE))


MARGIN = 1e-9


class Literal:
    """Lines 5-7 and 13-22 with fractions: weights q, a product pi * q, a total variation distance.

    `closest` is the distance of the closest decision from its opposite.
    """

    def __init__(
        self, alpha: list[Fraction], gap: list[Fraction], gamma: Fraction, bias: Fraction
    ) -> None:
        self.alpha, self.gap, self.gamma, self.bias = alpha, gap, gamma, bias
        self.closest = Fraction(10**9)

    def error(self, q: list[Fraction], pi: list[Fraction]) -> Fraction:
        product = [a * b for a, b in zip(pi, q)]
        biased = [value / sum(product) for value in product]
        distance = sum(abs(a - b) for a, b in zip(self.alpha, biased)) / 2
        loss = sum(a * b for a, b in zip(self.gap, biased))
        return loss + self.bias * distance**2 * self.gamma

    def get(
        self, q: list[Fraction], pi: list[Fraction], rho: list[Fraction], tau: Fraction
    ) -> list[Fraction]:
        order = sorted(range(len(q)), key=lambda k: -rho[k])
        error = self.error(q, pi)
        for k in order:
            fewer = [Fraction(0) if j == k else value for j, value in enumerate(q)]
            if not any(fewer):
                continue
            smaller = self.error(fewer, pi)
            if q[k]:
                self.closest = min(self.closest, abs(error - smaller - tau))
            if error - smaller >= tau:
                error, q = smaller, fewer
        return q

    def included(self, pi: list[Fraction], eigenvalue: list[Fraction], tau: Fraction) -> list[bool]:
        q = [a / b for a, b in zip(self.alpha, pi)]
        q = self.get(q, pi, [abs(value) for value in eigenvalue], tau)
        q = self.get(q, pi, [-value for value in pi], tau)
        return [value > 0 for value in q]


def floats(values: list[Fraction]) -> np.ndarray:
    return np.array([float(value) for value in values])


@settings(max_examples=100)
@given(st.data())
def test_as_algorithm_1_reads(data: st.DataObject) -> None:
    n = data.draw(st.integers(1, 8))

    def numbers(least: int, most: int, over: int) -> list[Fraction]:
        drawn = data.draw(st.lists(st.integers(least, most), min_size=n, max_size=n))
        return [Fraction(value, over) for value in drawn]

    sizes, gap = numbers(1, 30, 1), numbers(-2, 40, 8)
    pi, eigenvalue = numbers(1, 20, 20), numbers(-9, 9, 10)
    bias = Fraction(data.draw(st.integers(0, 60)), 10)
    tau = Fraction(data.draw(st.sampled_from([0, 0, 1, 5])), 50)
    alpha = [size / sum(sizes) for size in sizes]
    gamma = max(Fraction(0), *gap)
    literal = Literal(alpha, gap, gamma, bias)
    expected = literal.included(pi, eigenvalue, tau)
    assume(literal.closest > MARGIN)

    error = TotalError(floats(alpha), floats(gap), float(gamma), float(bias))
    for strict in (False, True):
        found = included_clients(error, floats(eigenvalue), floats(pi), float(tau), strict=strict)
        assert found.tolist() == expected


def test_by_hand() -> None:
    """alpha = (1/2, 1/4, 1/4), gaps (1, 1, 3), w Gamma' = 1; tried in the order 2, 1, 0.

    With all clients the error is 0.5 + 0.25 + 0.75 = 1.5. Without 2 it is 1 + (1/4)^2 = 1.0625, so
    client 2 goes. Without 1 too it would be 1 + (1/2)^2 = 1.25; without 0, 1 + (3/4)^2. So both
    stay. A tau of 0.5 keeps client 2 as well.
    """
    error = TotalError(np.array([0.5, 0.25, 0.25]), np.array([1.0, 1.0, 3.0]), 3.0, 1 / 3)
    everybody, order = np.ones(3, bool), np.array([2, 1, 0])
    assert exclude(error, everybody, order, 0.0, strict=True).tolist() == [True, True, False]
    assert exclude(error, everybody, order, 0.5, strict=True).tolist() == [True, True, True]
    assert everybody.all()


def test_the_largest_modulus_of_lambda_is_tried_first() -> None:
    """alpha = (0.3, 0.4, 0.3), gaps (3, 1, 3), w Gamma' = 3.5: only one of clients 0 and 2 can go.

    With all clients the error is 2.2. Without one of them it is 1.3 / 0.7 + 0.09 * 3.5 = 2.172.
    Without both it is 1 + 0.36 * 3.5 = 2.26, so the second stays. Client 1 is worth more than it
    costs: without it the error is 3 + 0.49 * 3.5.
    """
    error = TotalError(np.array([0.3, 0.4, 0.3]), np.array([3.0, 1.0, 3.0]), 3.5, 1.0)
    for eigenvalue, expected in (
        ([0.1, 0.0, -0.9], [True, True, False]),
        ([0.5, 0.0, -0.1], [False, True, True]),
    ):
        found = included_clients(error, np.array(eigenvalue), np.full(3, 0.5), 0.0, strict=True)
        assert found.tolist() == expected


def test_at_least_or_more_than_tau() -> None:
    """All gaps are 0, so exclusion changes nothing: "at least 0" keeps the last one tried."""
    error = TotalError(np.full(4, 0.25), np.zeros(4), 0.0, 4.0)
    eigenvalue, pi = np.array([0.9, 0.1, 0.5, 0.3]), np.full(4, 0.5)
    assert included_clients(error, eigenvalue, pi, 0.0, strict=True).all()
    kept = included_clients(error, eigenvalue, pi, 0.0, strict=False)
    assert np.flatnonzero(kept).tolist() == [1]


def test_importance_0_is_never_included_and_the_last_one_never_excluded() -> None:
    error = TotalError(np.array([0.0, 1.0]), np.array([0.0, 5.0]), 5.0, 0.0)
    assert exclude(error, np.ones(2, bool), np.arange(2), 0.0, strict=True).tolist() == [
        False,
        True,
    ]


def test_tiny_importance_does_not_divide_by_rounding_errors() -> None:
    """1 - (1 - 2e-17) is 0 in floats; the remaining clients have mean gap 1 instead of 0 / 0."""
    importance = np.array([1.0, 1e-17, 1e-17])
    error = TotalError(importance, np.array([4.0, 1.0, 1.0]), 4.0, 0.5)
    found = exclude(error, np.ones(3, bool), np.array([0, 1, 2]), 0.0, strict=True)
    assert found.tolist() == [False, True, True]


def test_equal_keys_are_tried_by_id() -> None:
    """No exclusion changes the error, which is "at least 0": the first goes, the last stays."""
    error = TotalError(np.array([0.5, 0.5]), np.array([2.0, 2.0]), 2.0, 0.0)
    found = included_clients(error, np.full(2, 0.9), np.full(2, 0.5), 0.0, strict=False)
    assert found.tolist() == [False, True]


def test_equal_pi_are_tried_by_id() -> None:
    """40 clients, alpha 1/40, w Gamma' = 4; gaps 0 (clients 0 to 19), 1 (20 to 38) and 41 (39).

    By lambda, client 39 is last. Before it the mean gap is 60/40, so no other exclusion pays;
    without it, 19/39. By pi, those of gap 1 are first. After j of them, the next lowers the mean
    gap by 20 / ((39 - j) (38 - j)) and raises the bias by 4 ((j + 2)^2 - (j + 1)^2) / 1600: it pays
    for j = 0 (0.0135, 0.0075) and 1 (0.0142, 0.0125), not for 2 (0.0150, 0.0175).
    """
    gap = np.repeat([0.0, 1.0, 41.0], [20, 19, 1])
    pi, eigenvalue = np.where(gap == 1, 0.5, 0.9), np.where(gap == 41, 0.1, 0.9)
    error = TotalError(np.full(40, 1 / 40), gap, 1.0, 4.0)
    found = included_clients(error, eigenvalue, pi, 0.0, strict=True)
    assert np.flatnonzero(~found).tolist() == [20, 21, 39]


N = 8
EQUAL = np.full(N, 1 / N)


def built(algorithm: str, availability: Any, **given: Any) -> Any:
    return config(algorithm, **given).build(small_world(availability, p=EQUAL))


def test_oracle_knows_the_chains() -> None:
    world = FourClassesConfig().build(EQUAL, 0)
    made = built("ca_fed", world)
    np.testing.assert_allclose(made.knowledge.pi, world.stationary)
    np.testing.assert_allclose(made.knowledge.eigenvalue, world.eigenvalue)


def test_independent_clients_have_no_memory() -> None:
    made = built("ca_fed", IndependentAvailability(np.full(N, 0.3), 0))
    np.testing.assert_array_equal(made.knowledge.eigenvalue, 0)


def test_estimates_start_from_the_history() -> None:
    """After 400 rounds of pi = 0.9 and 0.1, the estimate is closer to the truth than 1/2."""
    world = FourClassesConfig().build(EQUAL, 0)
    fresh = built("ca_fed", world, availability_knowledge="estimated")
    np.testing.assert_array_equal(fresh.knowledge.pi, 0.5)
    made = built("ca_fed", world, availability_knowledge="estimated", availability_history=400)
    assert np.all(np.abs(made.knowledge.pi - world.stationary) < 0.3)


def test_oracle_knows_the_clusters() -> None:
    world = MarkovClustersConfig("0.9,0.1", "0,0.5").build(EQUAL, 0)
    made = built("ca_fed", world)
    np.testing.assert_allclose(made.knowledge.pi, [0.9] * 4 + [0.1] * 4)
    np.testing.assert_allclose(made.knowledge.eigenvalue, [0] * 4 + [0.5] * 4)
    assert made.knowledge.pi.shape == world.mask(1).shape


@pytest.mark.parametrize("algorithm", ["unbiased", "ca_fed"])
def test_oracle_of_what_nobody_knows_is_refused(algorithm: str) -> None:
    unknown = SimpleNamespace(stationary=None)
    with pytest.raises(
        ParameterError, match="availability_knowledge = oracle: is not known of SimpleNamespace"
    ):
        built(algorithm, unknown)


def test_unbiased_needs_no_eigenvalue() -> None:
    world = SimpleNamespace(num_clients=N, stationary=np.full(N, 0.5))
    np.testing.assert_array_equal(built("unbiased", world).knowledge.pi, 0.5)
    with pytest.raises(ParameterError, match="must be estimated"):
        built("ca_fed", world)


def test_f3ast_of_ca_feds_authors_takes_the_less_available() -> None:
    world = FourClassesConfig(markov_order="blocks").build(EQUAL, 0)
    made = built("f3ast_of_ca_fed", world, rate_beta=0.25)
    np.testing.assert_allclose(made.knowledge.pi, world.stationary)
    cohort = played(made, 1, np.ones(N, bool), 3)
    assert cohort.ids.tolist() == [4, 5, 6]


def test_the_preset_of_ca_feds_authors_is_their_released_code() -> None:
    made = config("ca_fed", "ca_fed").build(small_world())
    assert (made.bias_factor, made.strict) == (1, False)


def test_trained_minima_are_those_of_the_clients() -> None:
    """Each is the training loss of the client's own best model; running minima start at 0."""
    pytest.importorskip("scipy")
    world = small_world()
    running = config("ca_fed").build(world)
    np.testing.assert_array_equal(running.loss_estimates.minima, 0)
    made = config("ca_fed", loss_minima="trained").build(world)
    expected = trained_minima(world.model, world.preprocessing, world.train)
    assert np.all(expected > 0)
    np.testing.assert_array_equal(made.loss_estimates.minima, expected)


@pytest.mark.parametrize(
    ("tau", "kept"), [(0.15, [False, True, False]), (0.2, [True, True, False])]
)
def test_clients_excluded_before_count_as_bias(tau: float, kept: list[bool]) -> None:
    """Client 2 is out. Error 0.5 / 0.8 + 0.2^2 = 0.665, without client 0 also 0.7^2 = 0.49."""
    error = TotalError(np.array([0.5, 0.3, 0.2]), np.array([1.0, 0.0, 0.0]), 1.0, 1.0)
    before = np.array([True, True, False])
    assert exclude(error, before, np.arange(3), tau, strict=True).tolist() == kept
    nobody = np.zeros(3, bool)
    assert exclude(error, nobody, np.arange(3), tau, strict=True).tolist() == [False] * 3


def test_a_share_of_0_is_neither_asked_nor_drawn() -> None:
    """With K = 1 the drawn client stands for two: 2 p / pi."""
    spy, known = Spy([1.0, 1.0, 9.0]), KnownAvailability(np.full(3, 0.5), np.zeros(3))
    strategy = CAFed.knowing(np.array([0.5, 0.5, 0.0]), known)
    assert played(strategy, 1, np.ones(3, bool), 3, spy).ids.tolist() == [0, 1]
    assert spy.asked == [[0, 1]]
    assert played(strategy, 2, np.ones(3, bool), 1, spy).weights.tolist() == [2.0]
