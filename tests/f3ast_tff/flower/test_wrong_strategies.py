"""Wrong servers as strategies of both of Flower's APIs: each is named; a right one passes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from flwr.app import Array, ArrayRecord
from flwr.common import ndarrays_to_parameters, parameters_to_ndarrays
from flwr.server.strategy import FedAvg as OlderFedAvg
from flwr.serverapp.strategy import FedAvg

from f3ast_tff.audit.audit import audit
from f3ast_tff.audit.findings import Audit
from f3ast_tff.audit.functions import FunctionServer
from f3ast_tff.audit.world import VARIANCE, WEIGHTS, Model, Reply
from tests.f3ast_tff.audit import servers

ONE = 1


def server_of(name: str) -> FunctionServer:
    held = getattr(servers, name)
    return FunctionServer(held() if isinstance(held, type) else held)


class Newer(FedAvg):
    """A strategy of the message API around a plain server; one client suffices."""

    def __init__(self, name: str) -> None:
        super().__init__(min_available_nodes=ONE, min_train_nodes=ONE, min_evaluate_nodes=ONE)
        self.server = server_of(name)

    def configure_train(self, server_round: int, arrays: Any, config: Any, grid: Any) -> Any:
        self.sent = {key: each.numpy() for key, each in arrays.items()}
        return super().configure_train(server_round, arrays, config, grid)

    def aggregate_train(self, server_round: int, replies: Any) -> Any:
        found = [
            Reply(
                each.metadata.src_node_id,
                self.sent,
                {key: array.numpy() for key, array in each.content["arrays"].items()},
                each.content["metrics"]["num-examples"],
            )
            for each in replies
            if each.has_content()
        ]
        model = aggregated(self.server, self.sent, found, server_round)
        return ArrayRecord({key: Array(each) for key, each in model.items()}), None


class Older(OlderFedAvg):
    """The same for the older API."""

    def __init__(self, name: str) -> None:
        super().__init__(min_available_clients=ONE, min_fit_clients=ONE, min_evaluate_clients=ONE)
        self.server = server_of(name)

    def configure_fit(self, server_round: int, parameters: Any, client_manager: Any) -> Any:
        self.sent = named(parameters)
        return super().configure_fit(server_round, parameters, client_manager)

    def aggregate_fit(self, server_round: int, results: Any, failures: Any) -> Any:
        found = [
            Reply(int(proxy.cid), self.sent, named(each.parameters), each.num_examples)
            for proxy, each in results
        ]
        model = aggregated(self.server, self.sent, found, server_round)
        return ndarrays_to_parameters(list(model.values())), {}


def named(parameters: Any) -> Model:
    return dict(zip((WEIGHTS, VARIANCE), parameters_to_ndarrays(parameters)))


def aggregated(
    server: FunctionServer, sent: Model, replies: list[Reply], server_round: int
) -> Model:
    """The weights by the plain server; of a running variance the mean."""
    model = {key: np.array(each) for key, each in sent.items()}
    new = server._aggregated(np.array(sent[WEIGHTS], float), replies, server_round)
    model[WEIGHTS] = np.asarray(new, np.float32)
    if VARIANCE in sent and replies:
        model[VARIANCE] = np.mean([each.model[VARIANCE] for each in replies], axis=0)
    return model


class Loses(FedAvg):
    """Returns the weights alone."""

    def aggregate_train(self, server_round: int, replies: Any) -> Any:
        arrays, metrics = super().aggregate_train(server_round, replies)
        return arrays and ArrayRecord({WEIGHTS: arrays[WEIGHTS]}), metrics


class Renames(FedAvg):
    """Returns arrays of other names."""

    def aggregate_train(self, server_round: int, replies: Any) -> Any:
        arrays, metrics = super().aggregate_train(server_round, replies)
        return arrays and ArrayRecord({f"net.{k}": v for k, v in arrays.items()}), metrics


def said(found: Audit) -> str:
    return "; ".join(f"{each.check}: {each.found}" for each in found.wrong())


@pytest.mark.parametrize("strategy", [Newer, Older])
@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("ReturningTwice", "returning: in its first step after 50 rounds away a client counts"),
        ("CachedModel", "scale: a round that loses half of its replies moves the model 0.50"),
        ("delta_for_model", "scale: the model is replaced"),
        ("replies_so_far", "weights: not the mean of clients whose replies arrive, by their"),
        ("MomentumOnNaN", "replies: a reply of NaN stays in the server's state"),
    ],
)
def test_a_wrong_strategy_is_named(strategy: Any, name: str, words: str) -> None:
    servers.REPLIES.clear()
    assert words in said(audit(strategy, {"name": name}, rounds=100))


@pytest.mark.parametrize("strategy", [Newer, Older])
def test_a_right_strategy_passes_all(strategy: Any) -> None:
    assert not said(audit(strategy, {"name": "aggregate"}, rounds=100))


def test_lost_and_renamed_arrays_are_said() -> None:
    assert "replies: of a model's arrays bn.running_var is not returned" in said(
        audit(Loses, rounds=100)
    )
    found = audit(Renames, rounds=100)
    assert "cannot be audited: ValueError: returns arrays net.w, not w" in found.sentence
