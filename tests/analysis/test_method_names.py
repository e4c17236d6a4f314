"""Names of methods in tables."""

from __future__ import annotations

from f3ast_tff.analysis.method_names import algorithm_label, method_label


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
    assert method_label("X", told) == "X, SCAFFOLD, without replacement, rate_beta 0.01"
