"""A model's own loss and scores, in JAX or NumPy: regression, several labels, further scores."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from f3ast_tff.core.errors import ComponentError, ParameterError
from f3ast_tff.core.real_numbers import is_real

# Function of outputs and labels, of one value per example.
ScoreFunction = Callable[[Any, Any], Any]
LOWER, HIGHER = "lower", "higher"
_NAME = re.compile(r"[a-z][a-z0-9_]*")
# Names that the rows of every run may have.
_TAKEN = ("accuracy", "loss", "correct", "count")


@dataclass(frozen=True)
class Score:
    """A named score of a model's outputs.

    Attributes:
        name: Name of its columns `test_sample_<name>` and `test_user_<name>`.
        function: Function of outputs and labels, see `Scoring`.
        higher_is_better: Whether a higher score is better.
    """

    name: str
    function: ScoreFunction
    higher_is_better: bool = False

    @property
    def direction(self) -> str:
        """`"higher"` or `"lower"`: which is better."""
        return HIGHER if self.higher_is_better else LOWER


class Sums(NamedTuple):
    """Sums over the labels of each example.

    Attributes:
        loss: Loss, `[n]`.
        correct: Number of labels predicted right, `[n]`; `()` if labels are values.
        count: Number of labels, `[n]`; 1 if labels are values.
        more: Further scores, each `[n]`.
    """

    loss: Any
    correct: Any
    count: Any
    more: tuple[Any, ...] = ()


@dataclass(frozen=True, eq=False)
class Scoring:
    """What a model is trained and scored by, if it brings a loss or scores.

    A function of outputs and labels returns a value per label. If labels are classes, these are
    the labels' shape, and negative labels do not count (a function gets class 0 for them). If
    labels are values, these are `[n]`, or the labels' shape to be averaged, and every example
    counts once.

    Attributes:
        model: Name of the model, for errors.
        loss: The model's loss; `None` for cross-entropy.
        scores: Further scores.
        classes: Whether labels are classes, so that accuracy is a score.
        outputs: Number of outputs of a model of values; `None` if labels are classes.
    """

    model: str
    loss: ScoreFunction | None
    scores: tuple[Score, ...]
    classes: bool
    outputs: int | None = None

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the arrays of `sums`, in order."""
        known = ("loss", "correct", "count") if self.classes else ("loss", "count")
        return (*known, *(score.name for score in self.scores))

    def describe(self) -> dict[str, Any]:
        """Returns the entry `scoring` of `config.json`.

        Returns:
            `own_loss`, whether the loss is the model's; `outputs`; and `scores`, the direction of
            each score by name.
        """
        known = {"accuracy": HIGHER} if self.classes else {}
        further = {score.name: score.direction for score in self.scores}
        return {
            "own_loss": self.loss is not None,
            "outputs": self.outputs,
            "scores": {**known, "loss": LOWER, **further},
        }

    def sums(
        self, outputs: Any, labels: Any, *, xp: Any, dtype: Any, cross_entropy: Any, detached: Any
    ) -> Sums:
        """Returns the sums over the labels of each example.

        Args:
            outputs: The model's outputs, `[n, ...]`.
            labels: Labels, `[n, ...]`.
            xp: `numpy` or `jax.numpy`.
            dtype: Type of the sums.
            cross_entropy: Function of logits and labels, with sums of the loss, the correct
                predictions and the labels that count.
            detached: Function that cuts outputs off from gradients, for scores.

        Raises:
            ComponentError: If a function returns no array, one of another shape, or no real
                numbers; names model and function.
        """
        counts = xp.asarray(labels >= 0, dtype) if self.classes else None
        known = xp.maximum(labels, 0) if self.classes else labels
        rest = tuple(range(1, labels.ndim))

        def total(what: str, function: ScoreFunction, outputs: Any) -> Any:
            found = function(outputs, known)
            if isinstance(found, (tuple, list, dict)):
                said = f"{what} returned a {type(found).__name__}, must return an array, [n]"
                raise ComponentError(f"model {self.model}: {said}")
            values = xp.asarray(found)
            if not is_real(values.dtype):
                said = f"{what} returned {values.dtype}: must be real numbers"
                raise ComponentError(f"model {self.model}: {said}")
            self._check(what, values, labels)
            if counts is not None:
                return xp.where(counts > 0, values, 0).astype(dtype).sum(axis=rest)
            return values.astype(dtype).reshape(len(labels), -1).mean(axis=1)

        cut = detached(outputs)
        more = tuple(total(f"score {s.name}", s.function, cut) for s in self.scores)
        if not self.classes:
            assert self.loss is not None
            ones = xp.ones(len(labels), dtype)
            return Sums(total("loss", self.loss, outputs), (), ones, more)
        loss, correct, count = cross_entropy(outputs, labels)[:3]
        if self.loss is not None:
            loss = total("loss", self.loss, outputs)
        return Sums(loss, correct, count, more)

    def _check(self, what: str, values: Any, labels: Any) -> None:
        shape, of_labels = tuple(values.shape), tuple(labels.shape)
        # Outputs [n, 1] minus labels [n] would be [n, n].
        values_too = [of_labels[:1], (len(labels), 1)]
        allowed = [of_labels] if self.classes else list(dict.fromkeys([*values_too, of_labels]))
        if shape not in allowed:
            said = " or ".join(str([*each]) for each in allowed)
            raise ComponentError(
                f"model {self.model}: {what} returned shape {[*shape]} for labels {[*of_labels]}: "
                f"must be {said}, without an average over examples"
            )


def scoring_of(
    model: str, loss: Any, scores: Mapping[str, Any] | None, outputs: int | None
) -> Scoring:
    """Returns what a model is trained and scored by.

    Args:
        model: Name of the model, for errors.
        loss: The model's loss, if any.
        scores: By name a function, of which lower is better, or a pair of the function and
            `"higher"` or `"lower"`.
        outputs: Number of outputs; `None` if labels are classes.

    Raises:
        ParameterError: If the loss is no function, or a name or an entry of `scores` has another
            form.
    """
    if loss is not None and not callable(loss):
        raise ParameterError("model", model, "must have a function of outputs and labels as loss")
    if not isinstance(scores or {}, Mapping):
        raise ParameterError("scores", type(scores).__name__, "must be functions by name, a dict")
    found = []
    for name, value in (scores or {}).items():
        is_pair = isinstance(value, tuple) and len(value) == 2
        function, direction = value if is_pair else (value, LOWER)
        if not isinstance(name, str) or not _NAME.fullmatch(name) or name in _TAKEN:
            allowed = f"a name must be of small letters, digits and _, and not {', '.join(_TAKEN)}"
            raise ParameterError("scores", f"{name!r} of model {model}", allowed)
        if not callable(function) or direction not in (LOWER, HIGHER):
            allowed = f"must be a function, or (function, '{LOWER}') or (function, '{HIGHER}')"
            raise ParameterError("scores", f"{name!r} of model {model}", allowed)
        found.append(Score(name, function, higher_is_better=direction == HIGHER))
    return Scoring(model, loss, tuple(found), classes=outputs is None, outputs=outputs)
