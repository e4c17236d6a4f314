"""Components given as objects instead of names."""

from __future__ import annotations

import copy
import inspect
import logging
import numbers
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from f3ast_tff.availability import Table
from f3ast_tff.availability.joint_availability import (
    JointAvailability,
    measured_and_said,
    shown_clients,
)
from f3ast_tff.availability.logs.availability_log import log_of_frame
from f3ast_tff.availability.logs.mask_files import PackedMasks, packed_masks
from f3ast_tff.availability.table import TableConfig
from f3ast_tff.core.errors import ComponentError, ParameterError
from f3ast_tff.methods.parts.selecting_method import is_playing
from f3ast_tff.methods.parts.strategy import BaseStrategy, facts_of
from f3ast_tff.models import TrainingFunction
from f3ast_tff.run.object_identity import identity_of
from f3ast_tff.settings import Registry, parameters_of, register
from f3ast_tff.settings.component import Plugin, component_of, given_fields
from f3ast_tff.settings.configuration import Configuration
from f3ast_tff.settings.kinds import KINDS

_LOG = logging.getLogger(__name__)
# Rounds to measure, if a process does not declare whether clients are available together.
_MEASURED_ROUNDS = 500
# What a component answers for each round.
_ASKED = {"availability": "mask", "constraint": "limit", "delivery": "arrivals"}


def settings_of(given: Mapping[str, Any], registry: Registry) -> tuple[dict[str, Any], Registry]:
    """Turns objects into settings.

    Args:
        given: Settings by name; the value of a kind is a name, a `Config` (an object or the class)
            or another object.
        registry: Known components.

    Returns:
        Settings with plain values, and the registry extended by components for the objects.

    Raises:
        ComponentError: If an object breaks the protocol of its kind.
        ParameterError: If a parameter of a `Config` is also given as a setting.
    """
    settings = dict(given)
    constraint = settings.get("constraint")
    if isinstance(constraint, numbers.Integral):
        if settings.get("clients_per_round") not in (None, constraint):
            allowed = f"must not be given with constraint={constraint}"
            raise ParameterError("clients_per_round", settings["clients_per_round"], allowed)
        settings["clients_per_round"] = int(settings.pop("constraint"))
    plugins = []
    for kind in KINDS:
        value = settings.get(kind)
        if value is None or isinstance(value, str):
            continue
        component = _component_of(value)
        if kind == "algorithm" and component is not None and component.kind == "aggregation":
            # A class of rules stands for the algorithm that `method` made of it, if any.
            component = _component_of(getattr(component.config, "algorithm", value))
        if component is not None and component.kind == kind and not is_playing(value):
            arguments = getattr(value, "arguments", "")
            settings[kind] = f"{component.name}:{arguments}" if arguments else component.name
            settings.update(_fields_of(value, given))
            if registry.has(component):
                continue
        else:
            if kind == "availability":
                value = _table_of(value)
            component = component_of(_config_of(kind, value, registry))
            settings[kind] = component.name
        digest, lasting = identity_of(value)
        name = f"{kind} {component.name}"
        rules = _component_of(getattr(component.config, "rules", None))
        lacks = rules is not None and not registry.has(rules)
        half = (rules,) if lacks and rules is not _component_of(given.get("aggregation")) else ()
        new = (component, *half)
        plugins.append(Plugin(name, source="", sha256=digest, components=new, lasting=lasting))
    return settings, registry.with_plugins(plugins)


def _component_of(value: Any) -> Any:
    """The component of an object or class, `None` if it is not registered.

    Only the class itself counts: a class derived from a component's is another component.
    """
    return vars(value if inspect.isclass(value) else type(value)).get("component")


def _fields_of(config: Any, given: Mapping[str, Any]) -> dict[str, Any]:
    """The parameters given to a `Config`; all others keep the defaults of task and reading."""
    found: dict[str, Any] = {}
    if inspect.isclass(config):
        return found
    fields = given_fields(config)
    for parameter in parameters_of(type(config)):
        if parameter.name in fields:
            if given.get(parameter.name) is not None:
                allowed = f"is given in {type(config).__name__} too"
                raise ParameterError(parameter.name, given[parameter.name], allowed)
            found[parameter.name] = getattr(config, parameter.name)
    return found


def check_strategy(strategy: Any, configuration: Configuration) -> None:
    """Refuses a user's strategy that asks for another aggregation or loss than the run's.

    Says how updates are weighed if the strategy leaves this to `BaseStrategy`.

    Raises:
        ComponentError: See `check_observes`.
        ParameterError: Names what the strategy asks for.
    """
    check_observes(strategy)
    name, configs, settings = type(strategy).__name__, configuration.configs, configuration.settings
    meant_for = getattr(strategy, "aggregation", None)
    if meant_for is not None:
        of_weights = configuration.registry.find("aggregation", meant_for).config
        if not configs["aggregation"].takes_weights(of_weights):
            give = f"give aggregation={meant_for!r}, or name it in the Config"
            allowed = f"the weights of {name} are meant for {meant_for}: {give}"
            raise ParameterError("aggregation", settings.aggregation, allowed)
    if type(strategy).weigh is BaseStrategy.weigh and settings.aggregation == "sum":
        said = "algorithm %s: each update weighs 1, and the step is their sum (aggregation sum); "
        _LOG.warning(f"{said}aggregation = 'mean' takes their mean", name)
    loss = configs["algorithm"].client_loss
    asked = getattr(strategy, "client_loss", loss)
    if asked not in (None, loss):
        allowed = f"{name} asks for client_loss {asked!r}, which its Config or function must name"
        raise ParameterError("algorithm", settings.algorithm, allowed)


def check_observes(strategy: Any) -> None:
    """Refuses a strategy whose `observe` would not be called.

    Raises:
        ComponentError: If it has an `observe` of its own, but no `needs_outcome`.
    """
    own = isinstance(strategy, BaseStrategy) and type(strategy).observe is not BaseStrategy.observe
    if own and not strategy.needs_outcome:
        says = "has an observe, which is only called with needs_outcome = True"
        raise ComponentError(f"algorithm {type(strategy).__name__}: {says}")


def check_repeats(kind: str, made: Any, ask: Callable[[int], Any]) -> None:
    """Refuses a user's component that is no function of the round.

    Args:
        kind: Kind of the component.
        made: The component, for the error.
        ask: Returns the result of a round: an array, or a dataclass of arrays and numbers.

    Raises:
        ComponentError: If the result of round 1 differs when asked for again, or after round 2.
    """
    first, again, _, later = (list(map(np.array, _parts(ask(t)))) for t in (1, 1, 2, 1))
    for a, b in (*zip(first, again), *zip(first, later)):
        if not np.array_equal(a, b, equal_nan=a.dtype.kind == "f"):
            says = f"{_ASKED[kind]}(1) returned two results"
            must = "it must be a function of seed and round alone"
            raise ComponentError(f"{kind} {type(made).__name__}: {says}: {must}")


def _parts(found: Any) -> list[Any]:
    if isinstance(found, np.ndarray):
        return [found]
    return [getattr(found, each.name) for each in fields(found)]


def _table_of(value: Any) -> Any:
    """The table of a DataFrame or of masks; other objects unchanged."""
    if hasattr(value, "columns") or hasattr(value, "to_pandas"):
        return Table(log_of_frame(value))
    if not isinstance(value, np.ndarray):
        return value
    if value.dtype != np.bool_ or value.ndim != 2:
        raise ComponentError(
            f"availability masks have shape {value.shape} and dtype {value.dtype}: "
            "must be bool [T, N]"
        )
    return Table(value)


def _config_of(kind: str, value: Any, registry: Registry) -> type:
    is_config = isinstance(value, KINDS[kind].base_class) and not is_playing(value)
    if KINDS[kind].build_arguments and is_config:
        raise ComponentError(f"{kind} {type(value).__name__}: lacks the decorator @register")
    if not KINDS[kind].members:
        raise ParameterError(kind, value, f"must be one of {', '.join(registry.names(kind))}")
    if kind == "algorithm" and inspect.isclass(value) and hasattr(value, "select"):
        name = value.__name__
        allowed = f"is a class: give an object, {name}(...), or a function that makes one of a run"
        raise ParameterError(kind, name, f"{allowed}: lambda world: {name}(world.p)")
    makes = kind == "algorithm" and callable(value) and not hasattr(value, "select")
    if not makes:
        KINDS[kind].check_object(value)
    subject = value if inspect.isclass(value) or inspect.isfunction(value) else type(value)
    display = subject.__name__ if subject.__name__ != "<lambda>" else f"own {kind}"
    name = re.sub(r"\W+|(?<=[a-z0-9])(?=[A-Z])", "_", display).strip("_").lower()
    if name in registry.names(kind) or not name[:1].isalpha():
        name = f"own_{name}"
    members = {"__module__": __name__, "build": _build(kind, value, makes), **_facts(kind, value)}
    config: Any = type(f"{subject.__name__}Config", (KINDS[kind].base_class,), members)
    about = f"{subject.__module__}.{subject.__qualname__}"
    return register(kind, name, display, about=about)(dataclass(frozen=True)(config))


def _build(kind: str, value: Any, makes: bool) -> Callable[..., Any]:
    def build(self: Any, *arguments: Any) -> Any:
        if not makes:
            # A constraint may draw K_t by the run's seed.
            bind = getattr(value, "build", None) if kind == "constraint" else None
            if bind is not None:
                return bind(*arguments)
            # A strategy has state, and a process may remember rounds: each run has a new copy.
            return copy.deepcopy(value) if kind in ("algorithm", "availability") else value
        strategy = value(*arguments)
        KINDS[kind].check_object(strategy)
        return strategy

    return build


def _facts(kind: str, value: Any) -> dict[str, Any]:
    """Class attributes of the component, from the object."""
    if kind == "algorithm":
        own = facts_of(value)
        return {"aggregation": own.aggregation, "client_loss": own.client_loss}
    if kind == "delivery":
        return {"is_late": getattr(value, "is_late", False)}
    if kind == "availability":
        return _facts_of_availability(value)
    if kind == "model":
        facts = {"engines": (), "labels_sequences": False, "in_numpy": False, "convex": False}
        found = {name: getattr(value, name, missing) for name, missing in facts.items()}
        return {**found, "trains_itself": isinstance(value, TrainingFunction)}
    if kind == "task":
        return {"published": {"num_clients": value.train.num_clients}}
    return {}


def _facts_of_availability(value: Any) -> dict[str, Any]:
    """Facts that a process declares; missing facts are measured, as for masks."""

    def measured(known: Any) -> JointAvailability | None:
        if isinstance(value, Table):
            return value.together
        return measured_and_said(_first_rounds(value), type(value).__name__)

    declared = getattr(value, "positively_correlated", None)
    facts: dict[str, Any] = {"positively_correlated": declared is not False}
    if declared is None or isinstance(value, Table):
        facts["measured"] = staticmethod(measured)
    if isinstance(value, Table):
        facts["num_clients_of"] = staticmethod(lambda known: value.num_clients)
        facts["__annotations__"] = {"clients": tuple[str, ...]}
        facts["clients"] = ()
        facts["for_clients"] = TableConfig.for_clients
        facts["client_names"] = TableConfig.client_names
        facts["build"] = lambda self, p, seed: value.of_clients(self.clients)
    return facts


def _first_rounds(process: Any) -> PackedMasks:
    process = copy.deepcopy(process)
    shown = shown_clients(process.num_clients)
    rounds = range(1, _MEASURED_ROUNDS + 1)
    masks = np.array([process.mask(t)[shown] for t in rounds])
    return packed_masks(masks, type(process).__name__)
