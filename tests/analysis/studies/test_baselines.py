"""Each method's baseline among the methods of a study."""

from __future__ import annotations

import pytest

from f3ast_tff.analysis.compare.scored import RunsError
from f3ast_tff.analysis.studies.baselines import FEDAVG, corrected_by, find_method
from f3ast_tff.analysis.study_runs import Method
from f3ast_tff.methods.fedvarp import FedVarp
from f3ast_tff.methods.parts.algorithm import MEAN_OF_AVAILABLE


def fedavg(sampling: str, **further: str) -> Method:
    return {"algorithm": "fedavg", "aggregation": "mean", "baseline_sampling": sampling, **further}


REPLACED, WITHOUT, UNIFORM = map(fedavg, ("with_replacement", "without_replacement", "uniform"))
F3AST = {"algorithm": "f3ast", "aggregation": "sum"}


def test_what_a_method_corrects(monkeypatch: pytest.MonkeyPatch) -> None:
    """An algorithm with another aggregation corrects the algorithm with its own."""
    monkeypatch.setattr(FedVarp.algorithm, "corrects", {"algorithm": "uniform"})
    assert corrected_by({"algorithm": "fedvarp"}) == {"algorithm": "uniform"}
    assert corrected_by({"algorithm": "fedvarp", "aggregation": ""}) == {"algorithm": "uniform"}
    with_scaffold = {"algorithm": "f3ast", "aggregation": "scaffold"}
    assert corrected_by(with_scaffold) == {"algorithm": "f3ast", "aggregation": "sum"}
    assert corrected_by({"algorithm": "of_a_plugin"}) == FEDAVG
    assert corrected_by({"algorithm": "fedbuff"}) == MEAN_OF_AVAILABLE
    assert corrected_by({"algorithm": "fedavg_in_time"}) == FEDAVG


def found(wanted: Method, methods: list[Method], beside: Method) -> Method | None:
    return find_method("synthetic", wanted, methods, beside)


@pytest.mark.parametrize("beside", [F3AST, REPLACED, WITHOUT, UNIFORM])
def test_fedavg_is_that_with_default_sampling(beside: Method) -> None:
    assert found(FEDAVG, [UNIFORM, WITHOUT, REPLACED, F3AST], beside) is REPLACED


def test_an_aggregation_is_the_algorithms_own_or_the_wanted() -> None:
    mean, total = ({"algorithm": "fedavg_all", "aggregation": each} for each in ("mean", "sum"))
    scaffold = {"algorithm": "scaffold", "aggregation": "scaffold"}
    methods: list[Method] = [total, mean, scaffold]
    assert found({"algorithm": "fedavg_all"}, methods, scaffold) is total
    assert found({"algorithm": "fedavg_all", "aggregation": "mean"}, methods, scaffold) is mean
    assert found({"algorithm": "uniform"}, methods, scaffold) is None


def test_of_two_numbers_of_clients_it_is_the_methods_own() -> None:
    few, all_of_them = (fedavg("uniform", clients_per_round=k) for k in ("10", "100"))
    for k, expected in (("10", few), ("100", all_of_them)):
        beside = {"algorithm": "fedawe", "clients_per_round": k}
        assert found(FEDAVG, [few, all_of_them], beside) is expected


def test_two_that_are_equally_near_are_refused() -> None:
    said = "FedAvg, uniform and FedAvg, without replacement could both be the baseline of F3AST"
    with pytest.raises(RunsError, match=said):
        found(FEDAVG, [UNIFORM, WITHOUT], F3AST)
