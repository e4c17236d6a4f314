"""Further scores of a run: which clients they are of, and which way is better."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from f3ast_tff.core.errors import ComponentError, ParameterError
from f3ast_tff.core.federated_data import FederatedData
from f3ast_tff.engines.engine import ClientScores
from f3ast_tff.models.scores import Scoring
from f3ast_tff.run.private_leaves import known_owners
from f3ast_tff.settings.component import component_of


@dataclass(frozen=True)
class FurtherScore:
    """A component `score_of` in a run.

    Attributes:
        name: Its name, the first word of its columns.
        component: The built object.
        ids: Number of each test client, `int64 [C]`, see `ScoreOfConfig.score`.
        directions: Whether a higher score of a client is better, by the score's name.

    Examples:
        >>> import numpy as np
        >>> from f3ast_tff.engines import ClientScores
        >>> from f3ast_tff.run.further_score import FurtherScore
        >>> from f3ast_tff.scores import Worst
        >>> ways = {"accuracy": True, "loss": False}
        >>> further = FurtherScore("worst", Worst(0.5), np.arange(2), ways)
        >>> loss, correct, count = np.array([[3.0, 4.0], [9.0, 1.0], [10.0, 2.0]])
        >>> further.columns(ClientScores(loss, correct, count))
        {'test_worst_accuracy': 0.5, 'test_worst_loss': 2.0}
    """

    name: str
    component: Any
    ids: np.ndarray
    directions: Mapping[str, bool]

    def columns(self, scores: ClientScores) -> dict[str, float]:
        """Returns the score for each of `ClientScores.sums`, by column of `metrics.csv`.

        Raises:
            ComponentError: See `of`.
        """
        has = scores.count > 0
        found = {}
        for name, sums in scores.sums.items():
            means = sums[has] / scores.count[has]
            value = self.of(means, self.ids[has], self.directions[name])
            found[f"test_{self.name}_{name}"] = value
        return found

    def of(self, means: np.ndarray, ids: np.ndarray, higher_is_better: bool) -> float:
        """Returns the score of clients, see `ScoreOfConfig.score`.

        Raises:
            ComponentError: If the component returns anything else than a number.
        """
        value = self.component.score(means, ids, higher_is_better)
        if not isinstance(value, (int, float, np.number)):
            where = f"score_of {self.name}: score returned {type(value).__name__}"
            raise ComponentError(f"{where}: must be a number")
        return float(value)


def further_score(
    made: Any, configs: Mapping[str, Any], *, data: FederatedData, scoring: Scoring | None
) -> FurtherScore:
    """Returns the further scores of a run.

    Args:
        made: The built component.
        configs: Configurations of the run's components by kind.
        data: The data.
        scoring: The model's own loss and scores, if it brings any.

    Raises:
        ParameterError: If the component needs training clients and test clients are others.
    """
    config, ids = configs["score_of"], known_owners(configs["task"], data)
    name = component_of(config).name
    if ids is None:
        if config.needs_training_clients:
            allowed = "must be another: the test clients of this data are not its training clients"
            raise ParameterError("score_of", name, allowed)
        ids = np.arange(data.test.num_clients)
    ways = (
        {"accuracy": "higher", "loss": "lower"} if scoring is None else scoring.describe()["scores"]
    )
    return FurtherScore(name, made, ids, {each: way == "higher" for each, way in ways.items()})
