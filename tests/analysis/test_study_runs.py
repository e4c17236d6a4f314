"""Names of methods."""

from __future__ import annotations

import pytest

from f3ast_tff.analysis.study_runs import Method, method_name


def fedavg(sampling: str, **further: str) -> Method:
    return {"algorithm": "fedavg", "aggregation": "mean", "baseline_sampling": sampling, **further}


REPLACED, UNIFORM = map(fedavg, ("with_replacement", "uniform"))
F3AST = {"algorithm": "f3ast", "aggregation": "sum"}


@pytest.mark.parametrize(
    ("method", "name"),
    [
        (REPLACED, "FedAvg"),
        (UNIFORM, "FedAvg, uniform"),
        (F3AST, "F3AST"),
        ({"algorithm": "fedavg_all", "aggregation": "mean"}, "Plain mean"),
        ({"algorithm": "f3ast"}, "F3AST"),
        (
            {"algorithm": "f3ast", "aggregation": "scaffold", "cohort_weights": "sum"},
            "F3AST + SCAFFOLD's controls",
        ),
        ({"algorithm": "fedvarp", "aggregation": "fedvarp", "cohort_weights": "mean"}, "FedVARP"),
        ({"algorithm": "fedawe", "fedawe_clip": "0.5"}, "FedAWE, fedawe_clip 0.5"),
        ({"algorithm": "mifa", "clients_per_round": "100"}, "MIFA, K = 100"),
        ({"algorithm": "of_a_plugin", "theirs": "word"}, "of_a_plugin, word"),
    ],
)
def test_a_name_says_what_is_not_default(method: Method, name: str) -> None:
    assert method_name("synthetic", method) == name
