"""A resolved experiment: its settings, its components and their parameters."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from functools import cached_property, lru_cache
from pathlib import Path
from types import MappingProxyType
from typing import Any, TypeVar

from f3ast_tff.core.errors import ParameterError
from f3ast_tff.files.data_files import hash_of
from f3ast_tff.settings.component import Component, Plugin, component_of, parts_of
from f3ast_tff.settings.groups import (
    GROUPS,
    ReadingConfig,
    RunConfig,
    SelectionConfig,
    TrainingConfig,
)
from f3ast_tff.settings.kinds import KINDS
from f3ast_tff.settings.parameter import Parameter, parameters_of
from f3ast_tff.settings.registry import Registry

# Setting whose input is the folder of a run.
_RUN = "initial_weights"
# Settings that older runs lack: None is as if they were not there.
_LATER = ("train", "factors", "lora", "lora_leaves", "lora_alpha", "client_half")
# Start of a setting that stands for arrays given in Python; their SHA-256 follows.
GIVEN_ARRAYS = "sha256:"
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
    attack: str | None = None
    score_of: str | None = None
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


@dataclass(frozen=True)
class Configuration:
    """A resolved experiment.

    Attributes:
        configs: `Config` of the chosen component, by kind.
        settings: All settings, including kinds (whose values are names); JSON values.
        registry: Registry of the components.
        given: Names of the given settings; all others have their defaults.
    """

    configs: Mapping[str, Any]
    settings: Settings
    registry: Registry
    given: frozenset[str] = frozenset()

    @property
    def components(self) -> dict[str, Component]:
        """The chosen components by kind."""
        return {kind: component_of(config) for kind, config in self.configs.items()}

    @property
    def folder(self) -> Path:
        """The run's folder, `<output_dir>/<run_name>`."""
        return Path(self.settings.run.output_dir) / self.settings.run.run_name

    @property
    def identity(self) -> dict[str, Any]:
        """Everything that decides the result: settings, digests of plug-ins and input files.

        Raises:
            ParameterError: If an input file cannot be read.
        """
        left_out = {*self._not_compared, *(n for n in _LATER if self.settings.get(n) is None)}
        found = {n: v for n, v in self.settings.items() if n not in left_out}
        plugins = {plugin.name: plugin.sha256 for plugin in self.plugins}
        digests = {"plugins": plugins, "input_files": self.input_files}
        return {**found, **{name: each for name, each in digests.items() if each}}

    @property
    def input_files(self) -> dict[str, str]:
        """SHA-256 of each input file of the run, by the setting that names it.

        Raises:
            ParameterError: If a file cannot be read.
        """
        names = [p.name for p in self._parameters() if p.is_input]
        found = {}
        for name in dict.fromkeys(names):
            path = self.settings[name]
            if path is not None:
                if name == _RUN and path.startswith(GIVEN_ARRAYS):
                    found[name] = path.removeprefix(GIVEN_ARRAYS)
                    continue
                try:
                    path = _last_checkpoint(path) if name == _RUN else path
                    found[name] = _digest(path, *_stamp(path))
                except FileNotFoundError as error:
                    raise ParameterError(name, path, "not found") from error
                except (OSError, ValueError) as error:
                    reason = error.strerror if isinstance(error, OSError) else error
                    raise ParameterError(name, path, f"cannot be read: {reason}") from error
        return found

    @property
    def plugins(self) -> list[Plugin]:
        """The plug-ins whose components are in use."""
        found = {}
        for config in self._all_configs():
            plugin = self.registry.plugin_of(component_of(config))
            if plugin is not None:
                found[plugin.name] = plugin
        return list(found.values())

    @property
    def plugin_sources(self) -> list[str]:
        """The distinct sources of these plug-ins, for loading them again."""
        return list(dict.fromkeys(plugin.source for plugin in self.plugins))

    def settings_elsewhere(self) -> dict[str, Any]:
        """Returns the settings for a process in another working folder: paths are absolute."""
        paths = {p.name for p in self._parameters() if p.is_path and not p.decides_result}
        given = {name: self.settings[name] for name in paths if self.settings[name] is not None}
        return {**self.settings, **{name: os.path.abspath(path) for name, path in given.items()}}

    @property
    def method_settings(self) -> list[str]:
        """Settings in which compared runs of other methods may differ."""
        own = [name for name, kind in KINDS.items() if kind.method_specific]
        trains_itself = self.configs["model"].trains_itself
        own += ["model", "engine"] if trains_itself else []
        for kind, config in self.configs.items():
            of_method = KINDS[kind].method_specific or (kind == "model" and trains_itself)
            own += _method_specific(type(config), by_default=of_method)
        for group in GROUPS.values():
            own += _method_specific(group, by_default=False)
        return own

    def describe(self) -> dict[str, Any]:
        """Returns the content of `config.json` besides the settings; analysis needs no plug-ins.

        Returns:
            `components`: display name and line of each chosen component by kind, whether the task
            generates its data, its classes, and whether the algorithm pools the data;
            `method_settings`; `not_compared`: settings that do not affect results; `plugins`: name,
            source, SHA-256, and the kinds of their components in use; `input_files`: SHA-256 by
            setting.
        """
        components: dict[str, dict[str, Any]] = {
            kind: {"name": c.name, "display": c.display, "about": c.about, "order": c.order}
            for kind, c in self.components.items()
        }
        for name in ("generates_data", "num_classes"):
            components["task"][name] = getattr(self.components["task"].config, name)
        components["algorithm"]["pooled"] = self.components["algorithm"].config.pooled
        if further := self.components.get("score_of"):
            components["score_of"]["higher_is_better"] = further.config.higher_is_better
        return {
            "components": components,
            "method_settings": self.method_settings,
            "not_compared": [*self._not_compared, *self._uncompared_kinds],
            "plugins": [
                {"name": p.name, "source": p.source, "sha256": p.sha256, "kinds": self._kinds(p)}
                for p in self.plugins
            ],
            "input_files": self.input_files,
        }

    @property
    def _not_compared(self) -> list[str]:
        """Settings that do not affect results."""
        return [p.name for p in self._parameters() if not p.decides_result]

    @property
    def _uncompared_kinds(self) -> list[str]:
        """Kinds in use that do not affect training, and their components' parameters."""
        used = {kind: c for kind, c in self.configs.items() if not KINDS[kind].compared}
        return [*used, *(p.name for config in used.values() for p in parameters_of(config))]

    def _kinds(self, plugin: Plugin) -> list[str]:
        """The kinds of a plug-in's components that are in use."""
        used = map(component_of, self._all_configs())
        return list(dict.fromkeys(c.kind for c in used if c in plugin.components))

    def _all_configs(self) -> list[Any]:
        """The `Config`s of the components and of their parts."""
        return [part for c in self.configs.values() for part in (c, *parts_of(c))]

    def _parameters(self) -> list[Parameter]:
        parts = [part for c in self.configs.values() for part in parts_of(c)]
        of_components, of_parts = map(type, self.configs.values()), map(type, parts)
        classes = [*of_components, *GROUPS.values(), *of_parts]
        return [p for config in classes for p in parameters_of(config)]


def _method_specific(config: type, by_default: bool) -> list[str]:
    """Names of the parameters in which compared methods may differ."""
    declared = {p.name: p.method_specific for p in parameters_of(config)}
    return [name for name, own in declared.items() if (by_default if own is None else own)]


def _last_checkpoint(path: str) -> str:
    """The last checkpoint of a run's folder; another path unchanged."""
    if not os.path.isdir(path):
        return path
    checkpoints = sorted(Path(path, "checkpoints").glob("round_*.npz"))
    if not checkpoints:
        raise ValueError("it is a folder without a checkpoint of a run")
    return str(checkpoints[-1])


def _stamp(path: str) -> tuple[int, ...]:
    """File metadata that changes with the content."""
    found = os.stat(path)
    return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns


@lru_cache(maxsize=128)
def _digest(path: str, *stamp: int) -> str:
    """The SHA-256 of a file, computed once for all runs of a campaign."""
    return hash_of(Path(path))
