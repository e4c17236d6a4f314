"""Resolves given settings to a `Configuration` and checks them before slow work.

It makes the `Config` of each component; run/build.py calls their `build`.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from types import MappingProxyType
from typing import Any

from f3ast_tff.core.errors import ComponentError, ParameterError
from f3ast_tff.settings import Derived, Parameter, Published, Reading, Registry, parameters_of
from f3ast_tff.settings.component import component_of, parts_of
from f3ast_tff.settings.configuration import Configuration, Settings
from f3ast_tff.settings.groups import GROUPS
from f3ast_tff.settings.kinds import AUTO, KINDS
from f3ast_tff.settings.logger_names import logger_names
from f3ast_tff.settings.parameter import REQUIRED, nearest
from f3ast_tff.settings.registry import builtin_registry
from f3ast_tff.settings.run_names import name_part, path_part, run_name

_FIXED_CONSTRAINT = "fixed"
# A number K.
_COUNT = re.compile("[0-9]{1,18}")
# File systems allow 255.
_LONGEST_NAME_BYTES = 200


def resolve(given: Mapping[str, Any], registry: Registry | None = None) -> Configuration:
    """Resolves and checks settings.

    Args:
        given: Values by name; `None` or absence means not given.
        registry: Known components; by default of this package.

    Returns:
        The configuration. Given values come first, then the reading, published values, defaults.

    Raises:
        ComponentError: If the task publishes a value that no setting reads.
        ParameterError: If a value is not allowed, or a setting's component is not chosen.
    """
    return _Resolver(_given(given), registry or builtin_registry()).configuration()


def applicable(given: Mapping[str, Any], registry: Registry) -> set[str]:
    """Returns the names of all settings of an experiment with these components.

    Args:
        given: Settings by name; only settings that choose components matter.
        registry: Known components.
    """
    return {*KINDS, *_Resolver(_given(given), registry).declared}


def halves(given: Mapping[str, Any]) -> dict[str, Any]:
    """Returns settings with `algorithm=f3ast+scaffold` as algorithm f3ast, aggregation scaffold."""
    text = given.get("algorithm")
    if not isinstance(text, str) or "+" not in text:
        return dict(given)
    algorithm, rules = text.split("+", 1)
    if (other := given.get("aggregation", rules)) != rules:
        raise ParameterError("aggregation", other, f"must be {rules} with {text}")
    return {**given, "algorithm": algorithm, "aggregation": rules}


def _given(settings: Mapping[str, Any]) -> dict[str, Any]:
    """The given settings; a constraint that is only a number becomes `clients_per_round`.

    The engine `auto` counts as not given, so that a run's identity names the engine it is on.
    """
    given = halves({name: value for name, value in settings.items() if value is not None})
    if given.get("engine") == AUTO:
        del given["engine"]
    text = given.get("constraint")
    if isinstance(text, str) and _COUNT.fullmatch(text):
        if "clients_per_round" in given:
            allowed = "must not be given with clients_per_round"
            raise ParameterError("constraint", text, allowed)
        given["clients_per_round"] = int(given.pop("constraint"))
    if "local_steps" in given and given.get("local_epochs", 1) != 1:
        allowed = f"must not be given with local_steps={given['local_steps']}, which replaces it"
        raise ParameterError("local_epochs", given["local_epochs"], allowed)
    return given


class _Resolver:
    """The `ResolvedSettings` of one experiment; each value is resolved once, on first use."""

    def __init__(self, given: Mapping[str, Any], registry: Registry) -> None:
        self._given = given
        self._registry = registry
        self._values: dict[str, Any] = {}
        self._asked: list[str] = []
        self._classes: dict[str, Any] = {}
        self._fixed: Mapping[str, Any] = {}
        self._refuse_unknown()
        self._refuse_unread_published()
        algorithm = self.config_class("algorithm")
        self._fixed = algorithm.fixed
        self._refuse_against_fixed(component_of(algorithm).name)
        # The parameters of the chosen components, by name.
        self.declared = _declared(tuple(c for kind in KINDS for c in self.config_classes(kind)))
        self._refuse_two_defaults()

    def __getitem__(self, name: str) -> Any:
        if name in self._values:
            return self._values[name]
        if name in KINDS:
            value = self._name_of(name)
        elif name in self.declared:
            value = self._value(self.declared[name][0])
        else:
            raise KeyError(name)
        self._values[name] = value
        return value

    def get(self, name: str, default: Any = None) -> Any:
        return self[name] if name in KINDS or name in self.declared else default

    def config_class(self, kind: str) -> Any:
        if kind not in self._classes:
            try:
                found = self._registry.find(kind, self._component_name(kind)).config
            except ParameterError as error:
                # The error holds the whole text of a constraint.
                value = self._given.get(kind, error.value)
                raise ParameterError(kind, value, error.allowed) from error
            self._classes[kind] = found
        return self._classes[kind]

    def find(self, kind: str, name: str) -> Any:
        return self._registry.find(kind, name).config

    def config_classes(self, kind: str) -> list[Any]:
        """The `Config` classes of the chosen component and of its parts."""
        config = self.config_class(kind)
        if kind != "availability":
            return [config]
        names = config.part_names(self._given, self._registry.names(kind))
        return [config, *(self.find(kind, name) for name in names)]

    def configuration(self) -> Configuration:
        self._refuse_not_chosen()
        kinds = {kind: self[kind] for kind in KINDS}
        # The run's name follows from all other settings.
        for name in self.declared.keys() - {"run_name"}:
            self[name]
        values = {name: self[name] for name in self.declared}
        configs = {kind: self._chosen(kind) for kind in KINDS}
        settings = Settings.of({**kinds, **values}, is_late=configs["delivery"].is_late)
        for config in configs.values():
            for part in (config, *parts_of(config)):
                part.check(settings)
        chosen = frozenset(self._given)
        found = Configuration(MappingProxyType(configs), settings, self._registry, chosen)
        settings.training.client_schedule  # noqa: B018 - refuses a parameter that it lacks.
        self._check_weights(configs["algorithm"], configs["aggregation"])
        _check_run_name(settings.run.run_name)
        logger_names(settings.run.logger)
        return found

    def _check_weights(self, algorithm: Any, aggregation: Any) -> None:
        """Refuses an aggregation that does not fit the algorithm's weights or updates."""
        meant_for = algorithm.aggregation
        if not aggregation.takes_weights(self.find("aggregation", meant_for)):
            allowed = f"the weights of {component_of(algorithm).name} are meant for {meant_for}"
            raise ParameterError("aggregation", component_of(aggregation).name, allowed)
        if algorithm.client_clip_norm is not None and aggregation.reads_gradients:
            allowed = f"reads gradients off updates, which {component_of(algorithm).name} clips"
            raise ParameterError("aggregation", component_of(aggregation).name, allowed)

    def run_name(self) -> str:
        named = ("task", "algorithm", "availability", "reading")
        parts = [self[name] for name in named]
        for kind in KINDS:
            default = KINDS[kind].default
            default = default.compute(self) if isinstance(default, Derived) else default
            if kind in self._given and kind not in named and self[kind] != default:
                parts.append(name_part(kind, self[kind]))
        for name, (parameter, *_) in self.declared.items():
            if name == "rounds" and not self._depends_on_rounds():
                # A longer run continues a shorter run.
                continue
            if parameter.is_input and self._given.get(name) is not None:
                # Its content makes the run, its folder does not.
                parts.append(name_part(name, os.path.basename(self[name].rstrip("/"))))
            elif name not in (*named, "seed") and self._departs(parameter):
                of_path = parameter.is_path and isinstance(self[name], str)
                parts.append((path_part if of_path else name_part)(name, self[name]))
        return run_name([*parts, f"seed{self['seed']}"])

    def _departs(self, parameter: Parameter) -> bool:
        """Whether a setting is given, decides the result, and is not its default."""
        if parameter.name not in self._given or not parameter.decides_result:
            return False
        default = self._default(parameter, parameter.default)
        return self[parameter.name] != (None if default is None else parameter.checked(default))

    def _depends_on_rounds(self) -> bool:
        """Whether a longer run has other first rounds."""
        chosen = [component_of(c) for kind in KINDS for c in self.config_classes(kind)]
        if any(self._registry.plugin_of(component) for component in chosen):
            return True
        derived = (p.default for p, *_ in self.declared.values() if p.name not in self._given)
        of_rounds = any(isinstance(d, Derived) and d.from_rounds for d in derived)
        return of_rounds or self.config_class("algorithm").depends_on_rounds(self)

    def _chosen(self, kind: str) -> Any:
        config, *parts = [self._config(c) for c in self.config_classes(kind)]
        if kind == "constraint":
            return replace(config, arguments=(self["constraint"] or "").partition(":")[2])
        return replace(config, parts=tuple(parts)) if parts else config

    def _config(self, config: type) -> Any:
        names = [parameter.name for parameter in parameters_of(config)]
        return config(**{name: self[name] for name in names})

    def _name_of(self, kind: str) -> str | None:
        if kind != "constraint":
            return component_of(self.config_class(kind)).name
        return self._given.get(kind)

    def _component_name(self, kind: str) -> str:
        value = self._given.get(kind, KINDS[kind].default)
        if kind == "algorithm" or kind not in (fixed := self._fixed_kinds()):
            if isinstance(value, Derived):
                value = value.compute(self)
        else:
            value = fixed[kind]
        if kind == "constraint":
            return _FIXED_CONSTRAINT if value is None else _constraint_name(value)
        if not isinstance(value, str):
            raise ParameterError(kind, value, "must be a name")
        return value

    def _fixed_kinds(self) -> Mapping[str, Any]:
        return {k: v for k, v in self._fixed.items() if k in KINDS}

    def _value(self, parameter: Parameter) -> Any:
        name = parameter.name
        if name in self._given:
            value = self._given[name]
            for other in self.declared[name]:
                value = other.checked(value)
            return value
        if name in self._fixed:
            return self._fixed[name]
        if name in self._asked:
            raise ParameterError(name, "", f"follows from itself: {' -> '.join(self._asked)}")
        self._asked.append(name)
        try:
            default = self._default(parameter, parameter.default)
        finally:
            self._asked.pop()
        return parameter.checked(default)

    def _default(self, parameter: Parameter, default: Any) -> Any:
        if isinstance(default, Reading):
            default = default.value(self["reading"])
        if isinstance(default, Published):
            default = self._published(parameter.name, default.fallback)
        if isinstance(default, Derived):
            default = default.compute(self)
        return None if default is REQUIRED else default

    def _published(self, name: str, fallback: Any) -> Any:
        of_task = self.config_class("task").published
        if name == "num_clients" and (n := self.config_class("task").num_clients_of(self)):
            return n
        if name == "num_clients" and self.config_class("task").generates_data:
            # A log comes with its clients.
            for config in self.config_classes("availability"):
                if (n := config.num_clients_of(self)) is not None:
                    return n
        value = of_task.get(name, fallback)
        if isinstance(value, Mapping):
            return value.get(self["server_optimizer"], fallback)
        return value

    def _refuse_unknown(self) -> None:
        known = {*KINDS, *_declared(()), *self._registry.parameter_names}
        for name, value in self._given.items():
            if name not in known:
                near = nearest(name, known)
                hint = f"; did you mean {near}?" if near else ""
                raise ParameterError(name, value, f"there is no such setting{hint}")

    def _refuse_unread_published(self) -> None:
        config = self.config_class("task")
        if self._registry.plugin_of(component_of(config)) is None:
            # Of this package, where a test checks them.
            return
        everywhere = {name: first for name, (first, *_) in _declared(()).items()}
        known = {**everywhere, **self._registry.parameters()}
        read = sorted(n for n, p in known.items() if isinstance(p.default, Published))
        for name in config.published:
            if name not in read:
                says = f"published has {name!r}: must be among {', '.join(read)}"
                raise ComponentError(f"task {component_of(config).name}: {says}")

    def _refuse_against_fixed(self, algorithm: str) -> None:
        deliveries, given = self.config_class("algorithm").deliveries, self._given.get("delivery")
        if deliveries and given is not None:
            config = self.config_class("delivery")
            own = self._registry.plugin_of(component_of(config)) is not None
            # A late delivery of one's own is one of drawn delays.
            name = "late" if own and config.is_late else component_of(config).name
            if name not in deliveries:
                allowed = f"must be {' or '.join(deliveries)} with algorithm {algorithm}"
                raise ParameterError("delivery", given, allowed)
        for name, value in self._fixed.items():
            given = self._given.get(name, value)
            if name in KINDS and isinstance(given, str):
                given = self._registry.find(name, given).name
            if given != value:
                allowed = f"must be {value} with algorithm {algorithm}"
                raise ParameterError(name, self._given[name], allowed)

    def _refuse_two_defaults(self) -> None:
        """Refuses components that share a setting's name by chance: one default would be lost."""
        for name, (first, *others) in self.declared.items():
            if any(other.default != first.default for other in others):
                chosen = [component_of(c) for kind in KINDS for c in self.config_classes(kind)]
                both = [c for c in chosen if any(p.name == name for p in c.parameters)]
                owners = " and ".join(f"{c.kind} {c.name}" for c in both)
                raise ComponentError(f"{owners} both have a parameter {name}, of other defaults")

    def _refuse_not_chosen(self) -> None:
        for name, value in self._given.items():
            if name in KINDS or name in self.declared:
                continue
            takers = self._registry.takers(name)
            kind = takers[0].kind
            names = ", ".join(taker.name for taker in takers if taker.kind == kind)
            chosen = component_of(self.config_class(kind)).name
            raise ParameterError(
                name, value, f"only applies with {kind} {names}; the {kind} is {chosen}"
            )


@lru_cache(maxsize=1024)
def _declared(chosen: tuple[type, ...]) -> Mapping[str, Sequence[Parameter]]:
    """The parameters of the groups and the chosen `Config` classes, by name."""
    found: dict[str, list[Parameter]] = {}
    for config in (*GROUPS.values(), *chosen):
        for parameter in parameters_of(config):
            found.setdefault(parameter.name, []).append(parameter)
    return found


def _constraint_name(text: Any) -> str:
    """The constraint that a text such as `cycle:5,10` names."""
    if not isinstance(text, str):
        raise ParameterError("constraint", text, "must be a text such as cycle:5,10")
    return text.partition(":")[0]


def _check_run_name(name: str) -> None:
    if not name or "/" in name or name in (".", ".."):
        raise ParameterError("run_name", name, "must be the name of one folder")
    if len(name.encode()) > _LONGEST_NAME_BYTES:
        allowed = f"must be at most {_LONGEST_NAME_BYTES} bytes long"
        raise ParameterError("run_name", name, allowed)
