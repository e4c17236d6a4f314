"""Local training in which clients take no step, or too many."""

from __future__ import annotations

import logging

import numpy as np
import pytest

from f3ast_tff.core.errors import ParameterError
from f3ast_tff.core.federated_data import FederatedData
from f3ast_tff.run.build import Builder
from f3ast_tff.settings.resolve import resolve


def data() -> FederatedData:
    """Clients of 3, 5 and 12 examples."""
    clients = np.repeat(["a", "b", "c"], [3, 5, 12])
    features = np.random.default_rng(0).normal(size=(20, 60)).astype(np.float32)
    labels = np.arange(20) % 10
    return FederatedData.from_arrays(features, labels, clients, test=None)


def build(**settings: object) -> None:
    given = {"num_clients": 3, "clients_per_round": 2, **settings}
    builder = Builder(resolve(given))
    builder.data = data()
    _ = builder.world


def test_a_batch_larger_than_every_client_is_refused() -> None:
    with pytest.raises(ParameterError, match="batch_size = 13: must be at most 12, .* client c"):
        build(batch_size=13, last_batch="drop")
    build(batch_size=13)
    build(batch_size=13, local_steps=1, last_batch="drop")


def test_clients_without_a_step_are_named(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        build(batch_size=6, last_batch="drop", algorithm="fedavg", client_share="batches")
    assert "2 of 3 clients hold less than one batch of 6" in caplog.text
    assert "the first is client a, with 3 examples" in caplog.text


def test_more_work_than_can_be_ordered_is_refused() -> None:
    with pytest.raises(ParameterError, match="local_steps = 1000000: .* visit 1000000000 examples"):
        build(local_steps=10**6, batch_size=1000)
