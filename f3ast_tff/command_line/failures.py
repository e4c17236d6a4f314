"""Errors as one line on stderr, and exit codes."""

from __future__ import annotations

import signal
import sys
from collections.abc import Container

from f3ast_tff.errors import ParameterError

BAD_INPUT = 2
FAILED = 1
INTERRUPTED = 128 + signal.SIGINT


def fail(error: Exception | str, code: int = BAD_INPUT, names: Container[str] | None = None) -> int:
    """Prints an error in one line and returns the exit code.

    Args:
        error: What went wrong; a `ParameterError` is said as the flag of its parameter.
        code: The exit code.
        names: Names that are flags; `None` where each parameter is one.
    """
    text = str(error)
    if isinstance(error, ParameterError) and (names is None or error.name in names):
        text = f"--{error.name}={error.value}: {error.allowed}"
    print(f"error: {' '.join(text.split())}", file=sys.stderr)
    return code
