"""Local work on all leaves of a model of which a part is trained."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from f3ast_tff.core.errors import ParameterError
from f3ast_tff.engines.engine import EngineParts, ExampleScores
from f3ast_tff.engines.host.local_work import LocalResult, LocalStart, LocalWork
from f3ast_tff.methods.parts.host_memory import flat
from f3ast_tff.models import TrainingFunction
from f3ast_tff.models.leaves import HELD, kinds_of
from f3ast_tff.models.trained_leaves import TrainedLeaves


@dataclass(frozen=True)
class PartWork:
    """See `LocalWork`: the other leaves have factor 0 in the clients' gradients.

    Attributes:
        inner: Local work on all leaves.
        leaves: All leaves as one vector, of which those that are not trained count.
        coordinates: Places of the engine's coordinates, `int64 [num_weights]`.
        trains: Which of these the clients train, 1 or 0, `float32 [num_weights]`.
        buffers: Places of the trained buffers among the inner work's, `int64 [num_buffers]`.
    """

    inner: LocalWork
    leaves: np.ndarray
    coordinates: np.ndarray
    trains: np.ndarray
    buffers: np.ndarray

    def train(self, round_number: int, ids: np.ndarray, start: LocalStart) -> LocalResult:
        zeros = np.zeros_like(self.leaves)
        trains = np.tile(self.trains, (len(ids), 1))
        every = LocalStart(
            self._among(self.leaves, start.model),
            None if start.offsets is None else self._among(zeros, start.offsets),
            start.pulls,
            self._among(zeros, trains if start.trains is None else trains * start.trains),
        )
        done = self.inner.train(round_number, ids, every)
        return LocalResult(
            done.updates[:, self.coordinates], done.losses, done.buffers[:, self.buffers]
        )

    def score(self, model: np.ndarray, features: np.ndarray, labels: np.ndarray) -> ExampleScores:
        return self.inner.score(self._among(self.leaves, model), features, labels)

    def _among(self, leaves: np.ndarray, values: np.ndarray) -> np.ndarray:
        """All leaves, with these values at the trained coordinates, `[..., num_weights]`."""
        found = np.tile(leaves, (*values.shape[:-1], 1)) if values.ndim > 1 else leaves.copy()
        found[..., self.coordinates] = values
        return found


def part_work(
    parts: EngineParts, model: TrainedLeaves, work_of: Callable[[EngineParts], LocalWork]
) -> PartWork:
    """Returns the local work of a model of trained leaves.

    Args:
        parts: Parts of the engine.
        model: Its model.
        work_of: The local work on all leaves.

    Raises:
        ParameterError: If a training function trains all leaves.
    """
    inner = model.model
    if isinstance(inner, TrainingFunction) and not inner.takes("trains"):
        allowed = f"must not be given: {inner.name} trains all leaves, as it takes no trains"
        raise ParameterError("train", ", ".join(map(str, model.leaf_names())), allowed)
    kinds = kinds_of(inner, model.leaves)
    every = replace(parts, model=inner, start=model.leaves, kinds=kinds)
    places = model.coordinates()
    buffers = np.searchsorted(every.buffer_places, places[parts.buffer_places])
    trains = np.ones(len(places), np.float32)
    for first, end in kinds_of(model, model.initial_weights(0)).ranges(HELD):
        trains[first:end] = 0
    return PartWork(work_of(every), flat(model.leaves), places, trains, buffers)
