"""The leaves of the model that stay with the clients, see `methods.parts.personal`."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from f3ast_tff.core.errors import ParameterError
from f3ast_tff.core.federated_data import FederatedData
from f3ast_tff.core.own_test import owners_of_tests
from f3ast_tff.datasets.task import OWN_MODELS_NEED, TaskConfig
from f3ast_tff.methods.parts.aggregation import Aggregation
from f3ast_tff.methods.parts.memory import Ranges
from f3ast_tff.methods.parts.memory_rules import length_of
from f3ast_tff.methods.parts.personal import Personal
from f3ast_tff.models.leaf_names import chosen_leaves, names_of, ranges_of
from f3ast_tff.settings.configuration import Settings

_LOG = logging.getLogger("f3ast_tff.run")


@dataclass(frozen=True)
class PrivateLeaves:
    """Private leaves of a run.

    Attributes:
        ranges: Their coordinates in the model as one vector.
    """

    ranges: Ranges

    @property
    def num_bytes(self) -> int:
        """Bytes of one client's private leaves."""
        return length_of(self.ranges) * np.dtype(np.float32).itemsize

    def around(self, aggregation: Aggregation) -> Personal:
        """Returns an aggregation of the shared leaves alone."""
        return Personal(aggregation, self.ranges)


def private_leaves(
    text: str, model: Any, weights: Sequence[np.ndarray], num_clients: int
) -> PrivateLeaves:
    """Finds the leaves that a setting `private` names; says how much memory they take.

    Args:
        text: The setting.
        model: The network.
        weights: Its initial weights.
        num_clients: Number of clients N.

    Raises:
        ParameterError: If an entry names no leaf.
    """
    names = names_of(model)
    leaves = chosen_leaves(text, names, len(weights))
    found = PrivateLeaves(ranges_of(leaves, weights))
    _LOG.info(
        "private leaves %s: %d numbers of each of %d clients, %.1f MiB; the saved model has their "
        "initial values",
        ", ".join(names[leaf] if names else str(leaf) for leaf in leaves),
        length_of(found.ranges),
        num_clients,
        num_clients * found.num_bytes / 2**20,
    )
    return found


def test_owners(settings: Settings, task: TaskConfig, data: FederatedData) -> np.ndarray:
    """Returns the training client of each test client, `int64 [C]`.

    Args:
        settings: All settings.
        task: Configuration of the task.
        data: Its data.

    Raises:
        ParameterError: If a test client is no training client, or it is not known which.
    """
    drawn = task.test_clients is not None or task.held_out_clients is not None
    same = True if task.own_test is not None else task.tests_same_clients
    owners = owners_of_tests(data, None if same and drawn else same)
    if owners is None:
        private = settings.training.private
        name, value = ("private", private) if private else ("aggregation", settings.aggregation)
        raise ParameterError(name, value, OWN_MODELS_NEED.format("this data"))
    return owners
