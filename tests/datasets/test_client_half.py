"""The setting `client_half`: two halves of the clients, with their test clients."""

from __future__ import annotations

import numpy as np
import pytest

from f3ast_tff.core.errors import ParameterError
from f3ast_tff.core.federated_data import FederatedData
from f3ast_tff.datasets.task import TaskConfig

N = 7


def data(own_tests: bool = True) -> FederatedData:
    """Features name the client; test clients are the same, or others."""
    clients = np.repeat(np.arange(N), 3)
    train = FederatedData.from_arrays(clients[:, None], clients % 2, clients, test=None)
    others = FederatedData.from_arrays(clients[:, None], clients % 2, clients + 100, test=None)
    return FederatedData(train.train, (train if own_tests else others).train, 2)


def drawn(
    half: str, seed: int = 0, *, own_tests: bool = True, pooled: bool = False
) -> FederatedData:
    config = TaskConfig(num_clients=N, client_half=half, data_seed=seed)
    return config.drawn(data(own_tests), pooled=pooled)


def clients_of(features: np.ndarray) -> set[int]:
    return set(features[:, 0].astype(int).tolist())


def test_the_halves_share_no_client() -> None:
    first, second = drawn("first"), drawn("second")
    of = [clients_of(each.train.features) for each in (first, second)]
    assert [len(each) for each in of] == [3, 4] and of[0] | of[1] == set(range(N))
    for half, clients in zip((first, second), of):
        assert clients_of(half.test.features) == clients
        assert half.scored_clients() == (len(clients), len(clients))
    assert clients_of(drawn("first", 1).train.features) != of[0]
    pooled = drawn("first", pooled=True)
    assert pooled.train.num_clients == 1 and clients_of(pooled.train.features) == of[0]


def test_other_test_clients_stay() -> None:
    assert drawn("first", own_tests=False).test.num_clients == N


def test_one_client_has_no_halves() -> None:
    config = TaskConfig(client_half="first")
    with pytest.raises(ParameterError, match="^client_half = first: needs two clients or more$"):
        config.drawn(FederatedData.from_arrays([[1], [2]], [0, 1], [0, 0], test=None), pooled=False)
