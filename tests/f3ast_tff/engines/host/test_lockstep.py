"""A cohort in lockstep trains as its clients do one by one; augmented as on the fused engine."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from benchmarks.tiny import NUM_CLASSES, NUM_FEATURES, engine_parts, tiny_data
from f3ast_tff.core.federated_data import ClientExamples, FederatedData
from f3ast_tff.core.local_training import LocalTraining
from f3ast_tff.core.preprocessing import ImageCrops, ScaledPixels
from f3ast_tff.engines.host.engine import HostEngine
from f3ast_tff.engines.host.local_work import LocalStart
from f3ast_tff.engines.host.lockstep import Lockstep
from f3ast_tff.engines.host.softmax import train_one
from f3ast_tff.methods.parts.strategy import Cohort
from f3ast_tff.models import SoftmaxRegression
from f3ast_tff.optimizers import Adagrad, Adam, Geometric, Optimizer, Sgd, Yogi
from f3ast_tff.optimizers.sam import Sam

NUM_WEIGHTS = (NUM_FEATURES + 1) * NUM_CLASSES
IDS = np.array([4, 0, 5, 2, 3])


@pytest.mark.parametrize("last_step", [False, True])
@pytest.mark.parametrize("apart", [False, True], ids=["together", "own models and offsets"])
@pytest.mark.parametrize(
    ("work", "optimizer"),
    [
        (LocalTraining(8, epochs=2, seed=3), Sgd(0.1)),
        (LocalTraining(8, epochs=2, drop_remainder=True), Sgd(0.1, momentum=0.9)),
        (LocalTraining(8, steps=5), Adam(0.05, schedule=Geometric(0.5))),
        (LocalTraining(64), Yogi(0.05)),
        (LocalTraining(1), Adagrad(0.05, clip_norm=0.3)),
        (LocalTraining(8), Sam(0.1, momentum=0.5, radius=0.3)),
    ],
    ids=str,
)
def test_one_by_one(
    work: LocalTraining, optimizer: Optimizer, apart: bool, last_step: bool
) -> None:
    """Clients of 7 to 41 examples, some without a step; round 2 of a decreasing rate."""
    rng = np.random.default_rng(0)
    parts = engine_parts(tiny_data(), work, client=optimizer)
    model: Any = SoftmaxRegression(NUM_FEATURES, NUM_CLASSES, ridge=0.1)
    shape = (len(IDS), NUM_WEIGHTS) if apart else (NUM_WEIGHTS,)
    starts: np.ndarray = rng.normal(size=shape).astype(np.float32)
    offsets = rng.normal(size=shape).astype(np.float32) if apart else None
    found = Lockstep(parts, model, last_step).train(2, IDS, LocalStart(starts, offsets))
    for place, k in enumerate(IDS.tolist()):
        start = starts[place] if apart else starts
        offset = None if offsets is None else offsets[place]
        before, after, loss = train_one(parts, model, 2, k, start, offset)
        expected = after - (before if last_step else start)
        np.testing.assert_allclose(found.updates[place], expected, rtol=1e-4, atol=1e-6)
        np.testing.assert_allclose(found.losses[place], loss, rtol=1e-5)
    assert np.isnan(found.losses).any() == work.drop_remainder


def test_labels_that_do_not_count(make_engine: Any) -> None:
    """As on the fused engine: negative labels have no part in a batch's mean."""
    data = tiny_data()
    labels = data.train.labels.copy()
    labels[::3] = -1
    some = FederatedData(
        ClientExamples(data.train.features, labels, data.train.offsets), data.test, NUM_CLASSES
    )
    found = []
    for name in ("host", "fused"):
        engine = make_engine(name, some, LocalTraining(4))
        (outcome,) = engine.run_rounds(1, [Cohort(IDS, np.full(5, 0.2))])
        found.append((engine.weights(), outcome.train_loss))
    (ours, loss), (theirs, other) = found
    assert loss == pytest.approx(other, rel=1e-5)
    for one, another in zip(ours, theirs):
        np.testing.assert_allclose(one, another, atol=1e-6)


@pytest.mark.long
@pytest.mark.parametrize(
    "preprocessing", [ScaledPixels(-1.0, 1.0), ImageCrops(8, 6, seed=4)], ids=str
)
def test_images(preprocessing: Any, make_engine: Any) -> None:
    """Scaled pixels, and crops at random places, some mirrored; three rounds and the scores."""
    rng = np.random.default_rng(1)
    images = rng.integers(0, 256, (30, 8, 8, 3), dtype=np.uint8)
    examples = ClientExamples(images, rng.integers(0, 3, 30), np.array([0, 10, 13, 30]))
    data = FederatedData(examples, examples, 3)
    shape = preprocessing.output_shape((8, 8, 3))
    model = SoftmaxRegression(int(np.prod(shape)), 3, input_shape=shape)
    given = {"model": model, "preprocessing": preprocessing, "client": Sgd(0.01)}
    host, fused = (
        make_engine(name, data, LocalTraining(4, epochs=2), **given) for name in ("host", "fused")
    )
    for engine in (host, fused):
        engine.run_rounds(1, [Cohort(np.arange(3), np.full(3, 0.3))] * 3)
    for one, another in zip(host.weights(), fused.weights()):
        np.testing.assert_allclose(one, another, atol=2e-6)
    np.testing.assert_allclose(host.evaluate().loss, fused.evaluate().loss, rtol=1e-5)


def test_an_engine_without_forms_in_numpy_says_so() -> None:
    class Doubled:
        """A preprocessing in JAX alone."""

    parts = engine_parts(tiny_data(), LocalTraining(4))
    with pytest.raises(ValueError, match="engine = host: .*Doubled defines no in_numpy"):
        HostEngine(engine_parts(tiny_data(), LocalTraining(4), preprocessing=Doubled()))
    assert HostEngine(parts).statistics() == {"engine": "host", "device": "cpu"}
