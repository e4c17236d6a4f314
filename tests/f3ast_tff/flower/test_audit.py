"""Audits of Flower's strategies, of both APIs, and of a method of ours behind the adapter."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from flwr.common import ndarrays_to_parameters, parameters_to_ndarrays
from flwr.server.strategy import FedAvg as OlderFedAvg
from flwr.serverapp.strategy import FedAvg, FedAvgM

from f3ast_tff.audit.audit import audit
from f3ast_tff.audit.findings import OPEN, Audit
from f3ast_tff.audit.given_targets import target_of
from f3ast_tff.audit.weights import ADAPTIVE, CLIPS, LINEAR, ROBUST, rule_of, weights_in
from f3ast_tff.audit.world import EXAMPLES, Schedule
from f3ast_tff.core.errors import ParameterError

ROUNDS = 100


def said(found: Audit) -> str:
    return "; ".join(f"{each.check}: {each.found}" for each in found.wrong())


def test_fedavg_is_the_mean_of_those_present_and_waits_without_limit() -> None:
    found = audit(FedAvg, rounds=ROUNDS)
    assert found.rule.kind == LINEAR and not found.wrong(["weights", "scale", "returning"])
    assert all(each.distance < 1e-3 for each in found.weights if each.schedule != "late replies")
    assert "liveness: waits without a limit while one client is there" in said(found)
    assert "replies: num-examples of 0 from all ends it: ZeroDivisionError" in said(found)
    assert dict(found.target.versions).keys() == {"flwr"}


class PlainMean(OlderFedAvg):
    """The older API, weights by the number of replies."""

    def aggregate_fit(self, server_round: int, results: Any, failures: Any) -> Any:
        if not results:
            return None, {}
        models = [parameters_to_ndarrays(each.parameters) for _, each in results]
        return ndarrays_to_parameters([np.mean(each, axis=0) for each in zip(*models)]), {}


def test_the_older_api_is_audited_too() -> None:
    assert "weights: not the mean of clients whose replies" in said(audit(PlainMean, rounds=ROUNDS))
    assert not audit(OlderFedAvg, rounds=ROUNDS).wrong(["weights", "scale", "returning"])


def test_f3ast_behind_the_adapter_passes_all() -> None:
    found = audit("f3ast", rounds=200)
    assert not found.wrong(), said(found)
    independent = next(each for each in found.weights if each.schedule == "independent")
    assert independent.distance < 0.6 * np.abs(independent.present - independent.p).sum() / 2


class AllForATenth(FedAvg):
    """States a tenth of the nodes, samples at least 40."""

    def __init__(self) -> None:
        super().__init__(fraction_train=0.1, min_train_nodes=40)


def test_a_least_number_of_clients_has_as_many_and_more() -> None:
    found = audit(AllForATenth, rounds=ROUNDS)
    assert "liveness: states 10% of the clients; 100% train" in said(found)
    assert not found.wrong(["weights", "scale", "returning"])
    assert [len(each.p) for each in found.weights] == 9 * [40]


def test_a_least_number_above_the_audits_clients_is_said() -> None:
    found = audit(FedAvg, {"min_available_nodes": 50})
    assert found.sentence.startswith("FedAvg cannot be audited: round 1: still waits")
    assert "has 40 clients: give least numbers of clients below that" in found.wrong()[0].advice


@pytest.mark.parametrize(
    ("name", "arguments", "kind"),
    [
        ("FedAvgM", {"server_momentum": 0.9}, LINEAR),
        ("FedAdam", {}, ADAPTIVE),
        ("FedMedian", {}, ROBUST),
        (
            "DifferentialPrivacyServerSideFixedClipping",
            {
                "strategy": "flwr.serverapp.strategy:FedAvg",
                "noise_multiplier": 0.001,
                "clipping_norm": 1.0,
                "num_sampled_clients": 8,
            },
            CLIPS,
        ),
    ],
)
def test_rules_are_told_apart(name: str, arguments: dict[str, Any], kind: str) -> None:
    target = target_of(f"flwr.serverapp.strategy:{name}", arguments)
    assert rule_of(target, EXAMPLES).kind == kind


def test_momentum_does_not_change_the_weights() -> None:
    masks = np.random.default_rng(0).random((300, 8)) < 0.6
    target = target_of(FedAvgM, {"server_momentum": 0.9})
    found = weights_in(target, Schedule("independent", masks), EXAMPLES, 200)
    assert found.distance < 0.02


def test_a_class_that_needs_arguments_is_refused_with_their_names() -> None:
    name = "flwr.serverapp.strategy:DifferentialPrivacyServerSideFixedClipping"
    with pytest.raises(ParameterError, match="needs arguments: --args=strategy=...,noise_mult"):
        target_of(name)


class IgnoresErrors(FedAvg):
    """A mean that does not ask whether a message has a reply."""

    def aggregate_train(self, server_round: int, replies: Any) -> Any:
        found = [message.content for message in replies]
        return (found[0]["arrays"], None) if found else (None, None)


def test_a_clients_error_in_place_of_its_reply() -> None:
    found = audit(IgnoresErrors, rounds=ROUNDS)
    assert "replies: a client's error in place of its reply ends it: ValueError" in said(found)
    assert "error in place" not in said(audit(FedAvg, rounds=ROUNDS))


class ByNode(FedAvg):
    """Keeps each node's last reply, by its id."""

    def __init__(self) -> None:
        super().__init__()
        self.kept: dict[int, Any] = {}

    def aggregate_train(self, server_round: int, replies: Any) -> Any:
        replies = list(replies)
        for message in replies:
            if message.has_content():
                self.kept[message.metadata.src_node_id] = message.content["arrays"]
        return super().aggregate_train(server_round, replies)


def test_what_is_kept_by_node_grows_with_each_return() -> None:
    assert "memory: the server's state is" in said(audit(ByNode, rounds=ROUNDS))


def test_a_slow_server_is_judged_by_its_own_pace() -> None:
    slow = {"server_learning_rate": 0.01, "server_momentum": 0.0}
    assert not audit(FedAvgM, slow, rounds=300).wrong(["weights"])


class AsksForSteps(FedAvg):
    """Reads a metric that the audit's clients do not reply."""

    def aggregate_train(self, server_round: int, replies: Any) -> Any:
        steps = [message.content["metrics"]["num-steps"] for message in replies]
        raise AssertionError(steps)


def test_what_the_audits_clients_do_not_reply_is_not_judged() -> None:
    found = audit(AsksForSteps)
    assert found.sentence == "AsksForSteps cannot be audited: KeyError: 'num-steps'."
    assert not found.wrong() and {each.verdict for each in found.findings} == {OPEN}
    assert not audit(FedAvg, {"weighted_by_key": "num_samples"}, rounds=ROUNDS).wrong(["weights"])
