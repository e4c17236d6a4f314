"""Next character of Shakespeare's works, a client a speaking role (F3AST, App. C; reading R8)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from f3ast_tff import datasets
from f3ast_tff.core.federated_data import FederatedData
from f3ast_tff.settings import register
from f3ast_tff.tasks.task import ADAPTIVE_SERVER_STEPS, ResplitTaskConfig


@register(
    "task",
    "shakespeare",
    "Shakespeare",
    about="next character, a client being a speaking role",
    order=4,
)
@dataclass(frozen=True)
class ShakespeareConfig(ResplitTaskConfig):
    """Configuration of `datasets.shakespeare` and `datasets.shakespeare_from_tff`."""

    model: ClassVar[str] = "character_lstm"
    num_classes: ClassVar[int | None] = 90
    # As `cifar100`'s.
    published: ClassVar[Mapping[str, Any]] = {
        **ADAPTIVE_SERVER_STEPS,
        "num_clients": 715,
        "rounds": 500,
        "batch_size": 4,
        "client_lr": 1.0,
    }
    tff_clients_at_once: ClassVar[int] = 1

    def build(self) -> FederatedData:
        """See `TaskConfig.build`."""
        if self.client_split == "tff":
            return datasets.shakespeare_from_tff(self.folder)
        return datasets.shakespeare(self.folder, self.num_clients)
