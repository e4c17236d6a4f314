"""Errors as one line on stderr, and exit codes."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Container

from f3ast_tff.core.errors import ParameterError, is_of_a_path
from f3ast_tff.core.messages import one_line

BAD_INPUT = 2
FAILED = 1


def fail(error: Exception | str, code: int = BAD_INPUT, names: Container[str] | None = None) -> int:
    """Prints an error in one line and returns the exit code.

    Args:
        error: The error; a `ParameterError` is printed as the flag of its parameter.
        code: The exit code.
        names: Names that are flags; `None` where each parameter is one.
    """
    text = str(error)
    if isinstance(error, ParameterError) and (names is None or error.name in names):
        text = f"--{error.name}={error.value}: {error.allowed}"
    # The terminal may be gone.
    with contextlib.suppress(OSError):
        print(f"error: {one_line(text)}", file=sys.stderr)
    return code


def fail_of_machine(error: OSError | MemoryError) -> int:
    """Prints what this machine did not let a run do, in one line, and returns the exit code."""
    if isinstance(error, MemoryError):
        return fail(f"not enough memory: {error}", FAILED)
    path = error.filename2 or error.filename
    code = BAD_INPUT if is_of_a_path(error) else FAILED
    return fail(f"{path}: {error.strerror}" if path else str(error), code)
