"""The setting `train`, the leaves that are trained, and `factors`, the rule for LoRA's."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Any

import numpy as np

from f3ast_tff.core.errors import ParameterError
from f3ast_tff.methods.parts.aggregation import Aggregation
from f3ast_tff.methods.parts.aggregation_checks import check_aggregation, require_plain_sgd
from f3ast_tff.methods.parts.factor_rules import INTO_BASE, RULES, Factored
from f3ast_tff.methods.parts.personal import NoRules
from f3ast_tff.models import Model
from f3ast_tff.models.factor_pairs import Located
from f3ast_tff.models.leaf_patterns import chosen_leaves
from f3ast_tff.models.leaves import names_of
from f3ast_tff.models.low_rank import Lora
from f3ast_tff.models.trained_leaves import TrainedLeaves, pairs_of
from f3ast_tff.run.initial_weights import fitting
from f3ast_tff.settings.configuration import Settings

_LOG = logging.getLogger("f3ast_tff.run")


def trained_part(
    model: Model, settings: Settings, given: Sequence[np.ndarray] | None
) -> TrainedLeaves:
    """Returns the model of the trained leaves alone; says what stays.

    Args:
        model: The model of all leaves.
        settings: All settings, with `train`.
        given: Weights of round 1 by `initial_weights`, if given.

    Raises:
        ParameterError: If `train` names no leaf or all, or `factors` does not fit.
    """
    training = settings.training
    train, factors = training.train or "", training.factors
    if settings.engine == "tff":
        allowed = f"must be fused or host with train={train}: TFF trains all leaves"
        raise ParameterError("engine", "tff", allowed)
    leaves, names = model.initial_weights(settings.run.seed), names_of(model)
    if given is not None:
        leaves = _start(model, given, settings.run.seed)
    places = chosen_leaves(train, names, len(leaves), "train")
    said = names or [str(place) for place in range(len(leaves))]
    if len(places) == len(leaves):
        raise ParameterError("train", train, f"must leave some: it names all of {', '.join(said)}")
    held: list[int] = []
    if factors is not None:
        pairs = [p for p in pairs_of(model) if p.a in places and p.b in places]
        held = [p.base for p in pairs if p.base is not None]
        if not pairs or factors in INTO_BASE and len(held) < len(pairs):
            allowed = f"needs factors of lora(...) among the leaves of train={train}"
            raise ParameterError("factors", factors, allowed)
        if twice := sorted(set(held) & set(places)):
            allowed = f"must not name {said[twice[0]]} with factors={factors}, which has factors"
            raise ParameterError("train", train, allowed)
        held = held if factors in INTO_BASE else []
        frozen = [p.a for p in pairs] if factors == "ffa" else []
        places = [place for place in places if place not in frozen]
    _LOG.info(
        "trained leaves %s: %d of %d numbers",
        ", ".join(said[place] for place in places),
        sum(leaves[place].size for place in places),
        sum(leaf.size for leaf in leaves),
    )
    return TrainedLeaves(model, leaves, places, held)


def _start(model: Model, given: Sequence[np.ndarray], seed: int) -> list[np.ndarray]:
    """Weights of round 1; those of LoRA's base do, with new factors."""
    own = model.initial_weights(seed)
    if isinstance(model, Lora) and len(given) != len(own):
        return [*fitting(given, model.base, seed), *own[len(model.names) :]]
    return fitting(given, model, seed)


def around_factors(aggregation: Aggregation, model: Any, settings: Settings) -> Aggregation:
    """Returns an aggregation of LoRA's factors by the setting `factors`.

    Args:
        aggregation: A sum or mean.
        model: The model of the trained leaves.
        settings: All settings.

    Raises:
        ParameterError: If a setting does not go with the rule.
    """
    name = settings.training.factors
    if name is None or not isinstance(model, TrainedLeaves):
        raise ParameterError("factors", name, "needs train, such as train=lora")
    if name not in RULES:
        return aggregation
    if aggregation.memory is not None or aggregation.stacks:
        allowed = f"must be sum or mean with factors={name}"
        raise ParameterError("aggregation", settings.aggregation, allowed)
    if settings.training.private is not None:
        allowed = f"must be changes or ffa with private={settings.training.private}"
        raise ParameterError("factors", name, allowed)
    if name in INTO_BASE and settings.is_late:
        allowed = f"must be in time with factors={name}, by which an update's base may be gone"
        raise ParameterError("delivery", settings.delivery, allowed)
    if name in INTO_BASE:
        because = f"with factors={name}, which moves the base by what the factors do"
        require_plain_sgd(settings, "server", because)
    weights = model.initial_weights(0)
    ends = np.cumsum([0, *(weight.size for weight in weights)]).tolist()

    def place(leaf: int) -> tuple[int, int]:
        return ends[leaf], ends[leaf + 1]

    pairs = tuple(
        Located(
            pair=pair,
            a=place(pair.a),
            b=place(pair.b),
            base=None if pair.base is None else place(pair.base),
            rank=len(weights[pair.a]),
        )
        for pair in model.factor_pairs()
    )
    named = [part for each in pairs for part in (each.a, each.b, each.base)]
    ranges = tuple(sorted(part for part in named if part is not None))
    rules = RULES[name](
        NoRules(), ranges, pairs=pairs, is_mean=aggregation.normalise, seed=settings.run.seed
    )
    check_aggregation(
        f"{settings.aggregation} of factors={name}", rules, stacks=False, settings=settings
    )
    return Factored(aggregation, ranges, rules)
