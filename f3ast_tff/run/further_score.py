"""Further scores of a run: which clients they are of, and which way is better."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from f3ast_tff.core.errors import ParameterError
from f3ast_tff.core.federated_data import FederatedData
from f3ast_tff.models.scores import Scoring
from f3ast_tff.run.private_leaves import known_owners
from f3ast_tff.scores.score_of import FurtherScore
from f3ast_tff.settings.component import component_of


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
