"""Names of metrics loggers, as in the setting `logger`."""

from __future__ import annotations

from f3ast_tff.core.errors import ParameterError

# `csv` is `metrics.csv`, which every run has.
NAMES = ("csv", "tensorboard")


def listed(text: str) -> list[str]:
    """Returns the names in a comma list of loggers, known or not."""
    return [part.strip().lower() for part in text.split(",") if part.strip()]


def logger_names(text: str) -> list[str]:
    """Returns the names in a comma list such as `"tensorboard,csv"`.

    Raises:
        ParameterError: If a name is unknown.
    """
    names = listed(text)
    for name in names:
        if name not in NAMES:
            allowed = f"must be a comma list of {', '.join(NAMES)}; {name!r} is none of them"
            raise ParameterError("logger", text, allowed)
    return list(dict.fromkeys(names))
