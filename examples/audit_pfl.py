"""An algorithm of pfl-research as a server that `f3ast-tff audit` plays.

f3ast-tff audit audit_pfl.py:Server
f3ast-tff audit audit_pfl.py:Server --args=weighting=pfl.aggregate.weighting:WeightByUser

A round is one of pfl's `FederatedAlgorithm.run`: its backend weighs, postprocesses and sums what
users send, its algorithm turns the sum into the new model. Local training alone is replaced.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from importlib import metadata
from typing import Any

import numpy as np
from pfl.aggregate.simulate import SimulatedBackend
from pfl.aggregate.weighting import WeightByDatapoints
from pfl.algorithm.federated_averaging import FederatedAveraging
from pfl.common_types import Population
from pfl.context import CentralContext
from pfl.data.dataset import Dataset
from pfl.data.federated_dataset import FederatedDatasetBase
from pfl.metrics import Metrics
from pfl.model.base import Model
from pfl.postprocessor.base import Postprocessor
from pfl.stats import MappedVectorStatistics


class Numbers(Model):
    """A model that is one array, `float64 [d]`."""

    def __init__(self, values: np.ndarray) -> None:
        self.values = values

    def apply_model_update(self, statistics: Any) -> tuple[Numbers, Metrics]:
        """Returns the model after the mean update."""
        return Numbers(self.values + statistics["w"]), Metrics()


class Users(FederatedDatasetBase):
    """The users whose replies arrive in a round, each with its number of datapoints."""

    def __init__(self, updates: Sequence[np.ndarray], sizes: Sequence[float]) -> None:
        super().__init__()
        self.updates = updates
        self._datasets = [
            Dataset((np.zeros(int(size)),), user_id=str(place)) for place, size in enumerate(sizes)
        ]

    def __next__(self) -> tuple[Any, int]:
        raise StopIteration

    def get_cohort(self, cohort_size: int) -> Iterator[tuple[Any, int]]:
        """Yields all of them."""
        return ((dataset, place) for place, dataset in enumerate(self._datasets))

    def simulate_one_user(self, model: Any, user_dataset: Any, central_context: Any) -> Any:
        """Returns the user's update, in place of local training."""
        update = np.array(self.updates[int(user_dataset.user_id)], float)
        return MappedVectorStatistics({"w": update}, weight=1), Metrics()


class Server:
    """Rounds of an algorithm."""

    versions = {"pfl": metadata.version("pfl")}

    def __init__(
        self,
        algorithm: Any = None,
        weighting: Any = None,
        postprocessors: Sequence[Postprocessor] = (),
    ) -> None:
        """Takes what pfl's `run` takes; by default federated averaging, weighed by datapoints."""
        self.algorithm = FederatedAveraging() if algorithm is None else algorithm
        self.postprocessors = [weighting or WeightByDatapoints(), *postprocessors]

    def aggregate(self, model: Any, updates: Any, weights: Any, round: int) -> Any:
        """Returns the new model."""
        users = Users(updates, weights)
        backend = SimulatedBackend(users, users, postprocessors=self.postprocessors)
        context = CentralContext(
            current_central_iteration=round - 1,
            do_evaluation=False,
            cohort_size=len(updates),
            population=Population.TRAIN,
            algorithm_params=None,
            model_train_params=None,
            seed=round,
        )
        found, metrics = backend.gather_results(
            model=Numbers(model), training_algorithm=users, central_context=context
        )
        pairs = () if found is None else ((context, found),)
        new, _ = self.algorithm.process_aggregated_statistics_from_all_contexts(
            pairs, metrics, Numbers(model)
        )
        return new.values
