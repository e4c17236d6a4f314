"""Fixed K: the same number of clients every round."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from f3ast_tff.components import parameter, register
from f3ast_tff.errors import ParameterError
from f3ast_tff.methods.parts.feasible import Feasible

from .constraint import ConstraintConfig


@dataclass(frozen=True)
class FixedK:
    """The usual setting of federated averaging.

    Attributes:
        clients_per_round: K, at least 1.
    """

    clients_per_round: int

    def __post_init__(self) -> None:
        if self.clients_per_round < 1:
            raise ParameterError("clients_per_round", self.clients_per_round, "must be at least 1")

    @property
    def largest_k(self) -> int:
        """K."""
        return self.clients_per_round

    @property
    def mean_k(self) -> float:
        """K."""
        return float(self.clients_per_round)

    def limit(self, round_number: int) -> Feasible:
        """See `CommunicationConstraint.limit`."""
        return Feasible(self.clients_per_round)


@register("communication", "fixed", "Fixed K", about="K: the same K in every round", order=1)
@dataclass(frozen=True)
class FixedConfig(ConstraintConfig):
    """Configuration of `FixedK`; what `communication` is where it is not given."""

    form: ClassVar[str] = "K"

    clients_per_round: int = parameter(10, "K, the most clients a round", minimum=1)

    def build(self, num_clients: int, seed: int, update_bytes: int) -> FixedK:
        """See `ConstraintConfig.build`."""
        if self.arguments:
            raise self._refused("must be a number alone")
        if self.clients_per_round > num_clients:
            allowed = f"must be at most num_clients, {num_clients}"
            raise ParameterError("clients_per_round", self.clients_per_round, allowed)
        return FixedK(self.clients_per_round)

    def check(self, settings: Mapping[str, Any]) -> None:
        """See `ConstraintConfig.check`."""
        self.build(settings.get("num_clients") or self.clients_per_round, 0, 1)
