"""The bias of LoRA factors under absence in closed form, and limits of methods by hand."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from f3ast_tff.analysis.studies.theory.factors import (
    SCHEMES,
    Chains,
    LocalWork,
    Moments,
    Round,
    deviation,
    linear_deviation,
    one_round,
    product_bias,
    two_rounds,
    weights_of_sets,
)
from f3ast_tff.analysis.studies.theory.optima import (
    HALVES,
    SIZES,
    N,
    Q,
    mean_weights,
    path,
    regimes,
)
from f3ast_tff.analysis.studies.theory.quadratics import Quadratics

M, R, N_IN, SCALE = 3, 2, 4, 0.7


def _round(random: np.random.Generator, n: int) -> Round:
    of_a, of_b = random.normal(size=(n, R, N_IN)), random.normal(size=(n, M, R))
    return Round(random.normal(size=(R, N_IN)), random.normal(size=(M, R)), of_a, of_b, SCALE)


def _sets(n: int) -> np.ndarray:
    return np.array(list(itertools.product((0.0, 1.0), repeat=n)))


def _after(scheme: str, now: Round, weights: np.ndarray) -> np.ndarray:
    """s B A and what went into W_0 after a round, client by client."""
    product, a, b = np.zeros((M, N_IN)), now.a.copy(), now.b.copy()
    if scheme == "factors" and weights.any():
        a, b = np.zeros_like(a), np.zeros_like(b)
    for w, of_a, of_b in zip(weights, now.of_a, now.of_b):
        if scheme == "factors":
            a, b = a + w * (now.a + of_a), b + w * (now.b + of_b)
        elif scheme == "exact":
            product += w * ((now.b + of_b) @ (now.a + of_a) - now.b @ now.a)
        else:
            a = a if scheme == "a_frozen" else a + w * of_a
            b = b if scheme == "b_frozen" else b + w * of_b
    return SCALE * (b @ a + product)


def _laws(random: np.random.Generator, n: int) -> list[tuple[np.ndarray, np.ndarray, np.ndarray]]:
    """Independent clients and two groups: sets, their chances, and E X_i X_j."""
    pi, sets = random.uniform(0.05, 0.95, n), _sets(n)
    independent = np.where(sets > 0, pi, 1 - pi).prod(axis=1)
    groups, q = _sets(2), np.array([0.3, 0.8])
    of_group = np.where(groups > 0, q, 1 - q).prod(axis=1)
    grouped = groups[:, np.arange(n) % 2]
    place = np.arange(n) % 2
    together = np.where(place[:, None] == place, q[place], q[0] * q[1])
    pairs = np.outer(pi, pi) * (1 - np.eye(n)) + np.diag(pi)
    return [(sets, independent, pairs), (grouped, of_group, together)]


@pytest.mark.parametrize("n", [2, 10])
@pytest.mark.parametrize("scheme", SCHEMES)
def test_one_round_is_the_mean_over_all_sets(scheme: str, n: int) -> None:
    random = np.random.default_rng(n)
    now, p = _round(random, n), random.dirichlet(np.ones(n))
    everyone = _after(scheme, now, p)
    for sets, chances, together in _laws(random, n):
        r = np.diag(together) * random.uniform(0.8, 1.2, n)
        closed = Moments.over_rates(p, r, together, float(chances[~sets.any(axis=1)].sum()))
        for moments, weights in (
            (closed, sets * p / r),
            (
                Moments.of_sets(weights_of_sets(p, sets), chances),
                np.array([s * p / max(s @ p, 1e-300) for s in sets]),
            ),
        ):
            after = np.array([_after(scheme, now, w) for w in weights])
            mean = np.tensordot(chances, after, axes=1)
            assert one_round(scheme, now, p, moments) == pytest.approx(mean - everyone, abs=1e-10)
            spread = chances @ ((after - mean) ** 2).sum(axis=(1, 2))
            assert deviation(scheme, now, weights, chances) ** 2 == pytest.approx(spread)
            if scheme not in ("factors", "changes"):
                assert linear_deviation(scheme, now, moments) ** 2 == pytest.approx(spread)


@pytest.mark.parametrize("n", [2, 5])
@pytest.mark.parametrize("factors", [False, True], ids=["changes", "factors"])
def test_two_rounds_are_the_mean_over_all_paths(factors: bool, n: int) -> None:
    """Two rounds of chains, with work that is affine in z = (B, A)."""
    random = np.random.default_rng(n)
    m, rank, d = 2, 1, 4
    p, pi = random.dirichlet(np.ones(n)), random.uniform(0.1, 0.9, n)
    rho, r = random.uniform(-0.1, 0.9, n), pi * random.uniform(0.8, 1.2, n)
    work = LocalWork(random.normal(size=d), *(random.normal(size=(n, d, *k)) for k in ((), (d,))))
    both = pi**2 + rho * pi * (1 - pi)
    chance = np.array([[1 - 2 * pi + both, pi - both], [pi - both, both]])

    def after(z: np.ndarray, weights: np.ndarray) -> np.ndarray:
        if not weights.any():
            return z
        new = 0 * z if factors else z.copy()
        for k, w in enumerate(weights):
            own = work.first[k] + work.slope[k] @ (z - work.start)
            new = new + w * (own + z if factors else own)
        return new

    def moments(z: np.ndarray) -> np.ndarray:
        return np.outer([1, *z], [1, *z])

    mean = -moments(after(after(work.start, p), p))
    sets = _sets(n).astype(int)
    for one, two in itertools.product(sets, repeat=2):
        z = after(after(work.start, one * p / r), two * p / r)
        mean += chance[one, two, np.arange(n)].prod() * moments(z)
    found = two_rounds(work, Chains(p, r, pi, rho), factors=factors)
    assert found == pytest.approx(mean, abs=1e-10, rel=1e-10)
    of_b, of_a = mean[1 : 1 + m * rank, 1 + m * rank :], 0.7
    assert product_bias(found, m, rank, of_a) == pytest.approx(of_a * of_b)


def test_persistence_alone_biases_a_linear_scheme_in_two_rounds() -> None:
    """With r = pi, E z_2 is off by sum_k p_k^2 (1 - pi_k) / pi_k rho_k H_k g_k."""
    random, n, d = np.random.default_rng(0), 10, 3
    p, pi, rho = random.dirichlet(np.ones(n)), random.uniform(0.1, 0.9, n), random.uniform(0, 1, n)
    work = LocalWork(*(random.normal(size=(*s, d)) for s in ((), (n,), (n, d))))
    each = p**2 * (1 - pi) / pi * rho
    expected = np.einsum("k,kde,ke->d", each, work.slope, work.first)
    found = two_rounds(work, Chains(p, pi, pi, rho))
    assert found[0, 1:] == pytest.approx(expected, abs=1e-10)
    assert two_rounds(work, Chains(p, pi, pi, 0 * rho))[0, 1:] == pytest.approx(0, abs=1e-10)


def test_who_is_seldom_there_lengthens_the_product_of_changes() -> None:
    """One round of p / r: sum_k p_k^2 (1 / r_k - 1) b_k a_k for changes, 0 for linear schemes."""
    random, n = np.random.default_rng(1), 6
    now, p, r = _round(random, n), np.full(n, 1 / n), np.linspace(0.05, 0.9, n)
    moments = Moments.of_independent(p, r, r)
    expected = SCALE * np.einsum("k,kmr,krn->mn", p**2 * (1 / r - 1), now.of_b, now.of_a)
    assert one_round("changes", now, p, moments) == pytest.approx(expected, abs=1e-12)
    for scheme in ("exact", "a_frozen", "b_frozen"):
        assert one_round(scheme, now, p, moments) == pytest.approx(0, abs=1e-12)


EQUAL = np.full(N, 1 / N)
OPTIMA = np.linspace(0, 1, N)
BY_NAME = {regime.name: regime for regime in regimes(SIZES)}
WORLD = Quadratics(EQUAL, np.ones((N, 1)), OPTIMA[:, None])


def weights(method: str, p: np.ndarray, name: str) -> np.ndarray:
    found = mean_weights(method, p, BY_NAME[name])
    assert found is not None
    return found


def test_weights_with_everybody_there() -> None:
    p = SIZES / SIZES.sum()
    np.testing.assert_allclose(weights("fedavg", p, "always"), p)
    np.testing.assert_allclose(weights("uniform", p, "always"), EQUAL)
    np.testing.assert_allclose(weights("fedavg_all", p, "always"), p * 3 / 8)
    np.testing.assert_allclose(weights("mifa", p, "always"), p)
    assert mean_weights("poc", p, BY_NAME["always"]) is None


def test_weights_by_turns() -> None:
    """Four clients have 6 of 8 rounds, four have 2: each has 1/4 of its half's time."""
    found = weights("fedavg", EQUAL, "by turns")
    np.testing.assert_allclose(found, np.where(HALVES == 0, 6 / 32, 2 / 32))


@pytest.mark.parametrize("name", list(BY_NAME))
def test_laws_are_those_of_the_process(name: str) -> None:
    """4,800 rounds; with correlation 0.9 they count as 253, with deviation at most 0.5."""
    process = BY_NAME[name].process(1)
    there = np.mean([process.mask(t) for t in range(1, 4801)], axis=0)
    chance = BY_NAME[name].shares @ BY_NAME[name].laws
    np.testing.assert_allclose(there, chance, atol=4 * 0.5 / np.sqrt(253))
    assert BY_NAME[name].shares.sum() == pytest.approx(1)


@pytest.mark.long
def test_methods_by_turns() -> None:
    """The optima of the halves have means 1.5 / 7 and 5.5 / 7; F's optimum is 1/2.

    FedAvg over all clients tends to 3/4 and 1/4 of these means, 2.5 / 7; MIFA tends to 1/2.
    """
    process = BY_NAME["by turns"].process(0)
    late = path("fedavg_all", WORLD, np.ones(N), process, 800, 0)[400:]
    assert late.mean() == pytest.approx(2.5 / 7, abs=0.02)
    late = path("mifa", WORLD, np.ones(N), process, 800, 0)[-8:]
    np.testing.assert_allclose(late, 0.5, atol=1e-3)


def test_everybody_there_for_f3ast() -> None:
    late = path("f3ast", WORLD, np.ones(N), BY_NAME["always"].process(0), 400, 0)[200:]
    assert late.mean() == pytest.approx(0.5, abs=0.02)
    assert Q[0] == 0.9
