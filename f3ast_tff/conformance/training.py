"""Properties of what trains: the data that a task draws, and the two forms of an optimizer."""

from __future__ import annotations

from typing import Any

import numpy as np

from f3ast_tff.conformance.case import Case, NotDecided, distance
from f3ast_tff.conformance.strategies import alike
from f3ast_tff.core.randomness import generator
from f3ast_tff.engines.host.server import subtracted
from f3ast_tff.settings.kinds import KINDS, has_jax

_STEPS, _SIZE, _CLOSE = 5, 6, 1e-4
_RATES = tuple(np.float32(each) for each in (0.1, 0.1, 0.1, 0.1, 0.05))


def data_by_draw(case: Case) -> str | None:
    """Data of one draw are the same twice; those of another are others, if declared."""
    (first, again, other) = (
        case.configuration(**given).configs["task"].build() for given in ({}, {}, {"data_seed": 1})
    )
    KINDS["task"].check_object(first)
    if not alike(_arrays(first), _arrays(again)):
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


def example_by_itself(case: Case) -> str | None:
    """A model gives an example the outputs that it gives it alone."""
    result, data = case.run(rounds=1), case.experiment().data
    model = result.trained
    assert model is not None and data is not None
    features = data.train.features
    together = model.outputs(features.take(np.arange(_SIZE), axis=0))
    alone = [model.outputs(features.take(np.array([each]), axis=0)) for each in range(_SIZE)]
    if not np.allclose(together, np.concatenate(alone), rtol=1e-3, atol=1e-4, equal_nan=True):
        return "an example's outputs depend on the others of its batch, whose examples have axis 0"
    if result.scoring is None and np.allclose(np.sum(together, axis=-1), 1, atol=1e-4):
        raise NotDecided("outputs of an example have the sum 1: the loss takes logits, no softmax")
    return None


@np.errstate(all="ignore")
def forms_agree(case: Case) -> str | None:
    """From the same gradients in_numpy and in_jax take the same steps, at two rates."""
    if not has_jax():
        raise NotDecided("needs JAX, which is not installed")
    from f3ast_tff.engines.jax.optimizers import JaxOptimizer

    optimizer: Any = case.configuration().configs[case.kind].build()
    drawn = generator(0, "conformance gradients").normal(size=(_STEPS, _SIZE)).astype(np.float32)
    drawn[2] = 0
    before = moments = tuple(np.full(_SIZE, start, "f4") for start in optimizer.initial_moments)
    taken = []
    for step, (gradients, rate) in enumerate(zip(drawn, _RATES), 1):
        before = moments
        found, moments = subtracted(optimizer, gradients.copy(), moments, step=step, rate=rate)
        if not np.isfinite(found).all():
            return f"step {step} of in_numpy, along {gradients.round(1)}, is not finite"
        taken.append(found)
    form, weights = JaxOptimizer(optimizer), np.zeros(_SIZE, np.float32)
    state = form.init(weights)
    for step, (gradients, rate) in enumerate(zip(drawn, _RATES), 1):
        state, after = form.update(state, weights, gradients, rate)
        off = distance(taken[step - 1], -np.asarray(after))
        if not off <= _CLOSE:
            return f"step {step} of in_jax is {off:.2g} off that of in_numpy"
    if np.array_equal(
        found, subtracted(optimizer, drawn[-1], before, step=_STEPS, rate=_RATES[0])[0]
    ):
        raise NotDecided("another rate takes the same step: is self.learning_rate read instead?")
    return None


def _arrays(data: Any) -> list[np.ndarray]:
    """Features, labels and sizes for training, then for tests."""
    names = ("features", "labels", "sizes")
    return [np.asarray(getattr(part, n)) for part in (data.train, data.test) for n in names]


def _values(data: Any) -> np.ndarray:
    """All numbers of the features, in order: the same for two splits of the same data."""
    return np.sort(np.concatenate([each.ravel() for each in _arrays(data)[::3]]))
