"""Test examples that are set apart from each training client's own."""

from __future__ import annotations

import numpy as np

from f3ast_tff.core.errors import ParameterError
from f3ast_tff.core.example_arrays import test_counts
from f3ast_tff.core.federated_data import ClientExamples, FederatedData
from f3ast_tff.core.randomness import generator


def with_own_test(train: ClientExamples, share: float, seed: int) -> tuple[ClientExamples, ...]:
    """Splits each client's examples into training and test examples.

    Args:
        train: Training examples by client.
        share: Share of each client's examples for testing, see `test_counts`.
        seed: Seed of the draw.

    Returns:
        Training and test examples of the same clients, in the same order.

    Raises:
        ParameterError: If no client can spare an example.

    Examples:
        >>> import numpy as np
        >>> from f3ast_tff import ClientExamples
        >>> from f3ast_tff.core.own_test_split import with_own_test
        >>> features, labels = np.zeros((12, 1)), np.zeros(12, int)
        >>> examples = ClientExamples(features, labels, offsets=np.array([0, 2, 12]))
        >>> [part.sizes.tolist() for part in with_own_test(examples, 0.3, seed=0)]
        [[1, 7], [1, 3]]
    """
    sizes = train.sizes
    counts = test_counts(sizes, share)
    if not counts.any():
        raise ParameterError("own_test", share, "no client has enough examples to spare one")
    owners = np.repeat(np.arange(len(sizes)), sizes)
    order = np.lexsort((generator(seed, "own test examples").random(len(owners)), owners))
    place = np.arange(len(owners)) - np.repeat(train.offsets[:-1], sizes)
    tested = np.zeros(len(owners), bool)
    tested[order] = place < np.repeat(counts, sizes)
    return tuple(
        ClientExamples(
            train.features[rows],
            labels=train.labels[rows],
            offsets=np.concatenate([[0], np.cumsum(kept)]).astype(np.int64),
            names=train.names,
        )
        for rows, kept in ((~tested, sizes - counts), (tested, counts))
    )


def owners_of_tests(data: FederatedData, same: bool | None) -> np.ndarray | None:
    """Returns the training client of each test client, `int64 [C]`; `None` if it is not known.

    Args:
        data: Training and test examples.
        same: Whether test client k is training client k; `None` if names tell.
    """
    train, test = data.train, data.test
    if same is not None:
        there = same and train.num_clients == test.num_clients
        return np.arange(test.num_clients) if there else None
    if train.names is None or test.names is None:
        return None
    number = {name: k for k, name in enumerate(train.names.tolist())}
    found = [number.get(name, -1) for name in test.names.tolist()]
    return None if -1 in found else np.array(found, np.int64)
