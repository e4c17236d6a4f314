"""Scores of examples and of clients, as sums over labels."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np


@dataclass(frozen=True)
class ExampleScores:
    """Sums over the labels of each example, padding excluded, each `float64 [n]`.

    Attributes:
        loss: Summed loss.
        correct: Number of correct predictions; `None` if labels are values, not classes.
        count: Number of labels: 1, or the characters of a sequence.
        more: Sums of a model's own scores, by name.
    """

    loss: np.ndarray
    correct: np.ndarray | None
    count: np.ndarray
    more: Mapping[str, np.ndarray] = field(default_factory=dict)

    @classmethod
    def of(cls, arrays: Mapping[str, np.ndarray]) -> ExampleScores:
        """Takes arrays by name: those of the attributes, all others are `more`."""
        more = {n: each for n, each in arrays.items() if n not in ("loss", "correct", "count")}
        return cls(arrays["loss"], arrays.get("correct"), arrays["count"], more)

    @property
    def arrays(self) -> dict[str, np.ndarray]:
        """The arrays by name, see `of`."""
        correct = {} if self.correct is None else {"correct": self.correct}
        return {"loss": self.loss, **correct, "count": self.count, **self.more}


@dataclass(frozen=True)
class ClientScores:
    """Sums over the labels of each client.

    Attributes:
        loss: Summed loss, `float64 [C]`.
        correct: Summed correct predictions, `float64 [C]`; `None` if labels are values.
        count: Number of labels (examples; in sequences, characters), `float64 [C]`; a client
            without labels does not count.
        more: Sums of a model's own scores by name, each `float64 [C]`.

    Examples:
        >>> import numpy as np
        >>> from f3ast_tff.engines import ClientScores
        >>> loss, correct, count = np.array([[3.0, 4.0], [9.0, 1.0], [10.0, 2.0]])
        >>> scores = ClientScores(loss, correct, count)  # 9 of 10 right, and 1 of 2.
        >>> round(scores.sample_mean(scores.correct), 3), scores.user_mean(scores.correct)
        (0.833, 0.7)
    """

    loss: np.ndarray
    correct: np.ndarray | None
    count: np.ndarray
    more: Mapping[str, np.ndarray] = field(default_factory=dict)

    @classmethod
    def of_examples(cls, scores: ExampleScores, sizes: np.ndarray) -> ClientScores:
        """Sums the scores of examples, stored client by client, per client."""
        owner = np.repeat(np.arange(len(sizes)), sizes)

        def summed(values: np.ndarray) -> np.ndarray:
            return np.bincount(owner, values, len(sizes))

        return cls(
            loss=summed(scores.loss),
            correct=None if scores.correct is None else summed(scores.correct),
            count=summed(scores.count),
            more={name: summed(values) for name, values in scores.more.items()},
        )

    @property
    def sums(self) -> dict[str, np.ndarray]:
        """The sums by the score's name: `accuracy` if labels are classes, `loss`, own scores."""
        right = {} if self.correct is None else {"accuracy": self.correct}
        return {**right, "loss": self.loss, **self.more}

    def sample_mean(self, sums: np.ndarray) -> float:
        """Returns the average over labels of one of `sums`."""
        return float(sums.sum() / self.count.sum())

    def user_mean(self, sums: np.ndarray) -> float:
        """Returns the average over clients of each client's average (App. D.7, arXiv)."""
        has = self.count > 0
        return float(np.mean(sums[has] / self.count[has]))
