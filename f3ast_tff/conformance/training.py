"""Properties of what trains: the data that a task draws, and the two forms of an optimizer."""

from __future__ import annotations

from typing import Any

import numpy as np

from f3ast_tff.conformance.case import Case, NotDecided, distance
from f3ast_tff.core.randomness import generator
from f3ast_tff.settings.kinds import KINDS, has_jax

_STEPS, _SIZE, _CLOSE = 5, 6, 1e-4


def data_by_draw(case: Case) -> str | None:
    """Data of one draw are the same twice; those of another are others, if declared."""
    (first, again, other) = (
        case.configuration(**given).configs["task"].build() for given in ({}, {}, {"data_seed": 1})
    )
    KINDS["task"].check_object(first)
    if not _same(first, again):
        return (
            "the data of one data_seed are others when asked for again: draws come from "
            "generator(self.data_seed, ...), not from np.random"
        )
    declared = type(case.configuration().configs["task"]).generates_data
    if declared and np.array_equal(_values(first), _values(other)):
        return (
            "data_seed does not change the data, though generates_data is declared: verdicts would "
            "take its seeds for draws"
        )
    return None


def forms_agree(case: Case) -> str | None:
    """From the same gradients in_numpy and in_jax take the same steps, at two rates."""
    if not has_jax():
        raise NotDecided("needs JAX, which is not installed")
    optimizer: Any = case.configuration().configs[case.kind].build()
    drawn = generator(0, "conformance gradients").normal(size=(_STEPS, _SIZE)).astype(np.float32)
    moments = tuple(np.full(_SIZE, start, np.float32) for start in optimizer.initial_moments)
    transformed: Any = None
    for step, gradients in enumerate(drawn, 1):
        rate = np.float32(0.1 if step < _STEPS else 0.05)
        taken, moments = optimizer.in_numpy(gradients, moments, step=step, learning_rate=rate)
        form = optimizer.in_jax(rate)
        transformed = form.init(gradients) if transformed is None else transformed
        added, transformed = form.update(gradients, transformed)
        if not np.isfinite(taken).all():
            return f"step {step} of in_numpy is not finite"
        off = distance(taken, -np.asarray(added))
        if off > _CLOSE:
            return f"step {step} of in_jax is {off:.2g} off that of in_numpy"
    return None


def _same(a: Any, b: Any) -> bool:
    pairs = ((getattr(a, part), getattr(b, part)) for part in ("train", "test"))
    return all(
        np.array_equal(np.asarray(getattr(one, name)), np.asarray(getattr(two, name)))
        for one, two in pairs
        for name in ("features", "labels", "sizes")
    )


def _values(data: Any) -> np.ndarray:
    """All numbers of the features, in order: the same for two splits of the same data."""
    parts = (np.asarray(part.features).ravel() for part in (data.train, data.test))
    return np.sort(np.concatenate([*parts]))
