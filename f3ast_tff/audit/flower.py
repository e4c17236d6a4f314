"""Flower's strategies, of the message API and of the older one, without a SuperLink."""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from importlib import metadata
from pathlib import Path
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
from f3ast_tff.audit.targets import Target
from f3ast_tff.audit.world import WEIGHTS, Model, Reply, World
from f3ast_tff.core.errors import ParameterError
from f3ast_tff.flower.local_grid import LocalGrid
from f3ast_tff.methods.parts.strategy import facts_of

# Keys of strategies that say how they read replies, with Flower's defaults.
_EXAMPLES, _LOSS, _PARTITION = "num-examples", "train_loss", "partition-id"
_POLL_SECONDS = 1.0
# Flower's code of an error that the client app raised.
_FAILED = 2
# Words that may be names of arrays or losses.
_WORD, _LONGEST = re.compile(r"\.?[A-Za-z]\w*([.-]\w+)*\.?"), 30
_LEAST = ("min_available_nodes", "min_train_nodes", "min_available_clients", "min_fit_clients")


def flower_target(
    name: str, maker: Callable[[], Any], example: Any, form: Form | None = None
) -> Target:
    """Returns the target of a strategy; by default of one array if it treats several alike.

    Raises:
        ParameterError: If it is none.
    """
    inner, words = getattr(example, "strategy", example), words_of(example)
    # Losses and accuracies have the names that it may read.
    told = {_LOSS, "loss", "accuracy", *(w for w in words if re.search("loss|acc", w.lower()))}
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
        return server(maker(), form, sorted(told))

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


def words_of(strategy: Any) -> list[str]:
    """Returns the words in a strategy's attributes and its file, those of the attributes first."""
    found = [*_texts(vars(strategy))]
    files = {
        each.__code__.co_filename
        for kind in type(strategy).__mro__
        if not kind.__module__.startswith(("flwr.", "builtins", "abc"))
        for each in vars(kind).values()
        if inspect.isfunction(each)
    }
    for file in sorted(files):
        try:
            tree = ast.parse(Path(file).read_text(encoding="utf-8"))
        except (OSError, SyntaxError, ValueError):
            continue
        nodes = (each.value for each in ast.walk(tree) if isinstance(each, ast.Constant))
        found += [each for each in nodes if isinstance(each, str)]
    return [*dict.fromkeys(w for w in found if len(w) <= _LONGEST and _WORD.fullmatch(w))]


def _texts(held: Any) -> Iterator[str]:
    if isinstance(held, str):
        yield held
    elif isinstance(held, dict):
        for each in held.values():
            yield from _texts(each)
    elif isinstance(held, (list, tuple, set, frozenset)):
        for each in held:
            yield from _texts(each)


class _Link:
    """Between a strategy, whose model is of named arrays, and the world, which sees one of them.

    Attributes:
        first: The first model, of all arrays.
    """

    def __init__(self, world: World, form: Form, model: Model, told: Sequence[str]) -> None:
        self.world, self._form, self._vector = world, form, model[WEIGHTS]
        self._told = told
        self._latest: tuple[Model, Model] = ({}, {})
        self.first = {**form.whole(self._vector), **_without(model, WEIGHTS, *form.keys)}

    def ask(self, client: int, sent: Model) -> list[tuple[Reply, Model]]:
        """Returns a client's replies, each with all arrays that it got; late ones are dropped."""
        replies = self.world.ask([client], self._seen(sent), drops_late=True)
        parts = [self._form.replied(sent, e.sent[WEIGHTS], e.model[WEIGHTS]) for e in replies]
        return [(e, {**part, **_without(e.model, WEIGHTS)}) for e, part in zip(replies, parts)]

    def told(self, loss: float, *names: str) -> dict[str, float]:
        """Returns a loss under its names, and an accuracy that falls with it under its own."""
        found = (*self._told, *names)
        return {name: loss if "loss" in name.lower() else 1 / (1 + loss) for name in found}

    def loss(self, client: int, sent: Model) -> float:
        """Returns the loss of a client."""
        return self.world.loss(client, self._seen(sent))

    def close(self, model: Model) -> None:
        """Ends a round with the strategy's model; an array that is not returned stays."""
        if not {*self._form.keys} & {*model}:
            raise ValueError(f"returns arrays {', '.join(model)}, not {', '.join(self._form.keys)}")
        seen = self._seen(model)
        self._vector, self._latest = seen[WEIGHTS], ({}, {})
        self.world.close({**self._form.vectors(model, self._vector.size), **seen})

    def _seen(self, arrays: Model) -> Model:
        """The world's model of some arrays, made once for all who are sent the same."""
        if arrays is not self._latest[0]:
            form = self._form
            vector = form.vectors(arrays, self._vector.size).get(form.key, self._vector)
            self._latest = arrays, {WEIGHTS: vector, **_without(arrays, *form.keys)}
        return self._latest[1]


def _without(arrays: Model, *keys: str) -> Model:
    return {key: value for key, value in arrays.items() if key not in keys}


class MessageServer:
    """`Strategy.start` on a grid whose nodes are the world's clients."""

    def __init__(self, strategy: Any, form: Form, told: Sequence[str]) -> None:
        """Takes the strategy, its model's form, and names of the clients' losses and accuracies."""
        self.held, self._form, self._told = strategy, form, told

    def play(self, world: World, rounds: int, model: Model) -> None:
        """Plays `Strategy.start`."""
        link = _Link(world, self._form, model, self._told)

        def closed(server_round: int, arrays: ArrayRecord) -> MetricRecord | None:
            if server_round:
                link.close({name: array.numpy() for name, array in arrays.items()})
            return None

        inner = getattr(self.held, "strategy", self.held)
        self.held.start(
            grid=_WorldGrid(link, getattr(inner, "weighted_by_key", _EXAMPLES)),
            initial_arrays=_record(link.first),
            num_rounds=rounds,
            evaluate_fn=closed,
        )


class _WorldGrid(LocalGrid):
    """The link to the world's clients; late replies are dropped, as by Flower's own link."""

    def __init__(self, link: _Link, weighted_by: str) -> None:
        super().__init__()
        self._link, self._weighted_by = link, weighted_by
        self._latest: tuple[dict[str, bytes], Model] = ({}, {})

    def get_node_ids(self) -> Iterable[int]:
        return list(self._link.world.nodes())

    def send_and_receive(
        self, messages: Iterable[Message], *, timeout: float | None = None
    ) -> Iterable[Message]:
        found = list(self.pull_messages(list(self.push_messages(messages))))
        return self._link.world.reordered(found)

    def answers(self, message: Message) -> list[Message]:
        client = self._link.world.nodes().get(message.metadata.dst_node_id)
        if client is None:
            return []
        kind = message.metadata.message_type
        sent = [self._arrays(each) for each in message.content.array_records.values()]
        if not kind.startswith("train"):
            loss = self._link.loss(client, sent[0]) if sent else 1.0
            told: dict[str, Any] = {"metrics": self._metrics(1, loss, "eval_loss")}
            if not kind.startswith("evaluate"):
                told[_PARTITION] = ConfigRecord({_PARTITION: client})
            return [Message(RecordDict(told), reply_to=message)]
        if len(sent) != 1:
            raise ValueError(f"sends {len(sent)} records of arrays: the audit's clients know one")
        replies = self._link.ask(client, sent[0])
        return [self._message(reply, arrays, message) for reply, arrays in replies]

    def _arrays(self, record: ArrayRecord) -> Model:
        """The arrays of a record, decoded once for all who are sent the same bytes."""
        sent = {name: array.data for name, array in record.items()}
        before = self._latest[0]
        if [*sent] != [*before] or any(sent[name] is not before[name] for name in sent):
            self._latest = sent, {name: array.numpy() for name, array in record.items()}
        return self._latest[1]

    def _message(self, reply: Reply, arrays: Model, message: Message) -> Message:
        """The message of a reply: arrays by the key under which they came, and metrics."""
        if reply.failed:
            return Message(Error(code=_FAILED, reason="the client failed"), reply_to=message)
        metrics = self._metrics(int(reply.examples), reply.loss)
        (key,) = message.content.array_records
        return Message(RecordDict({key: _record(arrays), "metrics": metrics}), reply_to=message)

    def _metrics(self, examples: int, loss: float, *names: str) -> MetricRecord:
        counts = dict.fromkeys((_EXAMPLES, self._weighted_by), examples)
        return MetricRecord({**self._link.told(loss, *names), **counts})


def _record(model: Model) -> ArrayRecord:
    return ArrayRecord({name: Array(np.ascontiguousarray(value)) for name, value in model.items()})


class OlderServer:
    """The rounds of `flwr.server.Server`, without its thread pool."""

    def __init__(self, strategy: Any, form: Form, told: Sequence[str]) -> None:
        """Takes the strategy; arguments as of `MessageServer`."""
        self.held, self._form, self._told = strategy, form, told
        self._begun = False

    def play(self, world: World, rounds: int, model: Model) -> None:
        """Plays the rounds of `Server.fit`."""
        if not self._begun and (own := _initial(self.held)):
            self._form = replace(self._form, base=tuple(own))
        link = _Link(world, self._form, model, self._told)
        names, now = list(link.first), link.first
        if not self._begun and self._form.base:
            _move(self.held, self._form.base, list(now.values()))
        self._begun = True
        manager = _WorldManager(link)
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
            parameters = ndarrays_to_parameters(list(now.values()))
            if asked := self.held.configure_evaluate(t, parameters, manager):
                told = [(proxy, proxy.evaluate(ins, None, None)) for proxy, ins in asked]
                self.held.aggregate_evaluate(t, told, [])
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

    def __init__(self, link: _Link) -> None:
        super().__init__()
        self._link = link

    def num_available(self) -> int:
        return len(self.all())

    def all(self) -> dict[str, ClientProxy]:
        there = map(str, sorted(self._link.world.nodes().values()))
        self.clients = {k: _Proxy(k, self._link) for k in there}
        return self.clients

    def wait_for(self, num_clients: int, timeout: int = 86400) -> bool:
        world = self._link.world
        begun = world.seconds
        while self.num_available() < num_clients:
            if world.seconds - begun >= timeout:
                return False
            world.sleep(_POLL_SECONDS)
        return True


class _Proxy(ClientProxy):
    """A client by its id."""

    def __init__(self, cid: str, link: _Link) -> None:
        super().__init__(cid)
        self._link = link

    def _sent(self, ins: FitIns | EvaluateIns) -> Model:
        return dict(zip(self._link.first, parameters_to_ndarrays(ins.parameters)))

    def fitted(self, ins: FitIns) -> list[FitRes]:
        """Replies of the client."""
        found = []
        for reply, arrays in self._link.ask(int(self.cid), self._sent(ins)):
            sent, told = ndarrays_to_parameters([*arrays.values()]), self._link.told(reply.loss)
            if not reply.failed:
                found.append(FitRes(Status(Code.OK, ""), sent, int(reply.examples), told))
        return found

    def evaluate(
        self, ins: EvaluateIns, timeout: float | None, group_id: int | None
    ) -> EvaluateRes:
        loss = self._link.loss(int(self.cid), self._sent(ins))
        return EvaluateRes(Status(Code.OK, ""), loss, 1, self._link.told(loss))


# The other abstract methods are those of a connection, which is not there.
_Proxy.__abstractmethods__ = frozenset()
