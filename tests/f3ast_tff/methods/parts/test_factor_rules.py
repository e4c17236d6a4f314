"""LoRA's factors on a matrix regression: each rule against a loop of its own, on both engines."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from f3ast_tff import Cohort, FederatedData, Trained, TrainingFunction
from f3ast_tff.core.federated_data import ClientExamples
from f3ast_tff.models import FactorPair, PureModel, lora
from f3ast_tff.run.build import Builder
from f3ast_tff.run.given_objects import settings_of
from f3ast_tff.settings import builtin_registry
from f3ast_tff.settings.resolve import resolve

INPUTS, OUTPUTS, RANK, SCALE, RATE = 4, 5, 2, 1.5, 0.05
RULES = ("fedit", "changes", "fedex", "flora", "ffa", "rolora")
SIZES = (3, 2, 4)
NAMES = ("kernel", "lora.A.kernel", "lora.B.kernel")


def _data() -> FederatedData:
    random = np.random.default_rng(0)
    n = sum(SIZES)
    x = random.normal(size=(n, INPUTS)).astype(np.float32)
    y = random.normal(size=(n, OUTPUTS)).astype(np.float32)
    split = ClientExamples(x, y, np.cumsum([0, *SIZES]))
    return FederatedData(split, split, 0)


DATA = _data()


def _start(b_is_zero: bool = False) -> list[np.ndarray]:
    """W_0^T, A and B."""
    random = np.random.default_rng(1)
    shapes = (INPUTS, OUTPUTS), (RANK, INPUTS), (OUTPUTS, RANK)
    found = [random.normal(0, 0.5, shape).astype(np.float32) for shape in shapes]
    return [*found[:2], np.zeros_like(found[2])] if b_is_zero else found


def _loss(outputs: Any, labels: Any) -> Any:
    return ((outputs - labels) ** 2).sum(axis=1) / 2


def _gradients(weights: Sequence[np.ndarray], x: np.ndarray, y: np.ndarray) -> list[np.ndarray]:
    """Of the mean loss, by W_0^T, A and B."""
    kernel, a, b = (np.asarray(each, np.float64) for each in weights)
    error = (x @ (kernel + SCALE * (b @ a).T) - y) / len(x)
    by_matrix = x.T @ error
    return [by_matrix, SCALE * b.T @ by_matrix.T, SCALE * by_matrix.T @ a.T]


class HostLora(TrainingFunction):
    """The same model as a training function in NumPy."""

    def __init__(self) -> None:
        def train(weights: Any, examples: Any, work: Any, trains: Any) -> Trained:
            now = [weight.astype(np.float64) for weight in weights]
            for rows in work.batches:
                found = _gradients(now, examples.features[rows], examples.labels[rows])
                now = [w - work.learning_rate * t * g for w, t, g in zip(now, trains, found)]
            return Trained(now, 0.0)

        def predict(weights: Any, x: np.ndarray) -> np.ndarray:
            kernel, a, b = weights
            outputs: np.ndarray = x @ (kernel + SCALE * (b @ a).T)
            return outputs

        super().__init__(lambda seed: _start(), train, predict, leaves=NAMES, loss=_loss)

    def factor_pairs(self) -> tuple[FactorPair, ...]:
        return (FactorPair(base=0, a=1, b=2, scale=SCALE, transposed=True),)


def _fused_model() -> Any:
    base = PureModel(
        lambda seed: {"kernel": np.zeros((INPUTS, OUTPUTS), np.float32)},
        lambda weights, x: x @ weights["kernel"],
        loss=_loss,
    )
    return lora(base, RANK, "kernel", alpha=SCALE * RANK)


def _builder(engine: str, start: Sequence[np.ndarray] = (), **given: Any) -> Builder:
    model = HostLora() if engine == "host" else _fused_model()
    common = {"task": DATA, "model": model, "engine": engine, "train": "lora", "client_lr": RATE}
    more = {"batch_size": 10, "local_epochs": 2, "algorithm": "fedavg", "clients_per_round": 3}
    settings, registry = settings_of({**common, **more, **given}, builtin_registry())
    arrays = list(start) or _start()
    settings["initial_weights"] = "sha256:of the test"
    return Builder(resolve(settings, registry), start=arrays)


def _played(builder: Builder, cohorts: Sequence[Cohort]) -> list[list[np.ndarray]]:
    """All leaves after each round."""
    engine, found = builder.engine, []
    part: Any = builder.model
    for t, cohort in enumerate(cohorts, start=1):
        engine.run_rounds(t, [cohort])
        found.append([np.asarray(leaf) for leaf in part.whole(engine.weights())])
    return found


def _cohort(*clients: tuple[int, float]) -> Cohort:
    ids, weights = zip(*clients) if clients else ((), ())
    return Cohort(np.array(ids, int), np.array(weights, float))


COHORTS = [
    _cohort((0, 0.5), (2, 0.9)),
    _cohort((1, 0.3)),
    _cohort(),
    _cohort((0, 0.2), (1, 0.8), (2, 0.6)),
]


def _loop(rule: str, mean: bool, fresh: Sequence[np.ndarray]) -> list[list[np.ndarray]]:
    """The rounds in float64; `fresh` is A after each round of FLoRA."""
    kernel, a, b = (leaf.astype(np.float64) for leaf in _start())
    found = []
    for t, cohort in enumerate(COHORTS, start=1):
        new_a, new_b = [], []
        for k in cohort.ids:
            x, y = DATA.train.client(k)
            own_a, own_b = a, b
            for _ in range(2):
                _, by_a, by_b = _gradients([kernel, own_a, own_b], x, y)
                trains_a = rule != "ffa" and not (rule == "rolora" and t % 2 == 1)
                trains_b = not (rule == "rolora" and t % 2 == 0)
                own_a = own_a - RATE * by_a * trains_a
                own_b = own_b - RATE * by_b * trains_b
            new_a.append(own_a)
            new_b.append(own_b)
        w = cohort.weights / cohort.weights.sum() if mean and len(cohort) else cohort.weights
        if len(cohort) and rule == "fedit":
            a = sum(wk * ak for wk, ak in zip(w, new_a))
            b = sum(wk * bk for wk, bk in zip(w, new_b))
        elif len(cohort):
            old_a, old_b = a, b
            a = old_a + sum(wk * (ak - old_a) for wk, ak in zip(w, new_a))
            b = old_b + sum(wk * (bk - old_b) for wk, bk in zip(w, new_b))
            exact = sum(wk * (bk @ ak - old_b @ old_a) for wk, ak, bk in zip(w, new_a, new_b))
            if rule == "fedex":
                kernel = kernel + SCALE * (exact - (b @ a - old_b @ old_a)).T
            if rule == "flora":
                kernel, a, b = kernel + SCALE * exact.T, old_a, old_b
        if rule == "flora":
            kernel, a, b = kernel + SCALE * (b @ a).T, fresh[t - 1], np.zeros_like(b)
        found.append([kernel, a, b])
    return found


# The other rules are compiled by `test_everyone_present_is_a_central_step`, or take long.
COMPILED = ("fedit", "changes")


@pytest.mark.parametrize("aggregation", ["sum", "mean"])
@pytest.mark.parametrize(
    ("rule", "engine"),
    [
        *((rule, "host") for rule in RULES),
        *(
            pytest.param(rule, "fused", marks=() if rule in COMPILED else pytest.mark.long)
            for rule in RULES
        ),
    ],
)
def test_a_rule_is_its_loop(rule: str, engine: str, aggregation: str) -> None:
    given = {"algorithm": "f3ast"} if aggregation == "sum" else {}
    found = _played(_builder(engine, factors=rule, aggregation=aggregation, **given), COHORTS)
    expected = _loop(rule, aggregation == "mean", [leaves[1] for leaves in found])
    for got, wanted in zip(found, expected, strict=True):
        for leaf, own in zip(got, wanted, strict=True):
            np.testing.assert_allclose(leaf, own, rtol=1e-6, atol=1e-6)


@pytest.mark.long
def test_fresh_factors_are_those_of_the_round_and_the_seed() -> None:
    """Uniform in +- 1 / sqrt(inputs), equal on both engines."""
    host, fused = (
        [leaves[1] for leaves in _played(_builder(engine, factors="flora"), COHORTS)]
        for engine in ("host", "fused")
    )
    np.testing.assert_array_equal(host, fused)
    other = _played(_builder("host", factors="flora", seed=1), COHORTS)[0][1]
    draws = np.array([*host, other])
    assert len(np.unique(draws)) == draws.size
    assert np.abs(draws).max() < INPUTS**-0.5 < 1.3 * np.abs(draws).max()


@pytest.mark.long
@pytest.mark.parametrize("engine", ["host", "fused"])
@pytest.mark.parametrize("rule", ["fedex", "flora", "rolora"])
def test_a_restored_engine_goes_on(rule: str, engine: str) -> None:
    whole = _played(_builder(engine, factors=rule), COHORTS)[-1]
    first, second = (_builder(engine, factors=rule) for _ in range(2))
    _played(first, COHORTS[:2])
    second.engine.restore({name: np.array(each) for name, each in first.engine.state().items()})
    for t, cohort in enumerate(COHORTS[2:], start=3):
        second.engine.run_rounds(t, [cohort])
    part: Any = second.model
    for own, other in zip(whole, part.whole(second.engine.weights()), strict=True):
        np.testing.assert_array_equal(own, other)


def _central(trains: Sequence[bool], start: Sequence[np.ndarray]) -> list[np.ndarray]:
    """One step along the gradient of all examples."""
    found = _gradients(start, DATA.train.features, DATA.train.labels)
    return [w - RATE * t * g for w, t, g in zip(start, trains, found)]


ONE_STEP: dict[str, Any] = {"local_epochs": 1}
EVERYONE = [_cohort(*((k, size / sum(SIZES)) for k, size in enumerate(SIZES)))]


@pytest.mark.parametrize(
    ("rule", "trains"),
    [("fedit", (0, 1, 1)), ("changes", (0, 1, 1)), ("ffa", (0, 0, 1)), ("rolora", (0, 0, 1))],
)
@pytest.mark.parametrize("engine", ["host", "fused"])
def test_everyone_present_is_a_central_step(rule: str, trains: Any, engine: str) -> None:
    found = _played(_builder(engine, factors=rule, **ONE_STEP), EVERYONE)[0]
    for leaf, own in zip(found, _central(trains, _start()), strict=True):
        np.testing.assert_allclose(leaf, own, rtol=1e-6, atol=1e-6)


@pytest.mark.long
@pytest.mark.parametrize("rule", ["fedex", "flora"])
@pytest.mark.parametrize("b_is_zero", [False, True])
def test_exact_products_differ_from_it_in_second_order(rule: str, b_is_zero: bool) -> None:
    """By s (sum_k p_k b_k a_k - (sum_k p_k b_k)(sum_k p_k a_k)); with B = 0 every a_k is 0."""
    start = _start(b_is_zero)
    kernel, a, b = _played(_builder("fused", start, factors=rule, **ONE_STEP), EVERYONE)[0]
    _, central_a, central_b = _central((False, True, True), start)
    p = EVERYONE[0].weights
    each = [_gradients(start, *DATA.train.client(k)) for k in range(3)]
    of_a, of_b = (np.array([-RATE * one[place] for one in each]) for place in (1, 2))
    mean_a, mean_b = np.tensordot(p, of_a, 1), np.tensordot(p, of_b, 1)
    second = np.tensordot(p, of_b @ of_a, 1) - mean_b @ mean_a
    assert np.any(second) != b_is_zero
    expected = start[0] + SCALE * (central_b @ central_a + second).T
    np.testing.assert_allclose(kernel + SCALE * (b @ a).T, expected, rtol=0, atol=1e-6)


def test_ffa_with_a_the_identity_is_full_training_of_the_matrix() -> None:
    """With s = 1, for plain SGD: B^T moves as the matrix would."""
    base = PureModel(lambda seed: {"kernel": _start()[0]}, lambda w, x: x @ w["kernel"], loss=_loss)
    common = {"task": DATA, "engine": "fused", "client_lr": RATE, "clients_per_round": 3}
    full, registry = settings_of({**common, "model": base}, builtin_registry())
    engine = Builder(resolve(full, registry)).engine
    given = {**common, "model": lora(base, INPUTS, "kernel"), "train": "lora", "factors": "ffa"}
    settings, registry = settings_of(given, builtin_registry())
    settings["initial_weights"] = "sha256:of the test"
    eye = [_start()[0], np.eye(INPUTS, dtype=np.float32), np.zeros((OUTPUTS, INPUTS), np.float32)]
    found = _played(Builder(resolve(settings, registry), start=eye), COHORTS)
    for t, (cohort, leaves) in enumerate(zip(COHORTS, found), start=1):
        engine.run_rounds(t, [cohort])
        kernel, a, b = leaves
        np.testing.assert_allclose(kernel + (b @ a).T, engine.weights()[0], rtol=0, atol=1e-6)
