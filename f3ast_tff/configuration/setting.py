"""How one setting is declared: what it means and what it may be."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import Field, field
from typing import Any

from f3ast_tff.availability.catalogue import ENTRIES, all_parameters
from f3ast_tff.errors import SettingError

# Marks a default that another setting decides: the task, the algorithm or the reading.
DERIVED = object()


def setting(
    group: str,
    help_text: str,
    default: Any = DERIVED,
    *,
    kind: type = str,
    choices: Sequence[str] | None = None,
    minimum: float | None = None,
    above: float | None = None,
    below: float | None = None,
    maximum: float | None = None,
    optional: bool = False,
    decides_result: bool = True,
    tasks: Sequence[str] = (),
) -> Any:
    """Declares a field of `Settings`.

    Args:
        group: Heading it stands under in `--help`.
        help_text: One line.
        default: Its default; `DERIVED` if other settings decide it.
        kind: `str`, `int` or `float`.
        choices: Allowed values, if they can be listed.
        minimum: Least allowed value.
        above: Bound that the value must exceed.
        below: Bound that the value must stay under.
        maximum: Greatest allowed value.
        optional: Whether `None` is a value of its own.
        decides_result: Whether a run with another value is another run.
        tasks: The tasks that have this setting; none named: all.
    """
    return field(
        metadata={
            "group": group,
            "help": help_text,
            "default": default,
            "kind": kind,
            "choices": tuple(choices) if choices else None,
            "minimum": minimum,
            "above": above,
            "below": below,
            "maximum": maximum,
            "optional": optional,
            "decides_result": decides_result,
            "tasks": tuple(tasks),
        }
    )


def of_availability(name: str) -> Any:
    """Declares the field of a parameter of an availability process."""
    parameter = all_parameters()[name]
    takers = [key for key, entry in ENTRIES.items() if parameter in entry.parameters]
    return setting(
        "Availability",
        f"{', '.join(takers)}: {parameter.help}",
        parameter.default,
        kind=parameter.kind,
        choices=parameter.choices or None,
        optional=parameter.default is None,
    )


def check(spec: Field, value: Any) -> None:
    """Checks one value against its declaration.

    Raises:
        SettingError: Names the setting, the value and what is allowed.
    """
    rules = spec.metadata
    if value is None and rules["optional"]:
        return
    if rules["choices"] and value not in rules["choices"]:
        raise SettingError(spec.name, value, f"must be one of {', '.join(rules['choices'])}")
    if rules["kind"] is str:
        return
    bounds = []
    if rules["minimum"] is not None:
        bounds.append((value >= rules["minimum"], f"at least {rules['minimum']}"))
    if rules["above"] is not None:
        bounds.append((value > rules["above"], f"above {rules['above']}"))
    if rules["below"] is not None:
        bounds.append((value < rules["below"], f"below {rules['below']}"))
    if rules["maximum"] is not None:
        bounds.append((value <= rules["maximum"], f"at most {rules['maximum']}"))
    if isinstance(value, float) and not math.isfinite(value):
        bounds.append((False, "finite"))
    if not all(holds for holds, _ in bounds):
        raise SettingError(spec.name, value, "must be " + " and ".join(text for _, text in bounds))
