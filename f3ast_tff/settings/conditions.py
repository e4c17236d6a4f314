"""Conditions on settings as a flag says them: SETTING=VALUE, with commas between."""

from __future__ import annotations

from f3ast_tff.core.errors import ParameterError


def conditions(text: str) -> dict[str, list[str]]:
    """Returns the values that are allowed for each setting that a flag `--where` names.

    Args:
        text: Conditions such as `"task=cifar100,algorithm=fedavg,algorithm=poc"`; of those on one
            setting one must hold. What follows a comma and does not begin with a setting's name
            and `=` goes on with the value before it, as in `"constraint=steps:1=10,100=50"`.

    Raises:
        ParameterError: On a part that is no condition.
    """
    allowed: dict[str, list[str]] = {}
    values: list[str] = []
    for each in text.split(","):
        part = each.strip()
        name, equals, value = part.partition("=")
        if equals and name.isidentifier():
            values = allowed.setdefault(name, [])
            values.append(value)
        elif name and values:
            values[-1] += f",{part}"
        else:
            raise ParameterError("where", each, "must be SETTING=VALUE")
    return allowed
