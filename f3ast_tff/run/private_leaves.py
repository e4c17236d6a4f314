"""The leaves of the model that stay with the clients, see `methods.parts.personal`."""

from __future__ import annotations

import logging
from typing import Any

import numpy as np

from f3ast_tff.core.errors import ParameterError
from f3ast_tff.core.federated_data import FederatedData
from f3ast_tff.core.own_test_split import owners_of_tests
from f3ast_tff.datasets.task import OWN_MODELS_NEED, TaskConfig
from f3ast_tff.methods.parts.aggregation import Aggregation
from f3ast_tff.methods.parts.memory_rules import length_of
from f3ast_tff.methods.parts.personal import Personal
from f3ast_tff.models.leaves import PRIVATE, LeafKinds, names_of
from f3ast_tff.settings.configuration import Settings

_LOG = logging.getLogger("f3ast_tff.run")


def around_private_leaves(
    aggregation: Aggregation, kinds: LeafKinds, *, model: Any, num_clients: int
) -> Personal:
    """Returns an aggregation of the shared leaves alone; says what the private ones take.

    Args:
        aggregation: The aggregation.
        kinds: Kinds of the model's leaves.
        model: The network.
        num_clients: Number of clients N.
    """
    names, found = names_of(model), Personal(aggregation, kinds.ranges(PRIVATE))
    size = length_of(found.ranges)
    _LOG.info(
        "private leaves %s: %d numbers of each of %d clients, %.1f MiB; the saved model has their "
        "initial values",
        ", ".join(names[leaf] if names else str(leaf) for leaf in kinds.leaves(PRIVATE)),
        size,
        num_clients,
        num_clients * size * np.dtype(np.float32).itemsize / 2**20,
    )
    return found


def known_owners(task: TaskConfig, data: FederatedData) -> np.ndarray | None:
    """Returns the training client of each test client, `int64 [C]`; `None` if not known."""
    drawn = task.test_clients is not None or task.held_out_clients is not None
    same = True if task.own_test is not None else task.tests_same_clients
    return owners_of_tests(data, None if same and drawn else same)


def test_owners(settings: Settings, task: TaskConfig, data: FederatedData) -> np.ndarray:
    """Returns the training client of each test client, `int64 [C]`.

    Args:
        settings: All settings.
        task: Configuration of the task.
        data: Its data.

    Raises:
        ParameterError: If a test client is no training client, or it is not known which.
    """
    owners = known_owners(task, data)
    if owners is None:
        private = settings.training.private
        name, value = ("private", private) if private else ("aggregation", settings.aggregation)
        raise ParameterError(name, value, OWN_MODELS_NEED.format("this data"))
    return owners
