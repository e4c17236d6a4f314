"""Weights of round 1: arrays given in Python, or the model of another run."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from f3ast_tff.core.errors import ParameterError, RunFolderError
from f3ast_tff.models import Model
from f3ast_tff.models.leaves import names_of
from f3ast_tff.records.run_folder import read_config
from f3ast_tff.run.saved_run import saved_weights
from f3ast_tff.settings.configuration import GIVEN_ARRAYS, Settings

_NAME = "initial_weights"
# Settings that decide which clients are in a half.
_HALVED_BY = ("task", "num_clients", "data_seed", "client_split", "label_counts", "partition")


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


def given_weights(settings: Settings, given: Sequence[np.ndarray] | None) -> list[np.ndarray]:
    """Returns the weights that the setting names.

    Args:
        settings: All settings, with `initial_weights`: a run's folder, or the digest of `given`.
        given: Weights given in Python, if any.

    Raises:
        ParameterError: If the folder holds no run with a checkpoint, or one on the first half of
            other clients.
    """
    setting = settings.training.initial_weights or ""
    if given is not None:
        return list(given)
    if setting.startswith(GIVEN_ARRAYS):
        raise ParameterError(_NAME, setting, "must be a folder: it stands for arrays in Python")
    found = weights_of_run(setting)
    config = read_config(Path(setting))
    theirs = {} if config is None else config["settings"]
    if {theirs.get("client_half"), settings.get("client_half")} == {"first", "second"}:
        for name in _HALVED_BY:
            if settings.get(name) != theirs.get(name):
                allowed = f"must be {theirs.get(name)}, as in {setting}: other halves overlap"
                raise ParameterError(name, settings.get(name), allowed)
    return found


def fitting(weights: Sequence[np.ndarray], model: Model, seed: int) -> list[np.ndarray]:
    """Returns weights that a model can start from.

    Raises:
        ParameterError: If their number or shapes are not the model's; names the first leaf that
            differs.
    """
    like = model.initial_weights(seed)
    names = names_of(model) or [f"array {place}" for place in range(len(like))]
    pairs = list(zip(weights, like))
    differ = (place for place, (one, own) in enumerate(pairs) if one.shape != own.shape)
    place = next(differ, len(pairs))
    if len(weights) != len(like):
        leaf = f"{names[place]} {[*like[place].shape]} on" if place < len(like) else "its last on"
        allowed = f"must be {len(like)} arrays, as the model has: they differ from {leaf}"
        raise ParameterError(_NAME, f"{len(weights)} arrays", allowed)
    if place < len(like):
        allowed = f"must have shape {[*like[place].shape]}, as the model's {names[place]}"
        raise ParameterError(_NAME, f"array {place} of shape {[*weights[place].shape]}", allowed)
    return list(weights)
