"""A selection method as Flower's strategy: it selects clients and sums weighted updates."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from flwr.app import ArrayRecord, ConfigRecord, Message, MessageType, MetricRecord, RecordDict
from flwr.serverapp import Grid
from flwr.serverapp.strategy import Result
from flwr.serverapp.strategy import Strategy as FlowerStrategy

from f3ast_tff.availability.round_clients import Availability, available_clients
from f3ast_tff.core.errors import CheckpointError, EngineError, ParameterError, whole_number
from f3ast_tff.flower.arrays import Model, model_of, record_of
from f3ast_tff.flower.link import Link
from f3ast_tff.flower.nodes import Nodes
from f3ast_tff.flower.replies import by_client, losses_of, mean_metrics, models_of
from f3ast_tff.flower.saved import SavedRound, load_round, only_server, save_round, storable
from f3ast_tff.flower.step import StepError, moved
from f3ast_tff.methods.parts.own_server import constraint_from, process_from
from f3ast_tff.methods.parts.strategy import Cohort, Outcome, Round, Strategy, facts_of
from f3ast_tff.models.leaf_patterns import buffers_among
from f3ast_tff.run.selecting import Constraint, constraint_of, select_clients, weigh_updates
from f3ast_tff.settings import REQUIRED, parameter, parameters_of
from f3ast_tff.settings.kinds import KINDS

_LOG = logging.getLogger("flwr")
_AGGREGATIONS = ("sum", "mean")
_LOSS = "loss"


@dataclass(frozen=True)
class _Open:
    """A round that waits for replies.

    Attributes:
        now: The round.
        ids: Selected clients, `int64 [m]`.
        model: The model sent to the clients.
        nodes: Node of each connected client.
    """

    now: Round
    ids: np.ndarray
    model: Model
    nodes: Mapping[int, int]


@dataclass(frozen=True)
class _Arguments:
    """Bounds of the arguments of `AvailabilityStrategy`."""

    num_clients: int = parameter(REQUIRED, "clients N", minimum=1)
    state_file: str | None = parameter(None, "file of the server's state", is_path=True)
    server_lr: float = parameter(1.0, "step along the aggregate", above=0)
    evaluate_every: int = parameter(1, "rounds between evaluations", minimum=0)
    answer_seconds: float = parameter(30.0, "longest wait for an answer", minimum=0)
    wait_seconds: float | None = parameter(None, "longest wait for a client", minimum=0)


class AvailabilityStrategy(FlowerStrategy):
    """Flower's strategy around a selection method of this package or of the user.

    In each round the method selects among the available clients and weighs the updates that
    arrive: x <- x + server_lr sum_k w_k (x_k - x), in the order of the selection. For a method
    whose `aggregation` is `"mean"` the sum is divided by sum_k w_k. Flower's aggregation averages
    models with weights that sum to 1, which would undo the weights p_k / r_k of F3AST.

    A client's update is lost if its reply is missing, an error, or not a finite model of the sent
    shapes. A round without updates does not change the model. While no client is connected, no
    round begins: an outage of the link is not the clients' absence. Clients read the round, from 1,
    as `server-round` of the config; the count continues after a restart.

    Buffers, as a batch norm's running variance, are no parameters: the server takes the mean of
    those that arrive, by weights scaled to sum 1, whatever `server_lr`.

    A `ClientApp` registers `tell_partition_id`. For a method that asks for losses it also has
    `@app.evaluate("loss")`, which replies with the metric `loss` on the training examples.

    Example:
        strategy = AvailabilityStrategy(F3AST.start(p, 3), num_clients=10, clients_per_round=3)
        strategy.start(grid, initial_arrays=ArrayRecord([kernel, bias]), num_rounds=100)
    """

    def __init__(
        self,
        strategy: Strategy,
        num_clients: int,
        clients_per_round: int | Constraint,
        *,
        availability: Availability | None = None,
        state_file: str | os.PathLike[str] | None = None,
        server_lr: float = 1.0,
        evaluate_every: int = 1,
        answer_seconds: float = 30.0,
        wait_seconds: float | None = None,
        buffers: Sequence[str | int] | None = None,
    ) -> None:
        """Prepares a federation.

        Args:
            strategy: Selection method, such as `F3AST.start(p, k)`.
            num_clients: Number of clients N; client k is the node of `partition-id` k.
            clients_per_round: K, or a constraint such as `CycleK("5,10").build(100)`.
            availability: Process that switches connected clients off, such as
                `HomeDevicesConfig().build(p, seed)`; `None` to use all connected clients.
            state_file: File (`.npz`) written after each round. If it exists, `start` resumes after
                its round. `None` for no file.
            server_lr: Step along the aggregate, above 0.
            evaluate_every: Rounds between evaluations on the available clients; 0 for none.
            answer_seconds: Longest wait of a round for the client ids of new nodes.
            wait_seconds: Longest wait while no client is connected, after which `start` ends with
                an error; `None` for the `timeout` of `start`.
            buffers: Arrays that are buffers: names, or numbers from 0. `None` for those named as
                PyTorch, Keras and Flax name theirs, such as `bn1.running_var`.

        Raises:
            ParameterError: If a value is not allowed, or the method needs another aggregation.
            ComponentError: If the strategy lacks a method.
        """
        KINDS["algorithm"].check_object(strategy)
        facts = facts_of(strategy)
        self._aggregation = facts.aggregation
        if self._aggregation not in _AGGREGATIONS:
            allowed = f"weighs for the aggregation {self._aggregation}: must be sum or mean"
            raise ParameterError("strategy", type(strategy).__name__, allowed)
        if (needed := getattr(strategy, "server_optimizer", "sgd")) != "sgd":
            allowed = f"needs the server optimizer {needed} of a run: here the step is plain"
            raise ParameterError("strategy", type(strategy).__name__, allowed)
        given = {"num_clients": num_clients, "server_lr": server_lr, "state_file": state_file}
        given |= {"evaluate_every": evaluate_every, "answer_seconds": answer_seconds}
        given |= {"wait_seconds": wait_seconds}
        checked = {p.name: p.checked(given[p.name]) for p in parameters_of(_Arguments)}
        if facts.num_clients not in (None, num_clients):
            allowed = f"must be {facts.num_clients}, the clients of the strategy"
            raise ParameterError("num_clients", num_clients, allowed)
        self._strategy = strategy
        self._num_clients = checked["num_clients"]
        self._constraint = constraint_from("clients_per_round", clients_per_round)
        self._availability = None if availability is None else process_from(availability)
        # Absolute: a client or a scoring function in this process may change the folder.
        file = checked["state_file"]
        self._state_file = Path(os.path.abspath(file)) if file else None
        self._server_lr = checked["server_lr"]
        self._evaluate_every = checked["evaluate_every"]
        self._wait_seconds = checked["wait_seconds"]
        self._declared, self._buffers = buffers, frozenset[str]()
        self._nodes = Nodes(self._num_clients, checked["answer_seconds"])
        self._rounds_before = 0
        self._seconds: float | None = None
        self._open: _Open | None = None

    def start(
        self,
        grid: Grid,
        initial_arrays: ArrayRecord,
        num_rounds: int = 3,
        timeout: float = 3600,
        train_config: ConfigRecord | None = None,
        evaluate_config: ConfigRecord | None = None,
        evaluate_fn: Callable[[int, ArrayRecord], MetricRecord | None] | None = None,
    ) -> Result:
        """Runs the rounds up to `num_rounds`, counted from before any restart.

        Args:
            grid: Flower's link to the nodes.
            initial_arrays: Model of round 0, real numbers; after a restart only its names, shapes
                and types count.
            num_rounds: T, number of rounds.
            timeout: Longest time of a round and of asking for losses, seconds; later replies are
                lost.
            train_config: Config sent to the clients that train.
            evaluate_config: Config sent to the clients that evaluate.
            evaluate_fn: Function that scores the model of a round on the server.

        Returns:
            The last model, and the metrics of this start by round.

        Raises:
            CheckpointError: If the state file is damaged, of another model or method, or in use by
                another server.
            ComponentError: If the strategy breaks its protocol, see `run.selecting`.
            EngineError: If no client is connected for `wait_seconds`.
            ParameterError: If an initial array is not of finite real numbers, or `buffers` names no
                array.
        """
        model = model_of(initial_arrays)
        names = list(model)
        places = buffers_among(names, len(names), self._declared, setting="buffers")
        self._buffers = frozenset(names[place] for place in places)
        with only_server(self._state_file):
            return self._start(
                grid,
                self._resume(model),
                num_rounds,
                timeout=timeout,
                train_config=train_config,
                evaluate_config=evaluate_config,
                evaluate_fn=evaluate_fn,
            )

    def _start(
        self,
        grid: Grid,
        model: Model,
        num_rounds: int,
        *,
        timeout: float,
        train_config: ConfigRecord | None,
        evaluate_config: ConfigRecord | None,
        evaluate_fn: Callable[[int, ArrayRecord], MetricRecord | None] | None,
    ) -> Result:
        arrays, before, self._seconds = record_of(model), self._rounds_before, timeout
        rounds = max(whole_number("num_rounds", num_rounds, least=0) - before, 0)
        if before and not rounds:
            _LOG.warning("no round is left: %s holds round %d", self._state_file, before)
        link: Any = Link(grid)

        def scored(server_round: int, model: ArrayRecord) -> MetricRecord | None:
            return None if evaluate_fn is None else evaluate_fn(before + server_round, model)

        result = super().start(
            link,
            arrays,
            num_rounds=rounds,
            timeout=timeout,
            train_config=train_config,
            evaluate_config=evaluate_config,
            evaluate_fn=None if evaluate_fn is None else scored,
        )
        last = result.arrays or arrays
        if rounds and all(each.data == arrays[name].data for name, each in last.items()):
            _LOG.warning("the model has not moved in %d rounds", rounds)
        return Result(
            arrays=last,
            train_metrics_clientapp=_later(result.train_metrics_clientapp, before),
            evaluate_metrics_clientapp=_later(result.evaluate_metrics_clientapp, before),
            evaluate_metrics_serverapp=_later(result.evaluate_metrics_serverapp, before),
        )

    def _resume(self, initial: Model) -> Model:
        """Restores the saved round, if any; returns the model to continue with."""
        saved = None if self._state_file is None else load_round(self._state_file)
        if saved is None:
            return initial
        forms, wanted = _forms(saved.model), _forms({n: storable(a) for n, a in initial.items()})
        if forms != wanted:
            raise CheckpointError(f"{self._state_file} holds another model: {forms}")
        try:
            self._strategy.restore(saved.strategy)
        except ValueError as error:
            raise CheckpointError(f"{self._state_file} is of another method: {error}") from error
        self._rounds_before = saved.number
        _LOG.info("going on after round %d of %s", saved.number, self._state_file)
        return {name: each.astype(initial[name].dtype) for name, each in saved.model.items()}

    def configure_train(
        self, server_round: int, arrays: ArrayRecord, config: ConfigRecord, grid: Grid
    ) -> Iterable[Message]:
        """Selects the clients of a round; see `flwr.serverapp.strategy.Strategy`."""
        t = self._rounds_before + server_round
        nodes = self._connected(grid, t)
        available = np.zeros(self._num_clients, bool)
        available[list(nodes)] = True
        if self._availability is not None:
            available &= available_clients(self._availability, self._num_clients, t)
        config["server-round"] = t
        content = RecordDict({"arrays": arrays, "config": config})

        def losses(ids: np.ndarray) -> np.ndarray:
            return self._losses(grid, ids, nodes, arrays, t)

        now = Round(t, available, constraint_of(self._constraint, t), losses)
        ids = select_clients(self._strategy, now)
        self._open = _Open(now, ids, model_of(arrays), nodes)
        count = np.count_nonzero(available)
        _LOG.info("round %d: %d clients available, asked: %s", t, count, ids.tolist())
        return self._messages(content, ids, nodes, MessageType.TRAIN)

    def aggregate_train(
        self, server_round: int, replies: Iterable[Message]
    ) -> tuple[ArrayRecord | None, MetricRecord | None]:
        """Weighs the updates that arrived and moves the model; see Flower's `Strategy`."""
        asked = self._open
        assert asked is not None, "aggregate_train comes after configure_train"
        contents = by_client(replies, asked.nodes)
        updates = models_of(contents, asked.model)
        delivered = np.array([k in updates for k in asked.ids.tolist()], bool)
        if not delivered.all():
            _LOG.warning("no update of clients %s", asked.ids[~delivered].tolist())
        cohort = weigh_updates(self._strategy, asked.now, asked.ids, delivered)
        t = asked.now.number
        if self._strategy.needs_outcome:
            losses = losses_of(contents, asked.ids, _LOSS, self._strategy.needs_losses)
            losses[~delivered] = np.nan
            self._strategy.observe(t, Outcome(asked.ids, delivered, losses))
        model = self._step(asked.model, cohort, updates)
        if self._state_file is not None:
            saved = SavedRound(t, asked.model if model is None else model, self._strategy.state())
            save_round(self._state_file, saved)
        return None if model is None else record_of(model), mean_metrics(
            contents[k] for k in updates
        )

    def _step(self, model: Model, cohort: Cohort, updates: Mapping[int, Model]) -> Model | None:
        """Returns the model moved along the aggregate; `None` without one that is finite."""
        mean = self._aggregation == "mean"
        if not len(cohort) or mean and cohort.weights.sum() == 0:
            return None
        ids = cohort.ids.tolist()

        def along(places: Sequence[int]) -> Model:
            return moved(
                model,
                [updates[ids[n]] for n in places],
                cohort.weights[list(places)],
                mean=mean,
                rate=self._server_lr,
                buffers=self._buffers,
            )

        def fails(place: int) -> bool:
            try:
                along([place])
            except StepError:
                return True
            return False

        places = range(len(ids))
        try:
            return along(places)
        except StepError as error:
            # Numbers in range, times a weight, may leave it: the fault of their client alone.
            far = [n for n in places if (not mean or cohort.weights[n] > 0) and fails(n)]
            rest = [n for n in places if n not in far]
            if not far or not rest or mean and cohort.weights[rest].sum() == 0:
                _LOG.warning("the step of this round is not taken: %s", error)
                return None
        names = [ids[n] for n in far]
        _LOG.warning("the step leaves out clients %s, whose weighted update is not finite", names)
        try:
            return along(rest)
        except StepError as error:
            _LOG.warning("the step of this round is not taken: %s", error)
            return None

    def configure_evaluate(
        self, server_round: int, arrays: ArrayRecord, config: ConfigRecord, grid: Grid
    ) -> Iterable[Message]:
        """Asks all clients available in the round; see Flower's `Strategy`."""
        t, asked = self._rounds_before + server_round, self._open
        if asked is None or not self._evaluate_every or t % self._evaluate_every:
            return []
        config["server-round"] = t
        ids = np.array([k for k in asked.nodes if asked.now.available[k]], np.int64)
        content = RecordDict({"arrays": arrays, "config": config})
        return self._messages(content, ids, asked.nodes, MessageType.EVALUATE)

    def aggregate_evaluate(
        self, server_round: int, replies: Iterable[Message]
    ) -> MetricRecord | None:
        """Returns the clients' metrics, averaged by `num-examples`; see Flower's `Strategy`."""
        asked = self._open
        return None if asked is None else mean_metrics(by_client(replies, asked.nodes).values())

    def summary(self) -> None:
        """Logs the settings; see Flower's `Strategy`."""
        process = self._availability
        for name, value in (
            ("method", f"{type(self._strategy).__name__}, {self._aggregation} of the updates"),
            ("clients", f"{self._num_clients}, {self._constraint}"),
            ("available", "connected" if process is None else type(process).__name__),
            ("state file", self._state_file or "none"),
        ):
            _LOG.info("\t├──> %s: %s", name, value)

    def _connected(self, grid: Grid, t: int) -> dict[int, int]:
        """Returns the node of each connected client, once there is one; see `Nodes`."""
        wait = self._wait_seconds
        limit = (self._seconds or 0.0) if wait is None else wait
        nodes = self._nodes.connected(grid, first_seconds=limit)
        if not nodes:
            raise EngineError(f"round {t}: no client was connected for {limit:g} s")
        return nodes

    def _losses(
        self, grid: Grid, ids: np.ndarray, nodes: Mapping[int, int], arrays: ArrayRecord, t: int
    ) -> np.ndarray:
        """Asks clients for their loss, `float64 [m]`; NaN for a client that does not answer."""
        which = facts_of(self._strategy).client_loss
        config = ConfigRecord({"server-round": t, "client-loss": which})
        content = RecordDict({"arrays": arrays, "config": config})
        asked = self._messages(content, ids, nodes, f"{MessageType.EVALUATE}.{_LOSS}")
        told = by_client(grid.send_and_receive(asked, timeout=self._seconds), nodes)
        return losses_of(told, ids, _LOSS)

    def _messages(
        self, content: RecordDict, ids: np.ndarray, nodes: Mapping[int, int], kind: str
    ) -> list[Message]:
        """Returns a message per client, which expires with the round."""
        clients = dict.fromkeys(ids.tolist())
        return [Message(content, nodes[k], kind, ttl=self._seconds) for k in clients if k in nodes]


def _later(metrics: Mapping[int, MetricRecord], rounds: int) -> dict[int, MetricRecord]:
    return {rounds + t: record for t, record in metrics.items()}


def _forms(model: Model) -> dict[str, tuple[str, tuple[int, ...]]]:
    return {name: (str(each.dtype), each.shape) for name, each in model.items()}
