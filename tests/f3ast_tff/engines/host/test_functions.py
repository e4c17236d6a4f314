"""Training functions: the same rounds as the suite's own, and wrong functions refused in a line."""

from __future__ import annotations

import ctypes
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from f3ast_tff import Trained, TrainingFunction, load_run, simulate
from f3ast_tff.cli.main import main
from f3ast_tff.core.errors import ComponentError, ParameterError
from f3ast_tff.engines.host.softmax import mean_gradient, with_one

# Clients of round 1, see GIVEN.
ASKED = (4, 5, 6)
GIVEN: dict[str, Any] = {"clients_per_round": 3, "num_clients": 8, "rounds": 4, "eval_every": 1}
SHAPES = [(60, 10), (10,)]


def initial(seed: int) -> list[np.ndarray]:
    return [np.zeros(shape) for shape in SHAPES]


def sgd(weights: Any, examples: Any, work: Any, offset: Any = None, pull: float = 0.0) -> Trained:
    """Softmax regression by SGD over the suite's batches."""
    matrix = begin = np.concatenate([weights[0], weights[1][None]])
    added = 0 if offset is None else np.concatenate([offset[0], offset[1][None]])
    losses = []
    for batch in work.batches:
        x = with_one(examples.features[batch])
        gradient, loss = mean_gradient(matrix, x, examples.labels[batch])
        gradient = gradient + added + np.float32(pull) * (matrix - begin)
        matrix = matrix - np.float32(work.learning_rate) * gradient
        losses += [loss] * len(batch)
    return Trained([matrix[:-1], matrix[-1]], float(np.mean(losses)))


def without_offset(weights: Any, examples: Any, work: Any) -> Trained:
    return sgd(weights, examples, work)


def predict(weights: Any, features: np.ndarray) -> np.ndarray:
    scores: np.ndarray = features @ weights[0] + weights[1]
    return scores


MODEL = TrainingFunction(initial, sgd, predict, convex=True, identity="sgd")


@pytest.mark.parametrize(
    "more",
    [
        {},
        {"algorithm": "fedavg", "reading": "released", "local_steps": 3},
        {"algorithm": "scaffold"},
        {"algorithm": "fedprox"},
        {"algorithm": "feddyn"},
        {"algorithm": "fednova"},
        {"algorithm": "fedawe"},
        {"algorithm": "mifa", "delivery": "late", "late_by": "uniform", "late_rounds": 1.0},
        {"algorithm": "fedbuff", "late_by": "fixed", "late_rounds": 1.0, "buffer_size": 2},
        {"algorithm": "poc", "poc_candidates": 5},
    ],
    ids=lambda more: more.get("algorithm", "f3ast"),
)
def test_the_same_training_gives_the_same_run(more: dict[str, Any]) -> None:
    own = simulate(model=MODEL, **GIVEN, **more)
    ours = simulate(engine="host", softmax_start="zeros", **GIVEN, **more)
    assert own.summary["engine"] == "host"
    np.testing.assert_array_equal(own.selection["selected"], ours.selection["selected"])
    for one, other in zip(own.weights, ours.weights):
        np.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-5)
    for column in ("train_loss", "test_sample_loss"):
        np.testing.assert_allclose(own.metrics[column], ours.metrics[column], rtol=1e-4)
    some = np.ones((2, 60), np.float32)
    np.testing.assert_allclose(
        own.trained.probabilities(some), ours.trained.probabilities(some), atol=1e-5
    )


def test_the_work_of_a_client() -> None:
    met: list[Any] = []

    def train(weights: Any, examples: Any, work: Any) -> Trained:
        met.append((work, examples))
        assert not any(array.flags.writeable for array in (*weights, *examples))
        return Trained([weight + work.generator.normal() for weight in weights], 1.0)

    model = TrainingFunction(initial, train, predict)
    given = {**GIVEN, "local_epochs": 2, "batch_size": 7, "client_lr": 0.5, "client_lr_decay": 0.5}
    first, again = (simulate(model=model, **given) for _ in "ab")
    for one, other in zip(first.weights, again.weights):
        np.testing.assert_array_equal(one, other)
    work, examples = met[-1]
    assert (work.batch_size, work.epochs, work.steps, work.round_number) == (7, 2, None, 4)
    assert work.learning_rate == work.optimizer.rate(4) == 0.5**4
    assert len({work.generator.random() for _ in range(3)}) == 3
    visits = np.sort(np.concatenate(work.batches))
    np.testing.assert_array_equal(visits, np.repeat(np.arange(len(examples.labels)), 2))


def test_a_run_that_breaks_off_is_resumed(tmp_path: Path) -> None:
    """The same functions, in an object made anew, go on from the checkpoint of round 2."""
    given: dict[str, Any] = {**GIVEN, "checkpoint_every": 2, "folder": tmp_path / "run"}

    def stop(round_number: int, cohort: Any, outcome: Any) -> None:
        if round_number == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        simulate(model=MODEL, on_round=stop, **given)
    assert load_run(tmp_path / "run").weights_round == 2
    asked = []
    again = simulate(
        model=TrainingFunction(initial, sgd, predict, convex=True, identity="sgd"),
        on_round=lambda t, cohort, outcome: asked.append(t),
        **given,
    )
    assert asked == [3, 4]
    for one, other in zip(again.weights, simulate(model=MODEL, **GIVEN).weights):
        np.testing.assert_array_equal(one, other)


def _into_the_list(weights: Any, examples: Any, work: Any) -> Any:
    weights[:] = (weight + 1 for weight in list(weights))
    return weights, 0.5


@pytest.mark.parametrize(
    "train",
    [
        _into_the_list,
        lambda weights, *_: Trained([weight + 1 for weight in weights], np.array([0.5])),
        lambda weights, *_: (
            (np.asfortranarray(weight + 1) for weight in weights),
            np.float16(0.5),
        ),
    ],
)
def test_weights_and_losses_of_other_forms(train: Any) -> None:
    run = simulate(model=TrainingFunction(initial, train, predict), algorithm="fedavg", **GIVEN)
    assert run.metrics["train_loss"].iloc[-1] == 0.5
    for weight, shape in zip(run.weights, SHAPES):
        np.testing.assert_array_equal(weight, np.full(shape, weight.flat[0]))
        assert weight.flat[0] >= 1


def _fewer(weights: Any, examples: Any, work: Any) -> Trained:
    return Trained(weights[:1], 0.0)


def _transposed(weights: Any, examples: Any, work: Any) -> Trained:
    return Trained([weights[0].T, weights[1]], 0.0)


def _nan(weights: Any, examples: Any, work: Any) -> Trained:
    return Trained([weights[0], weights[1] * np.nan], 0.0)


def _no_loss(weights: Any, examples: Any, work: Any) -> Trained:
    return Trained(weights, np.inf)


def _nothing(weights: Any, examples: Any, work: Any) -> Any:
    return None


def _in_place(weights: Any, examples: Any, work: Any) -> Trained:
    weights[0][:] = 1
    return Trained(weights, 0.0)


def _by_force(weights: Any, examples: Any, work: Any) -> Trained:
    examples.features.flags.writeable = True
    examples.features[:] += 1
    return Trained(weights, 0.0)


def _labels_of_all(weights: Any, examples: Any, work: Any) -> Trained:
    """As PyTorch's `from_numpy` does, it writes through the address of a read-only array."""
    if work.client == max(ASKED):
        address = examples.labels.__array_interface__["data"][0]
        ctypes.memset(address, 0, examples.labels.nbytes)
    return Trained(weights, 0.0)


def _huge_loss(weights: Any, examples: Any, work: Any) -> Any:
    return Trained(weights, 10**400)


def _huge_weight(weights: Any, examples: Any, work: Any) -> Any:
    return Trained([10**400, weights[1]], 0.0)


def _text_loss(weights: Any, examples: Any, work: Any) -> Any:
    return Trained(weights, "0.5")  # type: ignore[arg-type]


def _objects(weights: Any, examples: Any, work: Any) -> Any:
    return Trained([object(), None], 0.0)  # type: ignore[list-item]


def _complex_loss(weights: Any, examples: Any, work: Any) -> Any:
    return Trained(weights, np.complex64(1 + 1j))  # type: ignore[arg-type]


def _loss_in_an_array_of_texts(weights: Any, examples: Any, work: Any) -> Any:
    return Trained(weights, np.array("0.5"))  # type: ignore[arg-type]


def _lazy(weights: Any, examples: Any, work: Any) -> Any:
    """A generator, which runs after `train`."""
    return Trained((weights[n] / [1, 0][n] + {}[n] for n in range(2)), 0.0)  # type: ignore


def _raises(weights: Any, examples: Any, work: Any) -> Trained:
    raise RuntimeError("out of\nbattery")


@pytest.mark.parametrize(
    ("train", "says"),
    [
        (_fewer, "returned 1 arrays: must be 2"),
        (_transposed, r"returned shapes \[\(10, 60\), \(10,\)\]: must be \[\(60, 10\), \(10,\)\]"),
        (_nan, "returned array 1 that is not finite"),
        (_no_loss, "returned loss inf that is not finite"),
        (_nothing, r"returned NoneType: must be Trained\(weights, loss\)"),
        (_in_place, "raised ValueError: assignment destination is read-only"),
        (_by_force, "changed its arguments"),
        (_labels_of_all, "changed its arguments"),
        (_huge_loss, r"returned Trained: must be Trained\(weights, loss\)"),
        (_huge_weight, r"returned array 0 of object: must be of real numbers"),
        (_text_loss, r"returned Trained: must be Trained\(weights, loss\); .*: loss is no number"),
        (_objects, r"returned array 0 of object: must be of real numbers"),
        (_complex_loss, r"returned Trained: must be"),
        (_loss_in_an_array_of_texts, r"returned Trained: must be"),
        (_lazy, "raised KeyError"),
        (_raises, "raised RuntimeError: out of battery"),
    ],
)
def test_a_wrong_function_is_named(train: Any, says: str) -> None:
    with pytest.raises(ComponentError, match=rf"^round 1, client \d+: {train.__name__} {says}"):
        simulate(model=TrainingFunction(initial, train, predict), **GIVEN)


PLUGIN = """
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from f3ast_tff import Trained, TrainingFunction
from f3ast_tff.models import ModelConfig
from f3ast_tff.settings import register


def train(weights, examples, work):
    if work.round_number == 3:
        raise OSError("the socket is gone")
    return Trained([weights[0] + 1], 0.5)


@register("model", "far_away", "Far away", about="trains over sockets")
@dataclass(frozen=True)
class FarAwayConfig(ModelConfig):
    engines: ClassVar[tuple[str, ...]] = TrainingFunction.engines
    in_numpy: ClassVar[bool] = True

    def build(self, input_shape, num_classes):
        return TrainingFunction(
            lambda seed: [np.zeros(3)], train, lambda weights, x: np.zeros((len(x), num_classes))
        )
"""


def test_a_function_of_a_plugin_that_raises_loses_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """One line, exit code 2; the checkpoint of round 2 stays."""
    (tmp_path / "far.py").write_text(PLUGIN)
    command = f"run --plugin={tmp_path}/far.py --model=far_away --rounds=4 --checkpoint_every=1"
    words = ["f3ast-tff", *command.split(), f"--output_dir={tmp_path}", "--run_name=run"]
    for _ in range(2):
        assert main(words) == 2
        said = [line for line in capsys.readouterr().err.splitlines() if line.startswith("error")]
        assert len(said) == 1
        assert re.fullmatch(
            r"error: round 3, client \d+: train raised OSError: the socket is gone", said[0]
        )
        saved = load_run(tmp_path / "run")
        assert saved.weights_round == 2 and saved.settings["engine"] == "host"


@pytest.mark.parametrize("kind", ["int8", "uint8", "bool", "float16", "int64", "float64"])
def test_logits_of_any_real_type_do_not_wrap(kind: str) -> None:
    """The largest possible logit of class 0, and the least of all others.

    The loss of an example of another class is their difference, up to e^-difference.
    """
    low, high = {"int8": (-128, 127), "uint8": (0, 255), "bool": (0, 1)}.get(kind, (-6e4, 6e4))

    def extreme(weights: Any, features: np.ndarray) -> np.ndarray:
        scores = np.full((len(features), 10), low, kind)
        scores[:, 0] = high
        return scores

    model = TrainingFunction(initial, sgd, extreme)
    metrics = simulate(model=model, **{**GIVEN, "rounds": 1}).metrics
    right = metrics["test_sample_accuracy"].iloc[-1]
    each = np.log(9 + np.exp(high - low)) if high == 1 else float(high - low)
    expected = right * np.log1p(9 * np.exp(low - high)) + (1 - right) * each
    np.testing.assert_allclose(metrics["test_sample_loss"].iloc[-1], expected, rtol=1e-5)


@pytest.mark.parametrize("kind", ["complex64", "U8", "O"])
def test_weights_that_are_not_real_are_refused(kind: str) -> None:
    def weights_of(w: Any, examples: Any, work: Any) -> Trained:
        return Trained([each.astype(kind) for each in w], 0.5)

    with pytest.raises(ComponentError, match=r"returned array 0 of .*: must be of real numbers"):
        simulate(model=TrainingFunction(initial, weights_of, predict), **GIVEN)


@pytest.mark.parametrize("kind", ["complex64", "U4", "m8[s]", "O"])
@pytest.mark.parametrize("part", ["loss", "score mine"])
def test_losses_and_scores_that_are_not_real_are_refused(kind: str, part: str) -> None:
    def wrong(outputs: np.ndarray, labels: np.ndarray) -> np.ndarray:
        return np.ones(len(labels)).astype(int).astype(kind)

    given: Any = {"loss": wrong} if part == "loss" else {"scores": {"mine": wrong}}
    with pytest.raises(ComponentError, match=f"{part} returned .*: must be real numbers"):
        simulate(model=TrainingFunction(initial, sgd, predict, **given), **GIVEN)


def test_what_a_callback_writes_into_a_row_is_not_in_the_record() -> None:
    def writes(row: Any, trained: Any) -> None:
        row["test_sample_loss"] = -1.0

    metrics = simulate(model=MODEL, on_evaluation=writes, **GIVEN).metrics
    assert (metrics["test_sample_loss"] > 0).all()


def test_weights_in_bfloat16_are_real_numbers() -> None:
    bfloat16 = pytest.importorskip("ml_dtypes").bfloat16

    def train(weights: Any, examples: Any, work: Any) -> Trained:
        return Trained([np.asarray(each + 1, bfloat16) for each in weights], 0.5)

    def start(seed: int) -> list[np.ndarray]:
        return [np.zeros(weight.shape, bfloat16) for weight in initial(seed)]

    model = TrainingFunction(start, train, predict)
    result = simulate(model=model, algorithm="fedavg", availability="always", **GIVEN)
    for weight in result.weights:
        np.testing.assert_allclose(weight, np.full(weight.shape, 4, np.float32), rtol=1e-6)


def test_what_predict_writes_changes_no_score() -> None:
    """Nor do the labels that a loss is handed, and the weights of the model for use."""

    def writes(weights: Any, features: np.ndarray) -> np.ndarray:
        features *= 2
        return predict(weights, features / 2)

    def score(outputs: np.ndarray, labels: np.ndarray) -> np.ndarray:
        labels[:] = 0
        return np.zeros(len(labels))

    ours = simulate(model=MODEL, **GIVEN)
    model = TrainingFunction(initial, sgd, writes, convex=True, scores={"mine": score})
    found = simulate(model=model, **GIVEN)
    for column in ("test_sample_loss", "test_user_accuracy"):
        np.testing.assert_allclose(found.metrics[column], ours.metrics[column], rtol=1e-5)
    some = np.ones((2, 60), np.float32)
    first, again = (found.trained.outputs(some) for _ in "ab")
    np.testing.assert_array_equal(first, again)
    assert (some == 1).all()


@pytest.mark.parametrize(
    ("row", "says"),
    [
        ([0.0, 0.0], r"returned shape \[\d+, 2\]: must be \[\d+, 10\]"),
        ([1 + 0j] * 10, "returned complex128: must be real numbers"),
        ([None] * 10, "returned object: must be real numbers"),
        (None, "returned object: must be real numbers"),
        ("x", "returned <U1: must be real numbers"),
    ],
)
def test_wrong_scores_are_named(row: Any, says: str) -> None:
    def scores(weights: Any, features: np.ndarray) -> Any:
        return np.array([row] * len(features)) if isinstance(row, list) else row

    with pytest.raises(ComponentError, match=f"scores {says}"):
        simulate(model=TrainingFunction(initial, sgd, scores), **GIVEN)


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        (lambda seed: None, "initial must return arrays; it raised TypeError: 'NoneType' obj"),
        (lambda seed: {}["w"], "initial must return arrays; it raised KeyError: 'w'"),
        ([np.zeros(3)], "initial must return arrays; it raised TypeError: 'list' object is not ca"),
        (lambda seed: [10**400], "array 0 of initial must be of finite floating"),
        (lambda seed: [], "initial must return arrays"),
        (lambda seed: [np.zeros(3, complex)], "array 0 of initial must be .*, not complex128"),
        (lambda seed: [np.zeros(3, "V2")], r"array 0 of initial must be .*, not \|V2"),
        (lambda seed: [np.zeros(3, int)], "array 0 of initial must be of finite floating"),
        (
            lambda seed: [np.full(3, np.nan)],
            "of finite floating-point numbers in float32; it has nan",
        ),
        (lambda seed: [np.zeros(2), np.full(3, 1e39)], r"array 1 of initial .*; it has 1e\+39"),
    ],
)
def test_wrong_initial_weights(wrong: Callable[[int], Any], says: str) -> None:
    with pytest.raises(ParameterError, match=says):
        simulate(model=TrainingFunction(wrong, sgd, predict), **GIVEN)


@pytest.mark.parametrize(
    ("algorithm", "train", "says"),
    [
        ("scaffold", without_offset, "Scaffold: corrects gradients, but without_offset has no"),
        ("fedprox", without_offset, "FedProx: pulls to the start, but without_offset has no"),
        ("focus", sgd, "Focus: reads a client's last step, which sgd does not return"),
    ],
)
def test_methods_that_ask_for_more_are_refused(algorithm: str, train: Any, says: str) -> None:
    model = TrainingFunction(initial, train, predict)
    with pytest.raises(ParameterError, match=f"aggregation = {says}"):
        simulate(model=model, algorithm=algorithm, **GIVEN)


def test_other_engines_refuse_it() -> None:
    with pytest.raises(ParameterError, match="engine = fused: must be host with model"):
        simulate(model=MODEL, engine="fused", **GIVEN)
