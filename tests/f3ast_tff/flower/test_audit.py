"""Audits of Flower's strategies, of both APIs, and of a method of ours behind the adapter."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from flwr.app import Array, ArrayRecord, RecordDict
from flwr.common import ndarrays_to_parameters, parameters_to_ndarrays
from flwr.server.strategy import FedAvg as OlderFedAvg
from flwr.server.strategy import FedAvgM as OlderFedAvgM
from flwr.serverapp.strategy import FedAvg, FedAvgM

from f3ast_tff.audit.audit import audit
from f3ast_tff.audit.check_replies import check_broken
from f3ast_tff.audit.check_weights import check_clusters, check_weights
from f3ast_tff.audit.findings import NOTE, OPEN, Audit
from f3ast_tff.audit.given_targets import target_of
from f3ast_tff.audit.plays import played, step
from f3ast_tff.audit.weights import (
    ADAPTIVE,
    BY_LOSS,
    CLIPS,
    LINEAR,
    ROBUST,
    Rule,
    rule_of,
    weights_in,
)
from f3ast_tff.audit.world import EXAMPLES, Fixed, Schedule
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


class PersonalHead(FedAvg):
    """The head stays as it is at the server."""

    def configure_train(self, server_round: int, arrays: Any, config: Any, grid: Any) -> Any:
        self.sent = arrays
        return super().configure_train(server_round, arrays, config, grid)

    def aggregate_train(self, server_round: int, replies: Any) -> Any:
        found, metrics = super().aggregate_train(server_round, replies)
        own = self.sent if found else {}
        kept = {k: own[k] if k.startswith("head") else found[k] for k in own}
        return ArrayRecord(kept) if found else None, metrics


class LeavesOut(FedAvg):
    """Arrays with a word in their names are not sent, as in FedBN."""

    def __init__(self, word: str = "bn") -> None:
        super().__init__()
        self.word = word

    def configure_train(self, server_round: int, arrays: Any, config: Any, grid: Any) -> Any:
        sent = ArrayRecord({k: each for k, each in arrays.items() if self.word not in k})
        return super().configure_train(server_round, sent, config, grid)


class LastTwo(OlderFedAvg):
    """The last two arrays stay; the first is by examples, the second each client alike."""

    def configure_fit(self, server_round: int, parameters: Any, client_manager: Any) -> Any:
        self.sent = parameters_to_ndarrays(parameters)
        return super().configure_fit(server_round, parameters, client_manager)

    def aggregate_fit(self, server_round: int, results: Any, failures: Any) -> Any:
        sizes = [each.num_examples for _, each in results]
        models = zip(*(parameters_to_ndarrays(each.parameters) for _, each in results))
        found = [
            np.average(each, axis=0, weights=None if i else sizes)
            for i, each in enumerate(list(models)[:-2])
        ]
        return ndarrays_to_parameters(found + self.sent[-2:]), {}


BODY = ["body.weight", "body.bias"]


@pytest.mark.parametrize(
    ("strategy", "arguments", "model", "moving", "still"),
    [
        (FedAvg, {}, None, [], []),
        (FedAvg, {}, "a.weight,a.bias", ["a.weight", "a.bias"], []),
        (PersonalHead, {}, None, BODY, ["head.weight"]),
        (LeavesOut, {}, None, [*BODY, "head.weight", "head.bias"], ["bn.weight"]),
        (LeavesOut, {"word": "fc.weight"}, "fc.weight,fc.bias", ["fc.bias"], ["fc.weight"]),
        (LastTwo, {}, None, ["model[0]", "model[1]"], ["model[2]"]),
        (OlderFedAvg, {}, "layers", ["model[0]", "model[1]", "model[2]"], []),
    ],
)
def test_arrays_that_are_not_treated_alike_are_played(
    strategy: Any, arguments: Any, model: Any, moving: list[str], still: list[str]
) -> None:
    """If all have one examples' mean, the step is the sum of p_k u_k in each array that moves."""
    target = target_of(strategy, arguments, model=model)
    assert {*target.parts} == {*moving, *still}
    updates = np.random.default_rng(0).random((8, 32))
    for name, make in target.parts.items():
        found = step(replace(target, make=make), updates, EXAMPLES)
        sizes = np.ones(8) if name == "model[1]" and strategy is LastTwo else EXAMPLES
        mean = np.average(updates, axis=0, weights=sizes)
        np.testing.assert_allclose(found, 0 * mean if name in still else mean, rtol=1e-5)


def test_what_one_array_has_wrong_is_said_of_it() -> None:
    found = audit(LastTwo, rounds=ROUNDS)
    assert "weights: model[1]: not the mean of clients whose replies arrive" in said(found)
    assert "model[2]: not seen: the model stays" in "; ".join(e.found for e in found.findings)


def test_buffers_that_are_left_out_by_name_are_a_note() -> None:
    (found,) = (
        each
        for each in check_broken(target_of(LeavesOut), Rule(LINEAR), EXAMPLES)
        if "bn.running_var" in each.found
    )
    assert found.verdict == NOTE


class ByLoss(FedAvg):
    """Weighs by losses; asks for them, if it chooses."""

    def __init__(self, chooses: bool = False) -> None:
        super().__init__()
        self.chooses = chooses

    def configure_train(self, server_round: int, arrays: Any, config: Any, grid: Any) -> Any:
        nodes = list(grid.get_node_ids())
        record = RecordDict({"arrays": arrays, "config": config})
        if self.chooses:
            asked = self._construct_messages(record, nodes, "evaluate")
            found = [
                (-each.content["metrics"]["eval_loss"], each.metadata.src_node_id)
                for each in grid.send_and_receive(asked)
            ]
            nodes = [node for _, node in sorted(found)[: len(nodes) // 2]]
        return self._construct_messages(record, nodes, "train")

    def aggregate_train(self, server_round: int, replies: Any) -> Any:
        if self.chooses:
            return super().aggregate_train(server_round, replies)
        found = [each.content for each in replies if each.has_content()]
        if not found:
            return None, None
        sizes = [each["metrics"]["my_loss"] for each in found]
        arrays = [each["arrays"].to_numpy_ndarrays()[0] for each in found]
        return ArrayRecord({"w": Array(np.average(arrays, axis=0, weights=sizes))}), None


def test_losses_follow_from_the_play() -> None:
    """Updates k e_k have losses k^2 / 2: weights k^2 / 204; the four largest are of 4 to 7."""
    updates = np.arange(8)[:, None] * np.eye(8, 32)
    found = step(target_of(ByLoss), updates, EXAMPLES)[:8]
    np.testing.assert_allclose(found, np.arange(8) ** 3 / 140, rtol=1e-5)
    chosen = step(target_of(ByLoss, {"chooses": True}), updates, EXAMPLES)[:8]
    np.testing.assert_allclose(chosen[4:], np.arange(4, 8) * EXAMPLES[4:] / 100, rtol=1e-5)
    assert not chosen[:4].any()


class TwoModels(FedAvg):
    """Two clusters of clients, by the node's id; or, which is wrong, by its place."""

    def __init__(self, by_place: bool = False) -> None:
        super().__init__()
        self.by_place, self.models = by_place, {}

    def _members(self, nodes: list[int], cluster: int) -> list[int]:
        return [
            k for n, k in enumerate(sorted(nodes)) if (n if self.by_place else k) % 2 == cluster
        ]

    def configure_train(self, server_round: int, arrays: Any, config: Any, grid: Any) -> Any:
        nodes, found = list(grid.get_node_ids()), []
        for cluster in (0, 1):
            own = self.models.setdefault(cluster, arrays)
            record = RecordDict({"arrays": own, "config": config})
            found += self._construct_messages(record, self._members(nodes, cluster), "train")
        return found

    def aggregate_train(self, server_round: int, replies: Any) -> Any:
        got = {each.metadata.src_node_id: each for each in replies}
        for cluster in (0, 1):
            some = [got[k] for k in self._members([*got], cluster)]
            found, _ = super().aggregate_train(server_round, some) if some else (None, None)
            self.models[cluster] = found or self.models[cluster]
        pairs = zip(*(each.items() for each in self.models.values()))
        means = {key: Array((a.numpy() + b.numpy()) / 2) for (key, a), (_, b) in pairs}
        return ArrayRecord(means), None


def test_a_client_that_changes_its_cluster_is_wrong() -> None:
    masks = np.random.default_rng(0).random((200, 8)) < 0.6
    right, wrong = (
        weights_in(
            target_of(TwoModels, {"by_place": each}), Schedule("independent", masks), EXAMPLES, 100
        )
        for each in (False, True)
    )
    assert not [*check_clusters([right])]
    (said,) = check_clusters([wrong])
    assert "clients get several models by turns: " in said.found
    (said,) = check_weights(target_of(TwoModels), Rule(LINEAR), [right])
    assert said.verdict == OPEN and "clients get several models; in the one that" in said.found


class LeastAccurate(OlderFedAvg):
    """Trains the clients that were least accurate in the last evaluation."""

    def __init__(self) -> None:
        super().__init__()
        self.accuracies: dict[str, float] = {}

    def configure_fit(self, server_round: int, parameters: Any, client_manager: Any) -> Any:
        asked = super().configure_fit(server_round, parameters, client_manager)
        return sorted(asked, key=lambda each: self.accuracies.get(each[0].cid, 0.0))[:4]

    def aggregate_evaluate(self, server_round: int, results: Any, failures: Any) -> Any:
        self.accuracies = {proxy.cid: each.metrics["accuracy"] for proxy, each in results}
        return super().aggregate_evaluate(server_round, results, failures)


def test_the_older_api_evaluates_with_accuracies() -> None:
    """Losses k^2 / 2: the clients 4 to 7 are the least accurate ones in the second round."""
    updates = np.arange(8)[:, None] * np.eye(8, 32)
    trace = played(target_of(LeastAccurate), Fixed(updates, EXAMPLES), 2)
    assert sorted(trace.asked[1]) == [4, 5, 6, 7]


@pytest.mark.parametrize("chooses", [False, True])
def test_a_strategy_that_goes_by_losses(chooses: bool) -> None:
    found = audit(ByLoss, {"chooses": chooses}, rounds=ROUNDS)
    assert found.rule.kind == BY_LOSS and found.weights[0].named
    assert {each.check for each in found.wrong()} <= {"replies", "liveness"}


FIRST = ndarrays_to_parameters(
    [np.full(shape, 7, np.float32) for shape in ((4, 25), (4,), (5, 3, 3, 3))]
)


class OwnFirst(OlderFedAvg):
    """Begins from its own arrays, of which the last stays."""

    def initialize_parameters(self, client_manager: Any) -> Any:
        return FIRST

    def aggregate_fit(self, server_round: int, results: Any, failures: Any) -> Any:
        found, metrics = super().aggregate_fit(server_round, results, failures)
        own = parameters_to_ndarrays(FIRST)[2:]
        return ndarrays_to_parameters(parameters_to_ndarrays(found)[:2] + own), metrics


def test_a_strategys_own_first_arrays_are_its_model() -> None:
    """Its small array is not seen; momentum .9 moves 1 + 1.9 = 2.9 mean updates in two rounds."""
    target = target_of(OlderFedAvgM, {"server_momentum": 0.9, "initial_parameters": FIRST})
    assert target.kind.endswith("model: its own 3 initial arrays") and not target.parts
    updates = np.random.default_rng(0).random((8, 32))
    mean = EXAMPLES @ updates / EXAMPLES.sum()
    for start in (0.0, 8.0):
        trace = played(target, Fixed(updates, EXAMPLES), 2, start=start)
        np.testing.assert_allclose(trace.flat()[1], start + 2.9 * mean, rtol=1e-4)
    own = target_of(OwnFirst)
    assert [*own.parts] == ["model[0]", "model[2]"]
    assert not any("running_var" in e.found for e in check_broken(own, Rule(LINEAR), EXAMPLES))
    steps = [step(replace(own, make=make), updates, EXAMPLES) for make in own.parts.values()]
    np.testing.assert_allclose(steps, [mean, 0 * mean], rtol=1e-4)
    small = ndarrays_to_parameters([np.ones(5, np.float32)])
    with pytest.raises(ParameterError, match="arrays of 5 numbers: must have at most 200000, and"):
        target_of(OlderFedAvg, {"initial_parameters": small})
