"""The errors that a user can cause or meet; each has a message of one line."""

from __future__ import annotations

import errno
from numbers import Integral

# Length of a value in a message.
_LONGEST = 500
_OF_A_PATH = frozenset(
    {
        errno.EACCES,
        errno.EEXIST,
        errno.EISDIR,
        errno.ELOOP,
        errno.ENAMETOOLONG,
        errno.ENOENT,
        errno.ENOTDIR,
        errno.ENOTEMPTY,
        errno.EPERM,
        errno.EROFS,
    }
)


def is_of_a_path(error: OSError) -> bool:
    """Whether the error means that a path cannot be used, unlike a full disk and the like."""
    return error.errno in _OF_A_PATH


class ParameterError(ValueError):
    """A parameter has a value that is not allowed.

    The command line shows it as `--name=value` if the parameter is a flag.

    Attributes:
        name: Name of the parameter.
        value: The value given.
        allowed: Allowed values, in words.

    Examples:
        >>> from f3ast_tff import simulate
        >>> simulate(clients_per_round=0)
        Traceback (most recent call last):
            ...
        f3ast_tff.core.errors.ParameterError: clients_per_round = 0: must be at least 1
    """

    def __init__(self, name: str, value: object, allowed: str) -> None:
        super().__init__(name, value, allowed)
        self.name = name
        self.value = value
        self.allowed = allowed

    def __str__(self) -> str:
        """Names parameter, value and allowed values in one line, the value cut if long."""
        value = " ".join(str(self.value).split())
        shown = value if len(value) <= _LONGEST else f"{value[:_LONGEST]}..."
        return f"{self.name} = {shown}: {self.allowed}"


def whole_number(name: str, value: object, least: int) -> int:
    """Returns an argument that must be an integer.

    Raises:
        ParameterError: If it is none, or below `least`.

    Examples:
        >>> from f3ast_tff.core.errors import whole_number
        >>> whole_number("rounds", 5, least=1)
        5
    """
    if not isinstance(value, Integral) or isinstance(value, bool):
        raise ParameterError(name, value, f"must be an integer, at least {least}")
    if value < least:
        raise ParameterError(name, value, f"must be at least {least}")
    return int(value)


class ComponentError(TypeError):
    """A component breaks the protocol of its kind; names the component and the missing part.

    Examples:
        >>> from f3ast_tff import simulate
        >>> simulate(availability=lambda t: [True, False])
        Traceback (most recent call last):
            ...
        f3ast_tff.core.errors.ComponentError: availability function: has no num_clients, mask
    """


class PluginError(RuntimeError):
    """A plug-in's code raised an error; names the plug-in, the method, the error and the place."""


class RunFolderError(RuntimeError):
    """A run folder cannot be used: other settings, in use, or not writable.

    Examples:
        >>> from f3ast_tff import load_run
        >>> from f3ast_tff.core.errors import RunFolderError
        >>> try:
        ...     load_run("nowhere")
        ... except RunFolderError as error:
        ...     print(error)
        nowhere holds no run: it has no config.json
    """


class CheckpointError(RuntimeError):
    """No usable checkpoint, though there are checkpoint files; names them."""


class EngineError(RuntimeError):
    """An engine lost its worker process or cluster."""


class DataError(RuntimeError):
    """A data file is missing, damaged or of the wrong form; names the file and the place.

    Examples:
        >>> from pathlib import Path
        >>> from f3ast_tff.availability.logs.availability_log import read_log
        >>> read_log(Path("missing.csv"))
        Traceback (most recent call last):
            ...
        f3ast_tff.core.errors.DataError: missing.csv: there is no such file
    """


# Errors whose message needs no traceback.
EXPECTED = (
    CheckpointError,
    ComponentError,
    DataError,
    EngineError,
    ParameterError,
    PluginError,
    RunFolderError,
)


class Interrupted(Exception):
    """A run was asked to stop and has stopped.

    Attributes:
        round_number: Round of its last checkpoint; 0 without a checkpoint.
    """

    def __init__(self, round_number: int = 0) -> None:
        super().__init__(f"interrupted, checkpoint at round {round_number}")
        self.round_number = round_number
