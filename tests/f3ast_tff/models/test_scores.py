"""A model's own loss and scores: sums by hand, and refusals."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from f3ast_tff.core.errors import ComponentError, ParameterError
from f3ast_tff.engines.host.local_work import example_scores
from f3ast_tff.models.scores import scoring_of


def squared(outputs: Any, labels: Any) -> Any:
    return (outputs - labels) ** 2


def absolute(outputs: Any, labels: Any) -> Any:
    return abs(outputs - labels)


def test_values_by_hand() -> None:
    """Outputs (1, 2) and (0, 0), labels (0, 4) and (0, 1): squares (1, 4) and (0, 1)."""
    scoring = scoring_of("m", squared, {"mae": absolute, "hit": (np.equal, "higher")}, outputs=2)
    outputs, labels = np.array([[1.0, 2.0], [0.0, 0.0]]), np.array([[0.0, 4.0], [0.0, 1.0]])
    found = example_scores(scoring, outputs, labels)
    assert found.correct is None
    assert (found.loss.tolist(), found.count.tolist()) == ([2.5, 0.5], [1.0, 1.0])
    assert {name: each.tolist() for name, each in found.more.items()} == {
        "mae": [1.5, 0.5],
        "hit": [0.0, 0.5],
    }
    ways = {"loss": "lower", "mae": "lower", "hit": "higher"}
    assert scoring.describe() == {"own_loss": True, "outputs": 2, "scores": ways}


def test_negative_classes_do_not_count() -> None:
    """A sequence of labels 1 and -1, whose pad is given as class 0."""
    scoring = scoring_of("m", lambda z, y: z[..., 0] + y, None, outputs=None)
    logits, labels = np.array([[[3.0, 4.0], [5.0, 1.0]]]), np.array([[1, -1]])
    found = example_scores(scoring, logits, labels)
    assert found.correct is not None
    assert [each.tolist() for each in (found.loss, found.correct, found.count)] == [[4.0], [1], [1]]


@pytest.mark.long
def test_the_forms_of_numpy_and_jax_agree() -> None:
    jnp = pytest.importorskip("jax.numpy")
    from f3ast_tff.engines.jax.own_scores import OwnSums

    rng = np.random.default_rng(0)
    outputs, classes = rng.normal(size=(5, 3)).astype(np.float32), rng.integers(-1, 3, 5)
    for scoring, labels in (
        (scoring_of("m", squared, {"mae": absolute}, outputs=3), outputs[::-1].copy()),
        (scoring_of("m", None, {"top": (lambda z, y: z.max(-1), "higher")}, None), classes),
    ):
        here = example_scores(scoring, outputs, labels).arrays
        there = OwnSums(scoring)(jnp.asarray(outputs), jnp.asarray(labels))
        flat = [each for each in (*there[:3], *there.more) if not isinstance(each, tuple)]
        assert tuple(here) == (*scoring.names,)
        for one, other in zip(here.values(), flat, strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-5)


@pytest.mark.parametrize(
    ("loss", "shape"),
    [(lambda o, y: squared(o, y).mean(), "[]"), (lambda o, y: o - y[:, None, 0], "[3, 3]")],
)
def test_other_shapes_are_refused(loss: Any, shape: str) -> None:
    scoring = scoring_of("m", loss, None, outputs=1)
    with pytest.raises(ComponentError) as refused:
        example_scores(scoring, np.zeros(3), np.zeros((3, 1)))
    assert f"model m: loss returned shape {shape} for labels [3, 1]" in str(refused.value)


@pytest.mark.parametrize(
    ("loss", "scores", "message"),
    [
        (3, None, "must have a function of outputs and labels as loss"),
        (squared, {"loss": absolute}, "a name must be of small letters"),
        (squared, {"Mae!": absolute}, "a name must be of small letters"),
        (squared, {"mae": 3}, "must be a function"),
        (squared, ["mae"], "scores = list: must be functions by name, a dict"),
        (squared, {"mae": (absolute, "up")}, "must be a function, or"),
    ],
)
def test_other_forms_are_refused(loss: Any, scores: Any, message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        scoring_of("m", loss, scores, outputs=1)


def test_a_score_that_is_no_array_is_refused() -> None:
    scoring = scoring_of("m", squared, {"pair": lambda o, y: (o[:, 0], y[:, 0])}, outputs=1)
    with pytest.raises(ComponentError, match="score pair returned a tuple, must return an array"):
        example_scores(scoring, np.zeros((3, 1)), np.zeros((3, 1)))
