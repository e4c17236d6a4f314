"""pfl-research: the selection methods of this package as the cohorts of a federated dataset.

`pip install 'f3ast-tff[pfl]'`, on Python 3.11 or 3.12.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
from pfl.aggregate.weighting import WeightingStrategy
from pfl.data.federated_dataset import FederatedDatasetBase
from pfl.metrics import Metrics

from f3ast_tff.availability.process import AvailabilityProcess, stationary_of
from f3ast_tff.core.errors import DataError, ParameterError
from f3ast_tff.core.round_constraint import RoundConstraint
from f3ast_tff.methods.parts.strategy import Round, Strategy, facts_of
from f3ast_tff.run.selecting import select_clients, weigh_updates

# Rounds in a row without a selected user after which nobody is expected to come.
_PATIENCE = 10_000


class AvailableUsers(FederatedDatasetBase):
    """Users that a selection method picks among the available users; every cohort is a round.

    pfl has no round without users, so rounds without a selected user are skipped.

    Attributes:
        weights: Weight of each user of the last cohort, by the user's id.
        round_number: Round t of the last cohort, 0 before the first.
    """

    def __init__(
        self,
        make_dataset: Callable[[Any], Any],
        strategy: Strategy,
        availability: AvailabilityProcess,
        users: Sequence[Any] | None = None,
    ) -> None:
        """Starts before round 1.

        Args:
            make_dataset: Function from a user id to the user's pfl dataset, whose `user_id` it is.
            strategy: A started method, such as `F3AST.start(p, k)`.
            availability: The availability process of the N clients.
            users: Id of each client; by default 0 .. N - 1.

        Raises:
            ParameterError: If the method asks for losses or needs another aggregation.
        """
        super().__init__()
        aggregation = facts_of(strategy).aggregation
        if aggregation not in ("sum", "mean") or strategy.needs_losses or strategy.needs_outcome:
            allowed = "must weigh for sum or mean, and ask for no losses"
            raise ParameterError("strategy", type(strategy).__name__, allowed)
        self.sums, self.round_number, self.weights = aggregation == "sum", 0, dict[Any, float]()
        self._make_dataset, self._strategy = make_dataset, strategy
        self._availability = availability
        self._users = range(availability.num_clients) if users is None else users

    def __next__(self) -> tuple[Any, int]:
        """Returns the user of a cohort of size 1, and a seed."""
        return next(iter(self.get_cohort(1)))

    def get_cohort(self, cohort_size: int) -> Iterator[tuple[Any, int]]:
        """Yields the datasets of the next cohort, K = `cohort_size`, each with a seed.

        Raises:
            DataError: If no user is ever available, or none was selected in 10,000 rounds in a
                row.
        """
        shares = stationary_of(self._availability)
        if shares is not None and not np.any(shares):
            raise DataError("no user is ever available: nobody is online in any round")
        members: list[Any] = []
        first = self.round_number + 1
        while not members:
            if self.round_number + 1 - first >= _PATIENCE:
                allowed = f"no user was selected in rounds {first} to {self.round_number}"
                raise DataError(f"{allowed}: is anybody ever available?")
            self.round_number += 1
            mask = self._availability.mask(self.round_number)
            now = Round(self.round_number, mask, RoundConstraint(cohort_size))
            ids = select_clients(self._strategy, now)
            cohort = weigh_updates(self._strategy, now, ids, np.ones(len(ids), bool))
            # A user drawn twice trains twice.
            members = [self._users[k] for k in cohort.ids]
        self.weights = dict(zip(members, cohort.weights.tolist()))
        seeds, workers = [self._get_seed() for _ in members], self._get_ops().distributed
        for place, user in enumerate(members):
            if place % workers.world_size == workers.global_rank:
                yield self._make_dataset(user), seeds[place]


class CohortWeights(WeightingStrategy):
    """Weighs each user's statistics by `AvailableUsers.weights`; the last postprocessor.

    If the method's weights are for a sum, as F3AST's are, the statistics leave the server with
    weight 1, because dividing by the sum of the weights would undo p_k / r_k.
    """

    def __init__(self, users: AvailableUsers) -> None:
        """Takes the training dataset."""
        self._users = users

    def postprocess_one_user(self, *, stats: Any, user_context: Any) -> tuple[Any, Metrics]:
        """Weighs the statistics of a user by the method's weight."""
        stats.reweight(self._users.weights[user_context.user_id])
        return stats, Metrics()

    def postprocess_server(self, *, stats: Any, **_: Any) -> tuple[Any, Metrics]:
        """Sets the weight by which the sum of the statistics is divided."""
        stats.weight = 1.0 if self._users.sums else stats.weight
        return stats, Metrics()
