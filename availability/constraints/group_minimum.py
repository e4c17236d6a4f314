"""Minimum picks per group: no region or class of devices is left out of a round."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from f3ast_tff.core.errors import ParameterError
from f3ast_tff.core.round_constraint import RoundConstraint

from .constraint import CommunicationConstraint, ConstraintConfig


@dataclass(frozen=True)
class GroupMinimum:
    """At least `minimum` clients of each group, or all available clients of it if fewer.

    If K_t is below the sum of the minimums, they are met in the order of the groups.

    Attributes:
        count: The constraint on the number of clients, for K_t. A `ConstraintConfig` gets N from
            `group`, and a run's seed from `build`.
        group: Group of each client, `int [N]` in 0..G-1, or -1 for none.
        minimum: Least picks of each group, `[G]`, each at least 0; their sum at most
            `count.largest_k`.

    Examples:
        >>> import numpy as np
        >>> from f3ast_tff.availability import FixedK, GroupMinimum
        >>> group = np.array([0, 0, 0, 1])
        >>> constraint = GroupMinimum(FixedK(clients_per_round=3), group, minimum=(0, 1))
        >>> constraint.limit(1).admit(np.arange(4)).tolist()  # Client 3 in place of 2.
        [0, 1, 3]
    """

    count: CommunicationConstraint
    group: np.ndarray
    minimum: tuple[int, ...]

    def __post_init__(self) -> None:
        group = np.asarray(self.group)
        if group.ndim != 1 or not np.all((group >= -1) & (group < len(self.minimum))):
            raise ValueError(f"group must be integers in -1..{len(self.minimum) - 1}")
        if isinstance(self.count, ConstraintConfig):
            object.__setattr__(self, "count", replace(self.count, num_clients=len(group)))
        if min(self.minimum, default=0) < 0 or sum(self.minimum) > self.count.largest_k:
            text = ",".join(map(str, self.minimum))
            allowed = f"each must be at least 0, their sum at most K, {self.count.largest_k}"
            raise ParameterError("group_minimum", text, allowed)

    def build(self, num_clients: int, seed: int = 0, update_bytes: int = 1) -> GroupMinimum:
        """Returns the constraint of a run: see `ConstraintConfig.build`."""
        if not isinstance(self.count, ConstraintConfig):
            return self
        return replace(self, count=self.count.build(num_clients, seed, update_bytes))

    @property
    def largest_k(self) -> int:
        """The largest K_t."""
        return self.count.largest_k

    @property
    def mean_k(self) -> float:
        """The mean of K_t."""
        return self.count.mean_k

    def limit(self, round_number: int) -> RoundConstraint:
        k = self.count.limit(round_number).k
        within = np.diff(np.minimum(np.cumsum(self.minimum), k), prepend=0)
        return RoundConstraint(k, group=self.group, minimum=within)
