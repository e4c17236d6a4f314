"""A part of a campaign: its runs that have given settings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from f3ast_tff.campaigns import axes
from f3ast_tff.campaigns.runs import PlannedRun
from f3ast_tff.conditions import conditions
from f3ast_tff.errors import ParameterError


def runs_where(
    runs: Sequence[PlannedRun], where: str, types: Mapping[str, type]
) -> tuple[PlannedRun, ...]:
    """Returns the runs that meet all conditions, in their order.

    Args:
        runs: The campaign's.
        where: See `conditions`. A run that has no such setting meets none on it.
        types: See `axes.setting_types`.

    Raises:
        ParameterError: On a condition that is none, a setting there is not, or if no run is left.
    """
    allowed = conditions(where)
    for name, values in allowed.items():
        if name not in types:
            condition = f"{name}={values[0]}"
            raise ParameterError("where", condition, f"there is no setting {name}")

    def meets(run: PlannedRun) -> bool:
        settings = {axes.DRAW: run.settings["seed"], **run.settings}
        return all(
            any(_is(settings.get(name), value) for value in values)
            for name, values in allowed.items()
        )

    found = tuple(run for run in runs if meets(run))
    if not found:
        raise ParameterError("where", where, f"none of the campaign's {len(runs)} runs has these")
    return found


def _is(setting: Any, text: str) -> bool:
    """Whether a text says a setting's value: 0.10 says 0.1."""
    if isinstance(setting, bool):
        return str(setting).lower() == text.lower()
    if isinstance(setting, (int, float)):
        try:
            return float(text) == setting
        except ValueError:
            return False
    return bool(setting == text)
