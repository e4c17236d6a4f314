"""A model of its trained leaves alone; all others are held constant."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from f3ast_tff.core.errors import ParameterError
from f3ast_tff.models.factor_pairs import FactorPair
from f3ast_tff.models.leaf_patterns import buffers_among
from f3ast_tff.models.leaves import PARAMETER, LeafKinds, names_of
from f3ast_tff.models.model import Model


class TrainedLeaves:
    """A `Model` whose weights are some leaves of another.

    So other leaves are neither trained nor sent nor remembered: nothing but `whole` knows them.

    Attributes:
        model: The model of all leaves.
        places: Places of the leaves that are trained or held, rising.
        leaves: Weights of round 1, of all leaves.
        examples_at_once: See `Model`.
        loss: See `Model`.
        scores: See `Model`.
        buffer_leaves: Places of the buffers among the leaves here.
        held_leaves: Places of the leaves that are the server's, see `HELD`.
    """

    def __init__(
        self,
        model: Model,
        leaves: Sequence[np.ndarray],
        trained: Sequence[int],
        held: Sequence[int] = (),
    ) -> None:
        """Takes the model, the weights of all its leaves, and the places of those that are here.

        Args:
            model: See the class.
            leaves: See the class.
            trained: Leaves that clients train.
            held: Leaves that the server alone changes.
        """
        self.model, self.leaves = model, list(leaves)
        self.places = tuple(sorted({*trained, *held}))
        self.held_leaves = tuple(i for i, place in enumerate(self.places) if place in held)
        self._names = names = names_of(model)
        self.examples_at_once = model.examples_at_once
        self.loss, self.scores = (getattr(model, each, None) for each in ("loss", "scores"))
        found = buffers_among(names, len(leaves), getattr(model, "buffer_leaves", None))
        self.buffer_leaves = [i for i, place in enumerate(self.places) if place in found]

    def initial_weights(self, seed: int) -> list[np.ndarray]:
        """Returns the trained leaves of round 1, of the run's seed or start."""
        return [self.leaves[place].copy() for place in self.places]

    def leaf_names(self) -> list[str]:
        """Returns the names of the trained leaves."""
        return [self._names[place] for place in self.places] if self._names else []

    def factor_pairs(self) -> tuple[FactorPair, ...]:
        """Returns the pairs of factors that are trained, by their places here."""
        own = {place: i for i, place in enumerate(self.places)}
        return tuple(
            replace(
                pair,
                base=None if pair.base is None else own.get(pair.base),
                a=own[pair.a],
                b=own[pair.b],
            )
            for pair in pairs_of(self.model)
            if pair.a in own and pair.b in own
        )

    def whole(self, weights: Sequence[Any]) -> list[Any]:
        """Returns the weights of all leaves."""
        found: list[Any] = list(self.leaves)
        for place, weight in zip(self.places, weights):
            found[place] = weight
        return found

    def all_kinds(self, kinds: LeafKinds) -> LeafKinds:
        """Returns the kinds of all leaves, given those of the trained ones."""
        own = dict(zip(self.places, kinds.kinds))
        every = tuple(own.get(place, PARAMETER) for place in range(len(self.leaves)))
        return LeafKinds(every, tuple(leaf.size for leaf in self.leaves))

    def coordinates(self) -> np.ndarray:
        """Returns the places of the trained coordinates in all leaves as one vector, `int64`."""
        ends = np.cumsum([0, *(leaf.size for leaf in self.leaves)])
        return np.concatenate([np.arange(ends[i], ends[i + 1]) for i in self.places])

    def apply(self, weights: Any, inputs: Any) -> Any:
        return self.model.apply(self.whole(weights), inputs)

    def penalty(self, weights: Any) -> Any:
        return self.model.penalty(self.whole(weights))

    def keras_model(self) -> Any:
        """Refuses, as TFF trains all leaves of a Keras model.

        Raises:
            ParameterError: Always.
        """
        raise ParameterError("engine", "tff", "must be fused or host with train: TFF trains all")


def pairs_of(model: Any) -> tuple[FactorPair, ...]:
    """Returns the pairs of factors that a model declares by a method `factor_pairs`, if any."""
    declared = getattr(model, "factor_pairs", None)
    return () if declared is None else tuple(declared())
