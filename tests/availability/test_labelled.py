"""Label distributions, and the processes that need them."""

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
from f3ast_tff.availability.labelled import drawn_labels
from f3ast_tff.core.errors import ParameterError
from f3ast_tff.core.federated_data import ClientExamples
from f3ast_tff.run.build import Builder
from f3ast_tff.settings.resolve import resolve

P = np.full(3, 1 / 3)
LABELS = np.array([[1.0, 0.0], [0.5, 0.5], [0.0, 1.0]])


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
        SineConfig().build(P, 0)
    with pytest.raises(ParameterError, match="^availability = sine: needs data"):
        ProductConfig("scarce,sine", (ScarceConfig(), SineConfig())).build(P, 0)


@pytest.mark.parametrize("shape", [(2, 2), (3,)])
def test_labels_of_other_clients_are_refused(shape: tuple[int, ...]) -> None:
    with pytest.raises(ValueError, match=r"must be \[3, classes\]"):
        SineConfig().build(P, 0, np.ones(shape))


def test_parts_get_the_labels_and_need_them_only_together() -> None:
    config = MixConfig("scarce,stationary", (ScarceConfig(), StationaryConfig()))
    assert config.needs_labels
    assert not MixConfig("scarce,scarce", (ScarceConfig(), ScarceConfig())).needs_labels
    mixed = build_process(config, P, 4, LABELS)
    alone = StationaryConfig().build(P, part_seed(4, 1), LABELS)
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
