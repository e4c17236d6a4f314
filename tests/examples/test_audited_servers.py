"""Servers of pfl-research, NVFlare and APPFL in the audit, each where its package is installed."""

from __future__ import annotations

from typing import Any

import pytest

from f3ast_tff.audit.audit import audit
from f3ast_tff.audit.findings import NOTE, Audit
from f3ast_tff.audit.given_targets import target_of
from f3ast_tff.audit.weights import ADAPTIVE, CLIPS, rule_of
from f3ast_tff.audit.world import EXAMPLES

ADAM = {
    "aggregator": "FedAdamAggregator",
    "server_learning_rate": 0.1,
    "server_adapt_param": 0.001,
    "server_momentum_param_1": 0.9,
    "server_momentum_param_2": 0.99,
}


def audited(package: str, name: str, arguments: Any = None, objective: str | None = None) -> Audit:
    pytest.importorskip(package)
    target = f"examples/audit_{package}.py:{name}"
    found = audit(target, arguments, objective=objective, rounds=100)
    assert found.target.versions.keys() == {package}
    return found


@pytest.mark.parametrize(
    ("package", "name"),
    [("pfl", "Server"), ("nvflare", "FedAvg"), ("nvflare", "InTime"), ("appfl", "Server")],
)
def test_the_averages_of_others_pass_all(package: str, name: str) -> None:
    found = audited(package, name)
    assert not found.wrong() and found.target.objective == "present"
    exact = [each for each in found.weights if each.schedule != "late replies"]
    assert len(exact) == 8 and max(each.distance for each in exact) < 1e-3


def test_pfl_has_no_round_without_users() -> None:
    (said,) = [f for f in audited("pfl", "Server").findings if "without replies" in f.found]
    assert said.verdict == NOTE and "the caller keeps the model" in said.found


def test_users_that_count_alike_are_another_objective() -> None:
    by_user = {"weighting": "pfl.aggregate.weighting:WeightByUser"}
    assert {each.check for each in audited("pfl", "Server", by_user).wrong()} == {"weights"}
    assert not audited("pfl", "Server", by_user, "equal").wrong()
    alike = {"client_weights_mode": "equal"}
    assert {each.check for each in audited("appfl", "Server", alike).wrong()} == {"weights"}


def test_a_clip_of_pfl_is_seen_at_its_length() -> None:
    """Of the weighed statistics: .5 over the mean number of datapoints, 25."""
    privacy = pytest.importorskip("pfl.privacy.privacy_mechanism")
    postprocessors = [privacy.NormClippingOnly(2, 0.5)]
    target = target_of("examples/audit_pfl.py:Server", {"postprocessors": postprocessors})
    rule = rule_of(target, EXAMPLES)
    assert rule.kind == CLIPS and rule.clip == pytest.approx(0.02, rel=0.01)


def test_appfl_s_adam_keeps_nan() -> None:
    found = audited("appfl", "Server", ADAM)
    assert found.rule.kind == ADAPTIVE
    assert [each.check for each in found.wrong()] == ["replies"]
