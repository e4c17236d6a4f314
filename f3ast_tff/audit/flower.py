"""Flower's strategies, of the message API and of the older one, without a SuperLink."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from importlib import metadata
from typing import Any

import numpy as np
from flwr.app import Array, ArrayRecord, ConfigRecord, Error, Message, MetricRecord, RecordDict
from flwr.common import Code, FitIns, FitRes, Status, ndarrays_to_parameters, parameters_to_ndarrays
from flwr.server.client_manager import SimpleClientManager
from flwr.server.client_proxy import ClientProxy
from flwr.server.strategy import Strategy as OlderStrategy
from flwr.serverapp.strategy import Strategy

from f3ast_tff.audit.targets import Target
from f3ast_tff.audit.world import Model, Reply, World
from f3ast_tff.core.errors import ParameterError
from f3ast_tff.flower.local_grid import LocalGrid
from f3ast_tff.methods.parts.strategy import facts_of

# Keys of strategies that say how they read replies, with Flower's defaults.
_EXAMPLES, _LOSS, _PARTITION = "num-examples", "train_loss", "partition-id"
_POLL_SECONDS = 1.0
# Flower's code of an error that the client app raised.
_FAILED = 2
_LEAST = ("min_available_nodes", "min_train_nodes", "min_available_clients", "min_fit_clients")


def flower_target(name: str, maker: Callable[[], Any], example: Any) -> Target:
    """Returns the target of a strategy.

    Raises:
        ParameterError: If it is none.
    """
    if isinstance(example, Strategy):
        kind, server = "Flower's message API", MessageServer
    elif isinstance(example, OlderStrategy):
        kind, server = "Flower's older API", OlderServer  # type: ignore[assignment]
    else:
        raise ParameterError("target", name, "is of Flower, but no strategy")
    inner = getattr(example, "strategy", example)
    return Target(
        name,
        kind=kind,
        make=lambda: server(maker()),
        objective=_objective(example),
        fraction=_first(inner, "fraction_train", "fraction_fit"),
        least=max(getattr(inner, name, 0) or 0 for name in _LEAST),
        proximal=_first(inner, "proximal_mu"),
        messages=True,
        versions={"flwr": metadata.version("flwr")},
    )


def _objective(strategy: Any) -> str:
    """A sum of this package's weights p / r is of all clients; its means count replies alike."""
    own = getattr(strategy, "_strategy", None)
    if own is None or not hasattr(own, "weigh"):
        return "present"
    if facts_of(own).aggregation == "sum":
        return "all"
    return "drawn" if "repeated" in facts_of(own).may_select else "equal"


def _first(strategy: Any, *names: str) -> Any:
    return next((getattr(strategy, name) for name in names if hasattr(strategy, name)), None)


class MessageServer:
    """`Strategy.start` on a grid whose nodes are the world's clients."""

    def __init__(self, strategy: Any) -> None:
        """Takes the strategy."""
        self.held = strategy

    def play(self, world: World, rounds: int, model: Model) -> None:
        """Plays `Strategy.start`."""

        def closed(server_round: int, arrays: ArrayRecord) -> MetricRecord | None:
            if server_round:
                world.close({name: array.numpy() for name, array in arrays.items()})
            return None

        inner = getattr(self.held, "strategy", self.held)
        self.held.start(
            grid=_WorldGrid(world, getattr(inner, "weighted_by_key", _EXAMPLES)),
            initial_arrays=_record(model),
            num_rounds=rounds,
            evaluate_fn=closed,
        )


class _WorldGrid(LocalGrid):
    """The link to the world's clients; late replies are dropped, as by Flower's own link."""

    def __init__(self, world: World, weighted_by: str) -> None:
        super().__init__()
        self._world, self._weighted_by = world, weighted_by

    def get_node_ids(self) -> Iterable[int]:
        return list(self._world.nodes())

    def send_and_receive(
        self, messages: Iterable[Message], *, timeout: float | None = None
    ) -> Iterable[Message]:
        found = list(self.pull_messages(list(self.push_messages(messages))))
        return self._world.reordered(found)

    def answers(self, message: Message) -> list[Message]:
        client = self._world.nodes().get(message.metadata.dst_node_id)
        return [] if client is None else self._answer(message, client)

    def _answer(self, message: Message, client: int) -> list[Message]:
        kind = message.metadata.message_type
        if kind.startswith("query"):
            told = ConfigRecord({_PARTITION: client})
            return [Message(RecordDict({_PARTITION: told}), reply_to=message)]
        if kind.startswith("evaluate"):
            counts = dict.fromkeys((_EXAMPLES, self._weighted_by), 1)
            metrics = MetricRecord({**counts, "loss": 1.0})
            return [Message(RecordDict({"metrics": metrics}), reply_to=message)]
        records = message.content.array_records
        if len(records) != 1:
            raise ValueError(
                f"sends {len(records)} records of arrays: the audit's clients know one"
            )
        (key, arrays) = next(iter(records.items()))
        sent = {name: array.numpy() for name, array in arrays.items()}
        replies = self._world.ask([client], sent, drops_late=True)
        return [_message(reply, message, key, self._weighted_by) for reply in replies]


def _message(reply: Reply, message: Message, key: str, weighted_by: str) -> Message:
    """The message of a reply: arrays by the key under which they came, and metrics."""
    if reply.failed:
        return Message(Error(code=_FAILED, reason="the client failed"), reply_to=message)
    examples = dict.fromkeys((_EXAMPLES, weighted_by), int(reply.examples))
    content = {key: _record(reply.model), "metrics": MetricRecord({**examples, _LOSS: 1.0})}
    return Message(RecordDict(content), reply_to=message)


def _record(model: Model) -> ArrayRecord:
    return ArrayRecord({name: Array(np.ascontiguousarray(value)) for name, value in model.items()})


class OlderServer:
    """The training rounds of `flwr.server.Server`, without its thread pool."""

    def __init__(self, strategy: Any) -> None:
        """Takes the strategy."""
        self.held = strategy

    def play(self, world: World, rounds: int, model: Model) -> None:
        """Plays the training rounds of `Server.fit`."""
        manager, names = _WorldManager(world), list(model)
        now = {name: np.array(value) for name, value in model.items()}
        for t in range(1, rounds + 1):
            parameters = ndarrays_to_parameters(list(now.values()))
            asked = self.held.configure_fit(t, parameters, manager)
            if asked:
                pairs = [(proxy, _fitted(proxy, ins, world, names)) for proxy, ins in asked]
                results = [(proxy, each) for proxy, found in pairs for each in found]
                failures = [TimeoutError("no reply") for _, found in pairs if not found]
                found, _ = self.held.aggregate_fit(t, world.reordered(results), failures)
                if found is not None:
                    now = dict(zip(names, parameters_to_ndarrays(found)))
            world.close(now)


def _fitted(proxy: Any, ins: FitIns, world: World, names: list[str]) -> list[FitRes]:
    sent = dict(zip(names, parameters_to_ndarrays(ins.parameters)))
    client = int(proxy.cid)
    return [
        FitRes(
            Status(Code.OK, ""),
            ndarrays_to_parameters(list(reply.model.values())),
            int(reply.examples),
            {_LOSS: 1.0},
        )
        for reply in world.ask([client], sent, drops_late=True)
        if not reply.failed
    ]


class _WorldManager(SimpleClientManager):
    """Flower's client manager, whose waiting takes virtual time."""

    def __init__(self, world: World) -> None:
        super().__init__()
        self._world = world

    def _renew(self) -> None:
        self.clients = {str(k): _Proxy(str(k)) for k in sorted(self._world.nodes().values())}

    def num_available(self) -> int:
        self._renew()
        return len(self.clients)

    def all(self) -> dict[str, ClientProxy]:
        self._renew()
        return self.clients

    def wait_for(self, num_clients: int, timeout: int = 86400) -> bool:
        begun = self._world.seconds
        while self.num_available() < num_clients:
            if self._world.seconds - begun >= timeout:
                return False
            self._world.sleep(_POLL_SECONDS)
        return True


class _Proxy(ClientProxy):
    """A client by its id; the server's rounds are played without its methods."""


# The abstract methods are those of a connection, which is not there.
_Proxy.__abstractmethods__ = frozenset()
