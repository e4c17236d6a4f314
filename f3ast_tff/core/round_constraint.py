"""Which subsets of the available clients may take part: the collection C_t of Sec. III-A."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Real
from types import NoneType
from typing import Any

import numpy as np

from f3ast_tff.core.errors import ParameterError, whole_number


def _is_vector(values: Any, kinds: str) -> bool:
    return isinstance(values, np.ndarray) and values.ndim == 1 and values.dtype.kind in kinds


@dataclass(frozen=True)
class RoundConstraint:
    """A communication constraint of one round; with an available set it is C_t.

    A set S of available clients is feasible if |S| is at most `k`, if its costs sum to at most
    `budget`, and if it holds at least `minimum[g]` clients of every group g. If fewer clients of a
    group are available, it must hold all of these. Costs and groups cannot be combined.

    Attributes:
        k: K_t, largest number of clients, at least 1.
        cost: Cost of each client (bytes of its update, for example), `float [N]`, each above 0.
        budget: Largest total cost of the picks, above 0, in the unit of `cost`.
        group: Group of each client, `int [N]`, -1 for none.
        minimum: Least number of clients of each group, `int [G]`; their sum is at most `k`.

    Examples:
        >>> import numpy as np
        >>> from f3ast_tff import RoundConstraint
        >>> RoundConstraint(2).admit([3, 0, 1]).tolist()
        [3, 0]
        >>> megabytes = np.array([4.0, 2.0, 1.0, 3.0])
        >>> RoundConstraint(3, cost=megabytes, budget=5.0).admit([3, 0, 1]).tolist()
        [3, 1]
    """

    k: int
    cost: np.ndarray | None = None
    budget: float | None = None
    group: np.ndarray | None = None
    minimum: np.ndarray | None = None

    def __post_init__(self) -> None:
        whole_number("k", self.k, least=1)
        if (self.cost is None) != (self.budget is None):
            raise ValueError("cost and budget must be given together")
        if (self.group is None) != (self.minimum is None):
            raise ValueError("group and minimum must be given together")
        if self.cost is not None and self.group is not None:
            raise ValueError("costs and groups cannot be combined")
        for name in ("cost", "group", "minimum"):
            values = getattr(self, name)
            kinds = "iuf" if name == "cost" else "iu"
            if values is not None and not _is_vector(values, kinds):
                raise ParameterError(name, values, "must be an array of numbers, one-dimensional")
        if not isinstance(self.budget, (Real, NoneType)):
            raise ParameterError("budget", self.budget, "must be a number")
        if self.cost is not None and self.budget is not None:
            if not (np.all(self.cost > 0) and np.all(np.isfinite(self.cost))):
                raise ParameterError("cost", self.cost, "every cost must be above 0 and finite")
            if not self.budget > 0:
                raise ParameterError("budget", self.budget, "must be above 0")
        if self.group is not None and self.minimum is not None:
            if np.any(self.group < -1) or np.any(self.group >= len(self.minimum)):
                raise ValueError(f"groups must be in -1 .. {len(self.minimum) - 1}")
            if np.any(self.minimum < 0) or self.minimum.sum() > self.k:
                raise ValueError(
                    f"minimum picks {self.minimum.tolist()}: "
                    f"each must be at least 0, in all at most k = {self.k}"
                )

    @property
    def counts_only(self) -> bool:
        """Whether |S| <= `k` is the whole constraint."""
        return self.cost is None and self.group is None

    def excess(self, ids: np.ndarray) -> str | None:
        """Describes how a choice of clients exceeds the constraint, `None` if it does not.

        Minima of groups are not checked, because a method may exclude clients.

        Args:
            ids: Chosen clients, `int [m]`; a repeated client counts each time.
        """
        if len(ids) > self.k:
            return f"{len(ids)} clients: must be at most {self.k}"
        if self.cost is not None and self.budget is not None:
            spent = float(self.cost[ids].sum())
            # Tolerance, because a sum in another order differs in its last digits.
            if spent > self.budget * (1 + 1e-9):
                return f"clients of cost {spent:g}: must be at most {self.budget:g}"
        return None

    def admit(self, ranked: np.ndarray) -> np.ndarray:
        """Goes through clients in order of preference and takes each that fits the constraint.

        With groups, places are reserved for groups below their minimum. With costs, a client that
        costs more than the rest of the budget is skipped.

        Args:
            ranked: Distinct ids of all available clients, best first, `int [m]`.

        Returns:
            A feasible set, in the order of `ranked`, `int64`. If utilities fall along `ranked` and
            there are no costs, no feasible set has a larger sum of utilities: the feasible sets
            of full size are the bases of a matroid.
        """
        ranked = np.asarray(ranked, np.int64)
        if self.cost is not None and self.budget is not None:
            return _affordable(ranked, self.cost[ranked], self.budget, self.k)
        if self.group is None or self.minimum is None:
            return ranked[: self.k]
        group = self.group[ranked]
        taken = np.zeros(len(ranked), bool)
        for number, fewest in enumerate(self.minimum):
            taken[np.flatnonzero(group == number)[:fewest]] = True
        rest = np.flatnonzero(~taken)
        taken[rest[: self.k - int(taken.sum())]] = True
        return ranked[taken]


def _affordable(ranked: np.ndarray, cost: np.ndarray, budget: float, k: int) -> np.ndarray:
    taken: list[int] = []
    left = budget
    for place, price in enumerate(cost.tolist()):
        if len(taken) == k:
            break
        if price <= left:
            taken.append(place)
            left -= price
    return ranked[taken]
