"""Byte budget: the updates of a round must fit into a number of bytes."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from f3ast_tff.core.round_constraint import RoundConstraint
from f3ast_tff.settings import register
from f3ast_tff.settings.text_values import number_in

from .constraint import ConstraintConfig


@register(
    "constraint",
    "bytes",
    "Byte budget",
    about="bytes:BUDGET,...: the updates of a round fit into the budget, a list repeats",
    order=8,
)
@dataclass(frozen=True)
class ByteBudget(ConstraintConfig):
    """C_t holds the sets of available clients whose updates sum to at most B_t bytes.

    Eq. (4) is then a knapsack problem, see `RoundConstraint`. Every budget holds the largest
    update, so no client is excluded and K_t is at least 1. `build` takes one size for all updates,
    or the size of each client's update, `int64 [N]`.

    Examples:
        >>> import numpy as np
        >>> from f3ast_tff.availability import ByteBudget
        >>> sizes = np.array([300_000, 900_000, 500_000])
        >>> budget = ByteBudget("1e6").build(num_clients=3, update_bytes=sizes)
        >>> budget.limit(1).admit(np.array([0, 1, 2])).tolist()  # 0 and 1 do not fit.
        [0, 2]
    """

    @cached_property
    def budgets(self) -> tuple[int, ...]:
        """B_1, B_2, ..., repeated from the first; a single value for a constant budget."""
        return tuple(int(number_in(entry)) for entry in self.arguments.split(","))

    @cached_property
    def sizes(self) -> np.ndarray:
        """Bytes of each client's update, `int64 [N]`."""
        return np.broadcast_to(self.update_bytes, self.num_clients)

    def require(self) -> None:
        least = min(self.budgets)
        if self.sizes.min() < 1:
            raise self.refused("no sizes of updates are known here")
        if least < self.sizes.max():
            allowed = f"each budget must hold the largest update, {self.sizes.max()} bytes"
            raise self.refused(allowed)

    @cached_property
    def largest_k(self) -> int:
        """Number of the smallest updates that the largest budget holds."""
        totals = np.cumsum(np.sort(self.sizes))
        return int(np.searchsorted(totals, max(self.budgets), side="right"))

    @cached_property
    def mean_k(self) -> float:
        """Mean over the budgets of the number of average updates that fit."""
        fitting = np.asarray(self.budgets) // np.mean(self.sizes)
        return float(np.mean(np.minimum(fitting, self.num_clients)))

    def limit(self, round_number: int) -> RoundConstraint:
        """Its `k` is `largest_k`, the budget decides."""
        budget = self.budgets[(round_number - 1) % len(self.budgets)]
        return RoundConstraint(self.largest_k, cost=self.sizes, budget=float(budget))
