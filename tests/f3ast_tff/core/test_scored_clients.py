"""The clients that user scores are over."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from f3ast_tff.core.federated_data import ClientExamples, FederatedData


def numbered(offsets: list[int]) -> ClientExamples:
    return ClientExamples(np.zeros((5, 2)), np.arange(5), np.array(offsets))


def test_whom_user_scores_are_over() -> None:
    """Clients with a label that counts, of all clients or, if others test, of the test clients."""

    def data(train: list[str], test: list[str], labels: Any) -> FederatedData:
        parts = []
        for names, of_it in ((train, np.zeros(len(train), int)), (test, np.array(labels))):
            offsets = np.arange(len(names) + 1)
            parts.append(ClientExamples(np.zeros((len(names), 1)), of_it, offsets, np.array(names)))
        return FederatedData(*parts, 1)

    assert data(["a", "b", "c"], ["b"], [0]).scored_clients() == (1, 3)
    assert data(["a", "b"], ["b", "x"], [0, 0]).scored_clients() == (2, 3)
    assert data(["a", "b"], ["x", "y"], [0, -1]).scored_clients() == (1, 2)
    known = replace(data(["a"], ["a"], [0]), clients_to_score=4)
    assert known.scored_clients() == (1, 4)
    unnamed = FederatedData(numbered([0, 2, 5]), numbered([0, 0, 5]), 5)
    assert unnamed.scored_clients() == (1, 2)
