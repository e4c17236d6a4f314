"""Exit codes of commands, and errors in one line on stderr."""

from __future__ import annotations

from collections.abc import Container, Iterator
from contextlib import contextmanager
from pathlib import Path

from f3ast_tff.core.errors import ParameterError, is_of_a_path
from f3ast_tff.files.messages import one_line
from f3ast_tff.files.progress import say

BAD_INPUT, FAILED = 2, 1


def fail(error: Exception | str, code: int = BAD_INPUT, names: Container[str] | None = None) -> int:
    """Prints an error in one line and returns the exit code.

    A `ParameterError` of a parameter in `names` is printed as a flag; with `None`, of any
    parameter.
    """
    text = str(error)
    if isinstance(error, ParameterError) and (names is None or error.name in names):
        text = f"--{error.name}={error.value}: {error.allowed}"
    say(f"error: {one_line(text)}")
    return code


@contextmanager
def written(flag: str, path: Path | str) -> Iterator[None]:
    """Names the flag where its file or folder cannot be written.

    Raises:
        ParameterError: If the path cannot be used.
        OSError: If the disk is full, and the like.
    """
    try:
        yield
    except OSError as error:
        if not is_of_a_path(error):
            raise
        raise ParameterError(flag, path, f"cannot write: {error.strerror or error}") from error


def fail_of_machine(error: OSError | MemoryError) -> int:
    """Prints an error of the machine (files, memory) in one line; returns the exit code."""
    if isinstance(error, MemoryError):
        return fail(f"not enough memory: {error}", FAILED)
    path = error.filename2 or error.filename
    code = BAD_INPUT if is_of_a_path(error) else FAILED
    return fail(f"{path}: {error.strerror}" if path else str(error), code)
