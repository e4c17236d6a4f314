"""Weights of round 1: arrays given in Python, or the model of another run."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from f3ast_tff.core.errors import ParameterError, RunFolderError
from f3ast_tff.run.saved_run import saved_weights
from f3ast_tff.settings.configuration import GIVEN_ARRAYS

_NAME = "initial_weights"


def given_arrays(value: Any) -> list[np.ndarray]:
    """Returns weights given in Python, `float32`.

    Raises:
        ParameterError: If they are no list of arrays of finite numbers; names the array.
    """
    if not isinstance(value, (list, tuple)):
        allowed = "must be a list of arrays, or the folder of a run"
        raise ParameterError(_NAME, type(value).__name__, allowed)
    found = []
    for place, given in enumerate(value):
        try:
            array = np.asarray(given)
        except ValueError as error:
            raise ParameterError(_NAME, f"array {place}", f"must be an array: {error}") from error
        if array.dtype.kind not in "iuf":
            raise ParameterError(_NAME, f"array {place} of {array.dtype}", "must be of numbers")
        with np.errstate(over="ignore"):
            array = array.astype(np.float32)
        if not np.isfinite(array).all():
            raise ParameterError(_NAME, f"array {place}", "must be of finite numbers")
        found.append(array)
    return found


def digest_of(weights: Sequence[np.ndarray]) -> str:
    """Returns the SHA-256 of weights, with their shapes."""
    digest = hashlib.sha256()
    for weight in weights:
        digest.update(f"{weight.shape} ".encode())
        digest.update(np.ascontiguousarray(weight).tobytes())
    return digest.hexdigest()


def weights_of_run(folder: str) -> list[np.ndarray]:
    """Returns the scored model of a run's last checkpoint.

    Raises:
        ParameterError: If the folder holds no run with a sound checkpoint.
    """
    try:
        found = saved_weights(Path(folder))
    except RunFolderError as error:
        raise ParameterError(_NAME, folder, str(error)) from error
    if found is None:
        raise ParameterError(_NAME, folder, "must be the folder of a run with a checkpoint")
    return given_arrays(found)


def start_of(
    setting: str, given: Sequence[np.ndarray] | None, like: Sequence[np.ndarray]
) -> list[np.ndarray]:
    """Returns the weights of round 1.

    Args:
        setting: Value of the setting: a run's folder, or the digest of `given`.
        given: Weights given in Python, if any.
        like: Initial weights of the model, for their shapes.

    Raises:
        ParameterError: If the folder holds no run with a checkpoint, or number or shapes of the
            weights are not the model's; names the first difference.
    """
    if given is None and setting.startswith(GIVEN_ARRAYS):
        raise ParameterError(_NAME, setting, "must be a folder: it stands for arrays in Python")
    weights = weights_of_run(setting) if given is None else given
    if len(weights) != len(like):
        allowed = f"must be {len(like)} arrays, as the model has"
        raise ParameterError(_NAME, f"{len(weights)} arrays", allowed)
    for place, (weight, own) in enumerate(zip(weights, like)):
        if weight.shape != own.shape:
            allowed = f"must have shape {[*own.shape]}, as the model's"
            raise ParameterError(_NAME, f"array {place} of shape {[*weight.shape]}", allowed)
    return list(weights)
