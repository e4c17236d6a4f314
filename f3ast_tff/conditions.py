"""Conditions on settings as a flag says them: SETTING=VALUE, with commas between."""

from __future__ import annotations

from f3ast_tff.errors import ParameterError


def conditions(text: str) -> dict[str, list[str]]:
    """Returns the values that are allowed for each setting that a flag `--where` names.

    Args:
        text: Conditions such as `"task=cifar100,algorithm=fedavg,algorithm=poc"`; of those on one
            setting one must hold.

    Raises:
        ParameterError: On a part that is no condition.
    """
    allowed: dict[str, list[str]] = {}
    for each in text.split(","):
        name, equals, value = each.strip().partition("=")
        if not (name and equals):
            raise ParameterError("where", each, "must be SETTING=VALUE")
        allowed.setdefault(name, []).append(value)
    return allowed
