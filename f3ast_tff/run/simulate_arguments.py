"""Checks of the arguments of `simulate` and `compare` that are no settings of a run."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterable, Mapping, Sequence
from numbers import Integral
from pathlib import Path
from typing import Any

import numpy as np

from f3ast_tff.core.errors import ParameterError, RunFolderError
from f3ast_tff.records.run_folder import ADVICE
from f3ast_tff.settings.configuration import GIVEN_ARRAYS

_LOG = logging.getLogger(__name__)

# Settings of a run's files, with the values for no files.
_OF_FILES: Mapping[str, tuple[Any, ...]] = {
    "client_scores": (None, False),
    "write_masks": (None, "none"),
    "logger": (None, ""),
    "output_dir": (None,),
    "run_name": (None,),
}


def check_folder(folder: Any) -> None:
    """Raises `ParameterError` unless a folder is given as text or path, or not at all."""
    if folder is None or isinstance(folder, str) and folder:
        return
    if not isinstance(folder, os.PathLike) or not isinstance(os.fspath(folder), str):
        raise ParameterError("folder", folder, "must be the path of a folder")


def check_functions(**functions: Any) -> None:
    """Raises `ParameterError` for an argument that is neither a function nor `None`."""
    for name, function in functions.items():
        if function is not None and not callable(function):
            raise ParameterError(name, function, "must be a function")


def methods_named(methods: Any) -> bool:
    """Returns whether methods are given by name, and at least one."""
    return (
        isinstance(methods, Mapping)
        and bool(methods)
        and all(isinstance(name, str) for name in methods)
    )


def seeds_of(seeds: Any) -> list[int]:
    """Returns the seeds of several runs.

    Raises:
        ParameterError: If there is none, or one is there twice.
    """
    found: list[Any] = (
        list(seeds) if isinstance(seeds, Iterable) and type(seeds) is not bytes else [None]
    )
    if not all(isinstance(each, Integral) for each in found):
        raise ParameterError("seeds", seeds, "must be a list of integers")
    if not found:
        raise ParameterError("seeds", found, "must hold at least one")
    if len({*found}) < len(found):
        raise ParameterError("seeds", found, "must differ: a repeated run has equal results")
    return found


def texts_of(name: str, values: Any) -> list[str]:
    """Returns a list of texts and integers as texts.

    Raises:
        ParameterError: If it is none.
    """
    is_list = isinstance(values, Iterable) and not isinstance(values, (str, bytes))
    found: list[Any] = list(values) if is_list else [None]
    if not all(isinstance(each, (str, int)) for each in found):
        raise ParameterError(name, values, "must be a list of texts")
    return [str(each) for each in found]


def check_files(folder: str | os.PathLike[str] | None, settings: Mapping[str, Any]) -> None:
    """Raises `ParameterError` for settings of a run's files that contradict `folder`."""
    for name, none in _OF_FILES.items():
        value = settings.get(name)
        if folder is None and not any(value is each or repr(value) == repr(each) for each in none):
            allowed = "must not be given without folder: nothing is written"
            raise ParameterError(name, value, allowed)
        if folder is not None and value is not None and name in ("output_dir", "run_name"):
            allowed = f"must not be given with folder, which is {os.fspath(folder)}"
            raise ParameterError(name, value, allowed)


def say_if_not_resumable(path: Path, objects: Sequence[str]) -> None:
    """Logs that a run with objects without an identity cannot be resumed.

    Raises:
        RunFolderError: If there is one.
    """
    if not objects:
        return
    what = f"{', '.join(objects)} given as an object without identity"
    if (path / "config.json").exists():
        raise RunFolderError(f"{path} holds a run that cannot be resumed: {what}. {ADVICE}")
    _LOG.warning(
        "%s: this run cannot be resumed; register it, or give it an attribute identity", what
    )


def start_of(settings: Mapping[str, Any]) -> tuple[list[np.ndarray] | None, dict[str, Any]]:
    """Returns weights given as arrays, and settings that name them by their digest."""
    value = settings.get("initial_weights")
    if value is None or isinstance(value, (str, os.PathLike)):
        return None, dict(settings)
    from f3ast_tff.run.initial_weights import digest_of, given_arrays

    start = given_arrays(value)
    return start, {**settings, "initial_weights": f"{GIVEN_ARRAYS}{digest_of(start)}"}
