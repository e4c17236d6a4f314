"""Settings of a campaign's runs: the axes of a grid, and the runs that meet conditions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from f3ast_tff.campaigns.runs import PlannedRun
from f3ast_tff.core.errors import ParameterError
from f3ast_tff.settings import Registry, parameters_of
from f3ast_tff.settings.conditions import (
    MAX_VALUES,
    ValueRefused,
    conditions,
    integer_range,
)
from f3ast_tff.settings.groups import GROUPS
from f3ast_tff.settings.kinds import KINDS

# An axis whose value d stands for `data_seed` d and `seed` d: data, availability and all else.
DRAW = "draw"
# Where a run goes is the campaign's to say.
_NOT_OF_A_RUN = ("output_dir", "run_name")
_WORDS = {str: "a text", int: "an integer", float: "a number", bool: "true or false"}


def setting_types(registry: Registry) -> dict[str, type]:
    """Returns the type of every setting by name; those of kinds are texts."""
    of_all = [parameter for group in GROUPS.values() for parameter in parameters_of(group)]
    parameters = [*of_all, *registry.parameters().values()]
    return {DRAW: int, **dict.fromkeys(KINDS, str), **{p.name: p.kind for p in parameters}}


def with_draw(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the settings with the seeds that a draw stands for in its place.

    Raises:
        ParameterError: If there are both a draw and a seed.
    """
    found = dict(settings)
    if DRAW in found:
        draw = found.pop(DRAW)
        for name in ("data_seed", "seed"):
            if name in found:
                raise ParameterError(name, found[name], f"must not be given with {DRAW}")
            found[name] = draw
    return found


def with_own_draw(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Returns a run's settings with the draw that both its seeds are; `None` if they differ."""
    seed = settings["seed"]
    same = settings.get("data_seed", seed) == seed
    return {**settings, DRAW: seed if same else None}


def one(types: Mapping[str, type], name: str, value: Any) -> Any:
    """Returns a value of a setting, as the setting's type; of an unknown setting, as it is.

    Raises:
        ValueRefused: If the value is of another type, or not to be said here.
    """
    if name in _NOT_OF_A_RUN:
        raise ValueRefused("is the campaign's to say")
    kind = types.get(name, type(value))
    if kind is float and type(value) is int:
        return float(value)
    if type(value) is not kind:
        raise ValueRefused(f"must be {_WORDS[kind]}")
    return value


def several(types: Mapping[str, type], name: str, value: Any) -> list[Any]:
    """Returns the values along an axis.

    Raises:
        ValueRefused: If there is none, one twice, or one that `one` refuses.
    """
    if isinstance(value, str) and types.get(name) is int:
        value = integer_range(value)
    if not isinstance(value, list):
        return [one(types, name, value)]
    if not 1 <= len(value) <= MAX_VALUES:
        raise ValueRefused(f"must name at least one value and at most {MAX_VALUES}")
    values = [one(types, name, item) for item in value]
    # A value of an unknown setting may be anything.
    if len({repr(value) for value in values}) < len(values):
        raise ValueRefused("names a value twice")
    return values


_MAX_NAMED = 20


def runs_where(
    runs: Sequence[PlannedRun], where: str, types: Mapping[str, type]
) -> tuple[PlannedRun, ...]:
    """Returns the runs that meet all conditions, in their order.

    Args:
        runs: The campaign's.
        where: See `conditions`. A run that has no such setting meets none on it; `DRAW` is a
            run's `data_seed` and `seed` where they are one number.
        types: See `setting_types`.

    Raises:
        ParameterError: On a condition that is none or that no run meets, a setting there is not,
            or if no run is left.
    """
    allowed = conditions(where)
    settings = [with_own_draw(run.settings) for run in runs]
    for name, values in allowed.items():
        if name not in types:
            condition = f"{name}={values[0]}"
            raise ParameterError("where", condition, f"there is no setting {name}")
        there = [each[name] for each in settings if each.get(name) is not None]
        for value in values:
            if not any(_is(name, setting, value) for setting in there):
                words = f"none of the campaign's {len(runs)} runs has it{_named(there)}"
                raise ParameterError("where", f"{name}={value}", words)
    found = tuple(
        run
        for run, each in zip(runs, settings)
        if all(
            any(_is(name, each.get(name), value) for value in values)
            for name, values in allowed.items()
        )
    )
    if not found:
        raise ParameterError("where", where, f"none of the campaign's {len(runs)} runs has these")
    return found


def _named(there: Sequence[Any]) -> str:
    names = list(dict.fromkeys(map(str, there)))
    more = ", ..." if len(names) > _MAX_NAMED else ""
    return f"; must be one of {', '.join(names[:_MAX_NAMED])}{more}" if names else ""


def _is(name: str, setting: Any, text: str) -> bool:
    """Whether a text says a setting's value: 0.10 says 0.1, and FedAvg says fedavg."""
    if isinstance(setting, bool) or name in KINDS:
        return str(setting).lower() == text.lower()
    if isinstance(setting, (int, float)):
        try:
            return float(text) == setting
        except ValueError:
            return False
    return bool(setting == text)
