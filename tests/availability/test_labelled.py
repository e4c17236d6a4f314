"""Label distributions, the processes that need them, and FedAU's participation."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pytest

from f3ast_tff.availability import (
    IndependentAvailability,
    MixConfig,
    ProductConfig,
    ScarceConfig,
    SineConfig,
    SmallestLabelConfig,
    StationaryConfig,
    label_distribution,
)
from f3ast_tff.availability.combined import build_process, part_seed
from f3ast_tff.availability.dirichlet_participation import (
    DirichletBernoulliConfig,
    DirichletCyclicConfig,
    DirichletMarkovConfig,
    ParticipationConfig,
)
from f3ast_tff.availability.labelled import drawn_labels
from f3ast_tff.core.errors import ParameterError
from f3ast_tff.core.federated_data import ClientExamples
from f3ast_tff.run.build import Builder
from f3ast_tff.settings.resolve import resolve

THIRDS = np.full(3, 1 / 3)
THREE = np.array([[1.0, 0.0], [0.5, 0.5], [0.0, 1.0]])


def test_shares_by_hand() -> None:
    """Client 0 has labels 1, 1, 0, 2; client 1 has none; client 2 has label 2."""
    examples = ClientExamples(np.zeros((5, 1)), np.array([1, 1, 0, 2, 2]), np.array([0, 4, 4, 5]))
    expected = [[0.25, 0.5, 0.25, 0], [0, 0, 0, 0], [0, 0, 1, 0]]
    assert label_distribution(examples, 4).tolist() == expected


def test_pads_of_sequences_do_not_count() -> None:
    """Client 0 has labels 0, 1, 1; client 1 has label 2 only."""
    labels = np.array([[0, 1], [1, -1], [2, -1]])
    examples = ClientExamples(np.zeros((3, 2)), labels, np.array([0, 2, 3]))
    np.testing.assert_allclose(label_distribution(examples, 3), [[1 / 3, 2 / 3, 0], [0, 0, 1]])


def test_drawn_labels_are_shares_of_100() -> None:
    drawn = drawn_labels(50, 7, 0.1, seed=1)
    np.testing.assert_allclose(drawn.sum(axis=1), 1)
    np.testing.assert_allclose(drawn * 100, np.rint(drawn * 100))
    assert (drawn.max(axis=1) > 0.9).any()
    assert (drawn > 0).any(axis=0).all()


def test_without_data_a_process_by_labels_is_refused() -> None:
    with pytest.raises(ParameterError, match="^availability = sine: needs data"):
        SineConfig().build(THIRDS, 0)
    with pytest.raises(ParameterError, match="^availability = sine: needs data"):
        ProductConfig("scarce,sine", (ScarceConfig(), SineConfig())).build(THIRDS, 0)


@pytest.mark.parametrize("shape", [(2, 2), (3,)])
def test_labels_of_other_clients_are_refused(shape: tuple[int, ...]) -> None:
    with pytest.raises(ValueError, match=r"must be \[3, classes\]"):
        SineConfig().build(THIRDS, 0, np.ones(shape))


def test_parts_get_the_labels_and_need_them_only_together() -> None:
    config = MixConfig("scarce,stationary", (ScarceConfig(), StationaryConfig()))
    assert config.needs_labels
    assert not MixConfig("scarce,scarce", (ScarceConfig(), ScarceConfig())).needs_labels
    mixed = build_process(config, THIRDS, 4, THREE)
    alone = StationaryConfig().build(THIRDS, part_seed(4, 1), THREE)
    assert mixed.parts[1].q.tolist() == alone.q.tolist()


@dataclass(frozen=True)
class _ByClassZero(StationaryConfig):
    """A client is available with the probability of its label 0."""

    def build_labelled(self, labels: np.ndarray, seed: int) -> IndependentAvailability:
        return IndependentAvailability(labels[:, 0], seed)


def test_an_experiment_gives_its_training_labels() -> None:
    configuration = resolve({"availability": "stationary", "num_clients": 12})
    data = Builder(configuration).data
    configs = {**configuration.configs, "availability": _ByClassZero()}
    configuration = replace(configuration, configs=configs)
    world = Builder(configuration).world
    expected = [np.mean(data.train.client(k)[1] == 0) for k in range(12)]
    assert max(expected) > 0
    np.testing.assert_allclose(world.availability.q, expected)


def test_the_smallest_label_by_hand() -> None:
    """C = 10, p_min = 0.1: {0, 9} or no labels give 0.1, {3, 7} 0.1 + 0.9 / 3 = 0.4, {9} 1."""
    labels = np.zeros((4, 10))
    labels[0, [0, 9]] = 0.5
    labels[1, [3, 7]] = 0.2, 0.8
    labels[2, 9] = 1
    process = SmallestLabelConfig().build_labelled(labels, 0)
    np.testing.assert_allclose(process.q, [0.1, 0.4, 1.0, 0.1])
    np.testing.assert_allclose(process.stationary, process.q)
    assert not process.positively_correlated
    assert not process.periodic
    alone = SmallestLabelConfig(0.2).build_labelled(np.ones((2, 1)), 0)
    assert alone.q.tolist() == [0.2, 0.2]


RNG = np.random.default_rng(0)
LABELS = RNG.dirichlet(np.full(10, 0.1), 60)
P = np.full(60, 1 / 60)


def participation(
    labels: np.ndarray, seed: int, alpha: float, mean: float, least: float
) -> np.ndarray:
    return ParticipationConfig(alpha, mean, least).pi(labels, seed)


def test_probabilities_are_inner_products_with_kappa() -> None:
    """Unbounded, single-class clients have pi = C mean kappa_c, so their average is `mean`.

    A client with half of two classes has the average of both.
    """
    labels = np.vstack([np.eye(4), [0.5, 0, 0.5, 0]])
    pi = participation(labels, 1, alpha=1.0, mean=0.1, least=0.0)
    assert np.isclose(pi[:4].mean(), 0.1)
    assert np.isclose(pi[4], (pi[0] + pi[2]) / 2)
    assert np.ptp(pi) > 0.01


def test_bounds() -> None:
    """C mean = 5: with small alpha one class has nearly all of kappa, so values would reach 5."""
    pi = participation(np.eye(10), 0, alpha=0.01, mean=0.5, least=0.02)
    assert pi.min() == 0.02
    assert pi.max() == 1


def test_law_of_kappa() -> None:
    """kappa_c of Dirichlet(1, 1) is U(0, 1), so pi = 2 x 0.25 kappa has mean 0.25.

    Over 2000 seeds the mean deviates by 0.5 / sqrt(12 x 2000) = 0.0032.
    """
    pi = [participation(np.eye(2), s, 1.0, 0.25, 0.0)[0] for s in range(2000)]
    assert abs(np.mean(pi) - 0.25) < 5 * 0.0033
    assert min(pi) < 0.02 < 0.48 < max(pi)


def test_the_three_share_their_probabilities() -> None:
    """The cyclic pattern rounds the probabilities to whole rounds of 100."""
    bernoulli, markov, cyclic = (
        config().build(P, 2, LABELS)
        for config in (DirichletBernoulliConfig, DirichletMarkovConfig, DirichletCyclicConfig)
    )
    pi = bernoulli.stationary
    assert pi.min() == 0.02 < pi.max()
    np.testing.assert_array_equal(markov.stationary, pi)
    np.testing.assert_allclose(cyclic.stationary, np.rint(100 * pi) / 100)
    correlated = [m.positively_correlated for m in (bernoulli, markov, cyclic)]
    assert correlated == [False, False, True]
