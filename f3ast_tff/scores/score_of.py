"""A further score of an evaluation: a number from the clients' own scores."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from f3ast_tff.core.errors import ComponentError
from f3ast_tff.methods.parts.algorithm import StrategyContext
from f3ast_tff.settings.component import component_of
from f3ast_tff.settings.configuration import Settings

# First words of other columns of `metrics.csv`; `_` parts a score's first word from its name.
_TAKEN = ("sample", "user", "train")


@dataclass(frozen=True)
class ScoreOfConfig:
    """Base of all further scores, whose fields are their parameters.

    With `--score_of=NAME`, `metrics.csv` has a column `test_NAME_accuracy` beside
    `test_user_accuracy`, likewise for the loss and each score of a model. Training is not affected,
    so that runs with and without a further score are compared. A component needs `score`, and
    `build` if its score depends on the clients' availability or data.

    Attributes:
        higher_is_better: Whether a higher value is better, of the accuracy as of the loss; `None`
            if that is as for the clients' own scores. A spread has `False`.
        needs_training_clients: Whether it is refused where test clients are other clients.

    Examples:
        >>> from dataclasses import dataclass
        >>> import numpy as np
        >>> from f3ast_tff import simulate
        >>> from f3ast_tff.scores import ScoreOfConfig
        >>> from f3ast_tff.settings import register
        >>> @register("score_of", "median", about="the median client")
        ... @dataclass(frozen=True)
        ... class Median(ScoreOfConfig):
        ...     def score(self, means, ids, higher_is_better):
        ...         return float(np.median(means))
        >>> result = simulate(score_of=Median(), rounds=2, num_clients=20)
        >>> "test_median_accuracy" in result.metrics
        True
    """

    higher_is_better: ClassVar[bool | None] = None
    needs_training_clients: ClassVar[bool] = False

    def check(self, settings: Settings) -> None:
        """Refuses a name that is no first word of a column of its own.

        Raises:
            ComponentError: If the name is `sample`, `user` or `train`, or has a `_`.
        """
        name = component_of(self).name
        if "_" in name or name in _TAKEN:
            must = f"must be one word without _, none of {', '.join(_TAKEN)}"
            raise ComponentError(f"score_of {name!r}: its name {must}")

    def build(self, world: StrategyContext) -> Any:
        """Returns an object with `score`; by default this one.

        Args:
            world: Clients, data and availability of the run.
        """
        return self

    def score(self, means: np.ndarray, ids: np.ndarray, higher_is_better: bool) -> float:
        """Returns the score.

        Args:
            means: A score of each client that has a test example, the mean over its labels,
                `float64 [m]`, m >= 1; a loss may be infinite or NaN.
            ids: Numbers of these clients, `int64 [m]`: of training clients, if test clients are
                training clients, else of test clients.
            higher_is_better: Whether a higher score of a client is better.
        """
        raise ComponentError(f"{type(self).__name__} does not say which score it is")
