"""All settings of an experiment, as the components' checks read them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from functools import cached_property
from types import MappingProxyType
from typing import Any, TypeVar

from f3ast_tff.settings.groups import ReadingConfig, RunConfig, SelectionConfig, TrainingConfig
from f3ast_tff.settings.parameter import parameters_of

_Group = TypeVar("_Group")


@dataclass(frozen=True, eq=False, repr=False)
class Settings(Mapping[str, Any]):
    """All settings of an experiment, by attribute; also by name, as `settings["scarce_q"]`.

    The attributes are the groups, the names of the chosen components, and the parameters that a
    component reads of another. A parameter that no chosen component has is at its default here.

    Attributes:
        by_name: Value of every setting by name; a kind's is the name of the chosen component.
        is_late: Whether updates may enter in a later round than they were asked in.

    Examples:
        >>> from f3ast_tff.settings.resolve import resolve
        >>> settings = resolve({"engine": "host", "rounds": 5}).settings
        >>> settings.engine, settings.training.rounds, settings.num_workers, settings["rate_beta"]
        ('host', 5, None, 0.001)
    """

    by_name: Mapping[str, Any]
    is_late: bool = False
    # Names of the chosen components.
    task: str = ""
    model: str = ""
    algorithm: str = ""
    aggregation: str = ""
    availability: str = ""
    constraint: str | None = None
    delivery: str = ""
    client_optimizer: str = ""
    server_optimizer: str = ""
    engine: str = ""
    # Parameters of components.
    async_buffer: int = 1
    buffer_size: int | None = None
    client_momentum: float = 0.0
    clients_per_round: int | None = None
    data_dir: str | None = None
    held_out_clients: int | None = None
    num_clients: int | None = None
    num_workers: int | None = None
    ridge: float = 0.0
    server_momentum: float = 0.0
    staleness_weight: str = "constant"
    test_clients: int | None = None

    @classmethod
    def of(cls, values: Mapping[str, Any], *, is_late: bool = False) -> Settings:
        """Returns the settings with these values, by name; `is_late` is the delivery's."""
        own = [field.name for field in fields(cls) if field.name not in ("by_name", "is_late")]
        read = {name: values[name] for name in own if name in values}
        return cls(MappingProxyType(dict(values)), is_late, **read)

    def __getitem__(self, name: str) -> Any:
        return self.by_name[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.by_name)

    def __len__(self) -> int:
        return len(self.by_name)

    def __repr__(self) -> str:
        return repr(dict(self.by_name))

    @cached_property
    def training(self) -> TrainingConfig:
        """Local training and the number of rounds."""
        return self._group(TrainingConfig)

    @cached_property
    def selection(self) -> SelectionConfig:
        """Limits on selection."""
        return self._group(SelectionConfig)

    @cached_property
    def readings(self) -> ReadingConfig:
        """The reading of the papers."""
        return self._group(ReadingConfig)

    @cached_property
    def run(self) -> RunConfig:
        """Seed, folder and files of the run."""
        return self._group(RunConfig)

    def _group(self, group: type[_Group]) -> _Group:
        names = [parameter.name for parameter in parameters_of(group)]
        return group(**{name: self[name] for name in names if name in self})
