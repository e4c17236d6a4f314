"""Clusters that are on and off as one."""

from __future__ import annotations

import numpy as np
import pytest

from f3ast_tff.availability import Markov, MarkovClusters
from f3ast_tff.availability.markov_clusters import PAPER_EIGENVALUES, PAPER_PI
from f3ast_tff.errors import ParameterError


def test_the_papers_ten_clusters() -> None:
    assert PAPER_PI == (0.9, 0.9, 0.9, 0.9, 0.9, 0.1, 0.1, 0.1, 0.1, 0.1)
    assert PAPER_EIGENVALUES == (0, 0, 0, 0, 0, 0.5, 0.6, 0.7, 0.8, 0.9)
    process = MarkovClusters(100, seed=0)
    assert process.cluster_of.tolist() == [k // 10 for k in range(100)]
    np.testing.assert_allclose(process.stationary, [0.9] * 50 + [0.1] * 50)
    np.testing.assert_allclose(process.eigenvalue, np.repeat(PAPER_EIGENVALUES, 10), atol=1e-12)


def test_a_cluster_moves_as_one_and_clusters_apart() -> None:
    """Its clients agree in every round; the clusters are the chains of `Markov`."""
    process = MarkovClusters(40, seed=3)
    chains = Markov(np.array(PAPER_PI), np.array(PAPER_EIGENVALUES), seed=3)
    seen = np.array([process.mask(t) for t in range(1, 200)])
    assert np.array_equal(seen[:, ::4], [chains.mask(t) for t in range(1, 200)])
    for client in range(40):
        assert np.array_equal(seen[:, client], seen[:, client // 4 * 4])


def test_given_clusters() -> None:
    process = MarkovClusters(4, 0, [0.0, 1.0], [0.0, 0.0], np.array([1, 0, 0, 1]))
    assert process.mask(7).tolist() == [True, False, False, True]


@pytest.mark.parametrize(
    ("pi", "eigenvalue", "message"),
    [
        ((0.5, 0.5), (0.1,), "cluster_eigenvalues = 0.1: must be as many"),
        ((), (), "cluster_eigenvalues = : must be as many"),
        ((0.5, 2.0), (0.1, 0.1), r"pi\[1\] = 2.0: must be in \[0, 1\]"),
        ((0.9,), (-0.5,), r"must be in \[-0.1111, 1\]"),
    ],
)
def test_what_is_not_a_chain_is_refused(
    pi: tuple[float, ...], eigenvalue: tuple[float, ...], message: str
) -> None:
    with pytest.raises(ParameterError, match=message):
        MarkovClusters(10, 0, pi, eigenvalue)


@pytest.mark.parametrize("cluster_of", [[0, 1], [0, 1, 2], [0, -1, 1]])
def test_a_client_without_a_cluster_is_refused(cluster_of: list[int]) -> None:
    with pytest.raises(ValueError, match=r"3 integers in 0\.\.1"):
        MarkovClusters(3, 0, [0.5, 0.5], [0.0, 0.0], np.array(cluster_of))
