"""A part of a campaign: its runs that have given settings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from f3ast_tff.campaigns import axes
from f3ast_tff.campaigns.runs import PlannedRun
from f3ast_tff.components.kinds import KINDS
from f3ast_tff.conditions import conditions
from f3ast_tff.errors import ParameterError

_MOST_NAMED = 20


def runs_where(
    runs: Sequence[PlannedRun], where: str, types: Mapping[str, type]
) -> tuple[PlannedRun, ...]:
    """Returns the runs that meet all conditions, in their order.

    Args:
        runs: The campaign's.
        where: See `conditions`. A run that has no such setting meets none on it; `axes.DRAW` is a
            run's `data_seed` and `seed` where they are one number.
        types: See `axes.setting_types`.

    Raises:
        ParameterError: On a condition that is none or that no run meets, a setting there is not,
            or if no run is left.
    """
    allowed = conditions(where)
    settings = [axes.with_own_draw(run.settings) for run in runs]
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
    more = ", ..." if len(names) > _MOST_NAMED else ""
    return f"; must be one of {', '.join(names[:_MOST_NAMED])}{more}" if names else ""


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
