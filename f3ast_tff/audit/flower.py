"""Flower's strategies, of the message API and of the older one, without a SuperLink."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import partial
from importlib import metadata
from typing import Any

import numpy as np
from flwr.app import Array, ArrayRecord, ConfigRecord, Error, Message, MetricRecord, RecordDict
from flwr.common import (
    Code,
    EvaluateIns,
    EvaluateRes,
    FitIns,
    FitRes,
    Parameters,
    Status,
    ndarrays_to_parameters,
    parameters_to_ndarrays,
)
from flwr.server.client_manager import SimpleClientManager
from flwr.server.client_proxy import ClientProxy
from flwr.server.strategy import Strategy as OlderStrategy
from flwr.serverapp.strategy import Strategy

from f3ast_tff.audit.arrays import DICT, LAYERS, Form
from f3ast_tff.audit.forms import form_needed, of_own_arrays, with_form
from f3ast_tff.audit.link import Link
from f3ast_tff.audit.targets import Target
from f3ast_tff.audit.words import words_of
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


def flower_target(
    name: str, maker: Callable[[], Any], example: Any, form: Form | None = None
) -> Target:
    """Returns the target of a strategy.

    Args:
        name: Its name in the report.
        maker: Function that returns a new one.
        example: One that it returned.
        form: How its model is made of arrays; by default one array if it treats several alike.

    Raises:
        ParameterError: If it is none.
    """
    inner, words = getattr(example, "strategy", example), words_of(example)
    losses = sorted({_LOSS, "loss", *(word for word in words if "loss" in word.lower())})
    own: list[np.ndarray] = []
    server: Any
    if isinstance(example, Strategy):
        kind, server = "Flower's message API", MessageServer
    elif isinstance(example, OlderStrategy):
        kind, server = "Flower's older API", OlderServer
        own = _initial(maker())
    else:
        raise ParameterError("target", name, "is of Flower, but no strategy")
    found = Target(
        name,
        kind=kind,
        make=lambda: server(maker()),
        objective=_objective(example),
        fraction=_fraction(inner),
        least=max(getattr(inner, name, 0) or 0 for name in _LEAST),
        proximal=_first(inner, "proximal_mu"),
        messages=True,
        versions={"flwr": metadata.version("flwr")},
        # Arrays come without names in the older API.
        words=words if server is MessageServer else (),
    )

    def make(form: Form) -> Any:
        return server(maker(), form, losses)

    if own:
        return of_own_arrays(found, make, own, form)
    if form is not None:
        return with_form(found, make, form)
    return form_needed(found, make, Form(DICT if server is MessageServer else LAYERS))


def _objective(strategy: Any) -> str:
    """A sum of this package's weights p / r is of all clients; its means count replies alike."""
    own = getattr(strategy, "_strategy", None)
    if own is None or not hasattr(own, "weigh"):
        return "present"
    if facts_of(own).aggregation == "sum":
        return "all"
    return "drawn" if "repeated" in facts_of(own).may_select else "equal"


def _fraction(strategy: Any) -> float | None:
    """The share that it says to train; Flower's default says nothing of an own selection."""
    own = _first(type(strategy), "configure_train", "configure_fit").__module__
    found = _first(strategy, "fraction_train", "fraction_fit")
    return found if own.startswith("flwr.") or found != 1.0 else None


def _first(strategy: Any, *names: str) -> Any:
    return next((getattr(strategy, name) for name in names if hasattr(strategy, name)), None)


class MessageServer:
    """`Strategy.start` on a grid whose nodes are the world's clients."""

    def __init__(self, strategy: Any, form: Form, losses: Sequence[str]) -> None:
        """Takes the strategy.

        Args:
            strategy: The strategy.
            form: How its model is made of arrays.
            losses: Names under which clients tell their loss.
        """
        self.held, self._form, self._losses = strategy, form, losses

    def play(self, world: World, rounds: int, model: Model) -> None:
        """Plays `Strategy.start`."""
        link = Link(world, self._form, model)

        def closed(server_round: int, arrays: ArrayRecord) -> MetricRecord | None:
            if server_round:
                link.close({name: array.numpy() for name, array in arrays.items()})
            return None

        inner = getattr(self.held, "strategy", self.held)
        self.held.start(
            grid=_WorldGrid(
                world, link, getattr(inner, "weighted_by_key", _EXAMPLES), self._losses
            ),
            initial_arrays=_record(link.first),
            num_rounds=rounds,
            evaluate_fn=closed,
        )


class _WorldGrid(LocalGrid):
    """The link to the world's clients; late replies are dropped, as by Flower's own link."""

    def __init__(self, world: World, link: Link, weighted_by: str, losses: Sequence[str]) -> None:
        super().__init__()
        self._world, self._link = world, link
        self._weighted_by, self._losses = weighted_by, losses

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
        kind, records = message.metadata.message_type, message.content.array_records
        sent = [{name: a.numpy() for name, a in each.items()} for each in records.values()]
        if not kind.startswith("train"):
            loss = self._link.loss(client, sent[0]) if sent else 1.0
            told = {
                _PARTITION: ConfigRecord({_PARTITION: client}),
                "metrics": self._metrics(1, loss, "eval_loss"),
            }
            if kind.startswith("evaluate"):
                del told[_PARTITION]
            return [Message(RecordDict(told), reply_to=message)]
        if len(sent) != 1:
            raise ValueError(f"sends {len(sent)} records of arrays: the audit's clients know one")
        replies = self._link.ask(client, sent[0])
        return [self._message(reply, arrays, message) for reply, arrays in replies]

    def _message(self, reply: Reply, arrays: Model, message: Message) -> Message:
        """The message of a reply: arrays by the key under which they came, and metrics."""
        if reply.failed:
            return Message(Error(code=_FAILED, reason="the client failed"), reply_to=message)
        metrics = self._metrics(int(reply.examples), reply.loss)
        (key,) = message.content.array_records
        return Message(RecordDict({key: _record(arrays), "metrics": metrics}), reply_to=message)

    def _metrics(self, examples: int, loss: float, *names: str) -> MetricRecord:
        counts = dict.fromkeys((_EXAMPLES, self._weighted_by), examples)
        return MetricRecord({**counts, **dict.fromkeys((*self._losses, *names), loss)})


def _record(model: Model) -> ArrayRecord:
    return ArrayRecord({name: Array(np.ascontiguousarray(value)) for name, value in model.items()})


class OlderServer:
    """The training rounds of `flwr.server.Server`, without its thread pool."""

    def __init__(self, strategy: Any, form: Form, losses: Sequence[str]) -> None:
        """Takes the strategy; arguments as of `MessageServer`."""
        self.held, self._form, self._losses = strategy, form, losses
        self._begun = False

    def play(self, world: World, rounds: int, model: Model) -> None:
        """Plays the training rounds of `Server.fit`."""
        if not self._begun and (own := _initial(self.held)):
            self._form = replace(self._form, base=tuple(own))
        link = Link(world, self._form, model)
        names, now = list(link.first), link.first
        if not self._begun and self._form.base:
            _move(self.held, self._form.base, list(now.values()))
        self._begun = True
        manager = _WorldManager(world, link, names, self._losses)
        for t in range(1, rounds + 1):
            parameters = ndarrays_to_parameters(list(now.values()))
            asked = self.held.configure_fit(t, parameters, manager)
            if asked:
                pairs = [(proxy, proxy.fitted(ins)) for proxy, ins in asked]
                results = [(proxy, each) for proxy, found in pairs for each in found]
                failures = [TimeoutError("no reply") for _, found in pairs if not found]
                found, _ = self.held.aggregate_fit(t, world.reordered(results), failures)
                if found is not None:
                    now = dict(zip(names, parameters_to_ndarrays(found)))
            link.close(now)


def _initial(strategy: Any) -> list[np.ndarray]:
    """The arrays that a strategy begins from; none if it leaves them to a client."""
    found = strategy.initialize_parameters(SimpleClientManager())
    return [] if found is None else parameters_to_ndarrays(found)


def _move(strategy: Any, before: Sequence[np.ndarray], now: Sequence[np.ndarray]) -> None:
    """Lets a strategy that keeps its first arrays begin from others."""
    for name, kept in vars(strategy).items():
        of_flower = isinstance(kept, Parameters)
        arrays = parameters_to_ndarrays(kept) if of_flower else kept
        listed = isinstance(arrays, (list, tuple)) and len(arrays) == len(before)
        if listed and all(np.array_equal(a, b) for a, b in zip(arrays, before)):
            copies = [each.copy() for each in now]
            setattr(strategy, name, ndarrays_to_parameters(copies) if of_flower else copies)


class _WorldManager(SimpleClientManager):
    """Flower's client manager, whose waiting takes virtual time."""

    def __init__(
        self, world: World, link: Link, names: Sequence[str], losses: Sequence[str]
    ) -> None:
        super().__init__()
        self._world = world
        self._proxy = partial(_Proxy, link=link, names=names, losses=losses)

    def _renew(self) -> None:
        self.clients = {str(k): self._proxy(str(k)) for k in sorted(self._world.nodes().values())}

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
    """A client by its id."""

    def __init__(self, cid: str, link: Link, names: Sequence[str], losses: Sequence[str]) -> None:
        super().__init__(cid)
        self._link, self._names, self._losses = link, names, losses

    def fitted(self, ins: FitIns) -> list[FitRes]:
        """Replies of the client."""
        sent = dict(zip(self._names, parameters_to_ndarrays(ins.parameters)))
        return [
            FitRes(
                Status(Code.OK, ""),
                ndarrays_to_parameters(list(arrays.values())),
                int(reply.examples),
                dict.fromkeys(self._losses, reply.loss),
            )
            for reply, arrays in self._link.ask(int(self.cid), sent)
            if not reply.failed
        ]

    def evaluate(
        self, ins: EvaluateIns, timeout: float | None, group_id: int | None
    ) -> EvaluateRes:
        sent = dict(zip(self._names, parameters_to_ndarrays(ins.parameters)))
        loss = self._link.loss(int(self.cid), sent)
        return EvaluateRes(Status(Code.OK, ""), loss, 1, dict.fromkeys(self._losses, loss))


# The other abstract methods are those of a connection, which is not there.
_Proxy.__abstractmethods__ = frozenset()
