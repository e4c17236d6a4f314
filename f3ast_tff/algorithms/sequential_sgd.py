"""Sequential SGD: all data at one client, no federated learning (FedLaAvg, Table 2)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, ClassVar

from f3ast_tff.algorithms.uniform import UniformConfig
from f3ast_tff.components import register
from f3ast_tff.errors import ParameterError


@register(
    "algorithm",
    "sequential_sgd",
    "Sequential SGD",
    about="one client holds all data and is always there: no federated learning",
    order=15,
)
@dataclass(frozen=True)
class SequentialSGDConfig(UniformConfig):
    """Configuration of the centralised baseline."""

    fixed: ClassVar[Mapping[str, Any]] = MappingProxyType(
        {"availability": "always", "clients_per_round": 1}
    )
    pooled: ClassVar[bool] = True

    def check(self, settings: Mapping[str, Any]) -> None:
        """See `AlgorithmConfig.check`."""
        text = settings.get("communication")
        if text is not None:
            allowed = "must not be given with sequential_sgd, which has one client"
            raise ParameterError("communication", text, allowed)
