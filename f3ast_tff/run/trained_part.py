"""The setting `train`: the leaves that are trained."""

from __future__ import annotations

import logging
from collections.abc import Sequence

import numpy as np

from f3ast_tff.core.errors import ParameterError
from f3ast_tff.models import Model
from f3ast_tff.models.leaf_patterns import chosen_leaves
from f3ast_tff.models.leaves import names_of
from f3ast_tff.models.low_rank import Lora
from f3ast_tff.models.trained_leaves import TrainedLeaves
from f3ast_tff.run.initial_weights import start_of, weights_of_run
from f3ast_tff.settings.configuration import Settings

_LOG = logging.getLogger("f3ast_tff.run")


def trained_part(
    model: Model, settings: Settings, given: Sequence[np.ndarray] | None
) -> TrainedLeaves:
    """Returns the model of the trained leaves alone; says what stays.

    Args:
        model: The model of all leaves.
        settings: All settings, with `train`.
        given: Weights of round 1 given in Python, if any.

    Raises:
        ParameterError: If `train` names no leaf or all.
    """
    training = settings.training
    train = training.train or ""
    if settings.engine == "tff":
        allowed = f"must be fused or host with train={train}: TFF trains all leaves"
        raise ParameterError("engine", "tff", allowed)
    leaves, names = model.initial_weights(settings.run.seed), names_of(model)
    if training.initial_weights is not None:
        leaves = _start(model, training.initial_weights, given, leaves)
    places = chosen_leaves(train, names, len(leaves), "train")
    said = names or [str(place) for place in range(len(leaves))]
    if len(places) == len(leaves):
        raise ParameterError("train", train, f"must leave some: it names all of {', '.join(said)}")
    _LOG.info(
        "trained leaves %s: %d of %d numbers",
        ", ".join(said[place] for place in places),
        sum(leaves[place].size for place in places),
        sum(leaf.size for leaf in leaves),
    )
    return TrainedLeaves(model, leaves, places)


def _start(
    model: Model, setting: str, given: Sequence[np.ndarray] | None, own: Sequence[np.ndarray]
) -> list[np.ndarray]:
    """Weights of round 1; those of LoRA's base do, with new factors."""
    found = weights_of_run(setting) if given is None else given
    if isinstance(model, Lora) and len(found) == len(model.names):
        base = start_of(setting, found, own[: len(found)])
        return [*base, *own[len(found) :]]
    return start_of(setting, found, own)
