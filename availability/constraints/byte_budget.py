"""Byte budget: the updates of a round must fit into a number of bytes."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np

from f3ast_tff.core.errors import ParameterError
from f3ast_tff.methods.parts.feasible import Feasible
from f3ast_tff.settings import register

from .constraint import ConstraintConfig


@dataclass(frozen=True)
class ByteBudget:
    """C_t holds the sets of available clients whose updates sum to at most B_t bytes.

    Eq. (4) is then a knapsack problem; how a strategy solves it, `Feasible` says.

    Attributes:
        budgets: B_1, B_2, ..., repeated from the first; one for a constant budget.
        sizes: Bytes of each client's update, `int64 [N]`, at least 1 and at most the least budget,
            so that no client is shut out and K_t is at least 1.
    """

    budgets: tuple[int, ...]
    sizes: np.ndarray

    def __post_init__(self) -> None:
        sizes = np.asarray(self.sizes)
        if sizes.ndim != 1 or not len(sizes) or not np.all(sizes >= 1):
            raise ValueError("sizes must be [N], each at least 1")
        if not self.budgets or min(self.budgets) < sizes.max():
            text = "bytes:" + ",".join(map(str, self.budgets))
            allowed = f"each budget must hold the largest update, {sizes.max()} bytes"
            raise ParameterError("communication", text, allowed)

    @cached_property
    def largest_k(self) -> int:
        """How many of the smallest updates the largest budget holds."""
        totals = np.cumsum(np.sort(self.sizes))
        return int(np.searchsorted(totals, max(self.budgets), side="right"))

    @cached_property
    def mean_k(self) -> float:
        """Mean over the budgets of how many updates of average size fit."""
        fitting = np.asarray(self.budgets) // np.mean(self.sizes)
        return float(np.mean(np.minimum(fitting, len(self.sizes))))

    def limit(self, round_number: int) -> Feasible:
        """See `CommunicationConstraint.limit`; its `k` is `largest_k`, the budget decides."""
        budget = self.budgets[(round_number - 1) % len(self.budgets)]
        return Feasible(self.largest_k, cost=self.sizes, budget=float(budget))


@register(
    "communication",
    "bytes",
    "Byte budget",
    about="bytes:BUDGET,...: the updates of a round fit into the budget, a list repeats",
    order=8,
)
@dataclass(frozen=True)
class BytesConfig(ConstraintConfig):
    """Configuration of `ByteBudget`, every update being of the model's size."""

    form: ClassVar[str] = "bytes:BUDGET,..."

    def constraint(self, num_clients: int, seed: int, update_bytes: int) -> ByteBudget:
        """See `ConstraintConfig.constraint`."""
        if update_bytes < 1:
            allowed = "no sizes of updates are known here"
            raise ParameterError("communication", self.arguments, allowed)
        budgets = tuple(int(float(entry)) for entry in self.arguments.split(","))
        return ByteBudget(budgets, np.full(num_clients, update_bytes))
