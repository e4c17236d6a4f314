"""The form of an algorithm's weights that an aggregation uses."""

from __future__ import annotations

from typing import Any

import pytest

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
        ("f3ast", "scaffold", "sum"),
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
        ("focus", "mifa"),
    ],
)
def test_those_of_weights_p_take_each_other(algorithm: str, aggregation: str) -> None:
    """MIFA with FedLaAvg's memory; p_k with absent clients as 0; p_k / pi_k without memory."""
    where = {"algorithm": algorithm, "aggregation": aggregation, "availability": "four_classes"}
    assert settings(**where)["aggregation"] == aggregation
