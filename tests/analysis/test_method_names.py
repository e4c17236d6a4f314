"""Names of methods, in tables and for kept runs."""

from __future__ import annotations

from pathlib import Path

import pytest

from f3ast_tff.analysis.method_names import algorithm_label, method_label
from f3ast_tff.analysis.results_frame import read_results
from f3ast_tff.analysis.study_runs import Method, method_name
from tests.analysis.conftest import MakeRun


def test_the_mean_over_all_available_has_one_name() -> None:
    method = {"algorithm": "fedavg_all", "aggregation": "mean", "clients_per_round": 100}
    told = {name: method[name] for name in ("aggregation", "clients_per_round")}
    assert method_label(algorithm_label(method), told) == "Plain mean, K = 100"
    assert algorithm_label({"algorithm": "fedavg_all", "aggregation": "sum"}) == "FedAvg over all"


def test_words_need_no_name_of_their_setting() -> None:
    told = {
        "aggregation": "scaffold",
        "baseline_sampling": "without_replacement",
        "rate_beta": 0.01,
    }
    assert method_label("X", told) == "X + SCAFFOLD's controls, without replacement, rate_beta 0.01"


def test_a_method_that_is_named_goes_by_its_name(make_run: MakeRun, tmp_path: Path) -> None:
    """Where one name stands for two forms of a method, their settings tell them apart."""
    for seed in range(3):
        for name, rate in (("Calm", 0.1), ("Brisk", 0.3), (None, 0.5)):
            # Methods may differ in their rates.
            given = {"client_lr": rate, "method_name": name, "seed": seed}
            make_run(f"{name}-{seed}", algorithm="fedavg", **given)
    found = read_results(tmp_path / "runs")
    assert set(found["method"]) == {"Calm", "Brisk", "FedAvg, client_lr 0.5"}
    rows = found.differences(baseline="Calm")
    assert rows["b"].tolist() == ["Calm", "Calm"]
    make_run("another", algorithm="fedavg", client_lr=0.7, method_name="Calm", seed=0)
    labels = set(read_results(tmp_path / "runs")["method"])
    assert labels == {
        "Calm, client_lr 0.1",
        "Calm, client_lr 0.7",
        "Brisk",
        "FedAvg, client_lr 0.5",
    }


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
