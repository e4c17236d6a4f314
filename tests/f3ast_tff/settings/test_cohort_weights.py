"""The form of an algorithm's weights that an aggregation uses."""

from __future__ import annotations

from typing import Any

import pytest

from f3ast_tff.core.errors import ParameterError
from f3ast_tff.settings.resolve import resolve


def settings(**given: Any) -> Any:
    return resolve(given).settings


@pytest.mark.parametrize(
    ("algorithm", "aggregation", "weights"),
    [
        ("f3ast", "fedvarp", "sum"),
        ("f3ast", "fedstale", "sum"),
        ("fedstale", None, "sum"),
        ("unbiased", "fedvarp", "sum"),
        ("fedvarp", None, "mean"),
        ("fedvarp", "fedstale", "mean"),
        ("fedavg", "fedvarp", "mean"),
        ("poc", "fedstale", "mean"),
        ("fedlaavg", "fedvarp", "mean"),
    ],
)
def test_cohort_weights_follow_what_the_algorithm_means(
    algorithm: str, aggregation: str | None, weights: str
) -> None:
    """p_k over a rate is meant for a sum; with all other weights a mean makes sense."""
    where = {"algorithm": algorithm, "aggregation": aggregation, "availability": "four_classes"}
    given = settings(**where)
    assert given["cohort_weights"] == weights
    built = resolve(where).configs["aggregation"].build()
    assert built.normalise is (weights == "mean")


@pytest.mark.parametrize(
    ("algorithm", "aggregation"),
    [
        ("mifa", "fedlaavg"),
        ("fedlaavg", "mifa"),
        ("mifa", "sum"),
        ("fedstale", "sum"),
        ("mifa", "focus"),
    ],
)
def test_those_of_weights_p_take_each_other(algorithm: str, aggregation: str) -> None:
    """MIFA with FedLaAvg's memory; p_k with absent clients as 0; p_k / pi_k without memory."""
    where = {"algorithm": algorithm, "aggregation": aggregation, "availability": "four_classes"}
    assert settings(**where)["aggregation"] == aggregation


@pytest.mark.parametrize(
    ("given", "name", "says"),
    [
        ({"client_momentum": 0.5}, "client_momentum", "must be 0 with aggregation scaffold"),
        ({"client_optimizer": "adam"}, "client_optimizer", "must be sgd with aggregation scaffold"),
        ({"algorithm": "poc", "reading": "released"}, "aggregation", "which poc clips"),
        ({"num_workers": 2}, "num_workers", "which remembers each client"),
    ],
)
def test_gradients_are_read_off_plain_sgd_alone(
    given: dict[str, Any], name: str, says: str
) -> None:
    """D_k is -rate times the sum of gradients only without momentum, Adam or clipping."""
    base = {"algorithm": "f3ast", "aggregation": "scaffold"}
    assert settings(**base)["cohort_weights"] == "sum"
    with pytest.raises(ParameterError, match=says) as caught:
        resolve({**base, **given})
    assert caught.value.name == name
