"""The fast engine: a whole round as one XLA program, in JAX, on the CPU or a GPU."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from itertools import repeat
from typing import TYPE_CHECKING, Any, NamedTuple

import jax
import numpy as np

from f3ast_tff.core.errors import ComponentError
from f3ast_tff.engines.engine import (
    ClientScores,
    EngineParts,
    ExampleScores,
    Flight,
    RoundOutcome,
    empty_round,
    refuse_foreign_state,
)
from f3ast_tff.engines.jax import one_kernel
from f3ast_tff.engines.jax.devices import is_deterministic
from f3ast_tff.engines.jax.packing import PackedCohort, by_place
from f3ast_tff.engines.jax.programs import FusedScorer, programs_of
from f3ast_tff.engines.jax.round import ByLane
from f3ast_tff.engines.jax.server_step import (
    DeviceOutcome,
    Remembered,
    ServerState,
    evaluated_weights,
)
from f3ast_tff.engines.jax.trainer import ClientsOnDevice, merged
from f3ast_tff.methods.parts.memory import initial_server
from f3ast_tff.methods.parts.strategy import Cohort

# Imported where they are needed: most runs have neither workers, nor a memory, nor late updates.
if TYPE_CHECKING:
    from f3ast_tff.engines.distributed.ray_workers import RayWorkers
    from f3ast_tff.engines.distributed.workers import TrainedPart
    from f3ast_tff.engines.jax.client_tables import ClientTables
    from f3ast_tff.engines.jax.late import LateMemory

# For each place in a cohort its client, or slot if updates may be late; the place of each lane.
_Places = tuple[np.ndarray, np.ndarray]


class FusedEngine:
    """Executes rounds on one device, which holds the data; only indices and weights move.

    A round is `pack`, which lays out the clients' batches (packing.py), and a `FusedRound`
    (round.py), which XLA compiles. It trains by `LocalSgd` (local_sgd.py), with a memory through
    `ClientRound` (client_round.py), and ends with `ServerStep` (server_step.py). Rounds are queued
    on the device while later rounds are packed on the host. Results are read back only at the end
    of a block.

    With late updates (`EngineParts.late`) a round first trains the asked clients, from its model,
    and keeps their updates in slots. Then the updates of its cohort, from any round, are added up
    in the order of their slots, and the server steps (late.py). A memory treats an update as
    if it had been trained in the round it enters.
    """

    block_rounds = 100

    def __init__(
        self,
        parts: EngineParts,
        *,
        device: str = "auto",
        workers: RayWorkers | None = None,
        num_lanes: int | None = None,
        matmul_precision: str = "highest",
    ) -> None:
        """Puts data and model on the device; compiles at first use.

        Args:
            parts: Parts of the engine.
            device: `"auto"`, `"cpu"` or `"gpu"`.
            workers: Workers that train the clients instead of this process; not with a memory of
                clients. Closed with the engine.
            num_lanes: Number of clients that train side by side, by default `default_lanes`. Equal
                in all rounds, for one shape and for equal sums in a resumed run.
            matmul_precision: Precision of matrix products, `"highest"` or `"tensorfloat32"`; always
                highest on a CPU.

        Raises:
            ParameterError: If there is no such device, or an optimizer has no form in JAX.
            ComponentError: If the model returns no logits for the data's classes.
        """
        self._parts = parts
        self._workers = workers
        self._clients = ClientsOnDevice(parts, parts.data.train, device, num_lanes)
        on_cpu = self._clients.platform == "cpu"
        self._matmul_precision = "highest" if on_cpu else matmul_precision
        put, initial = self._clients.put, parts.model.initial_weights(parts.seed)
        _check_logits(parts, initial)
        self._tables, in_memory = self._remember(initial)
        self._late: LateMemory | None = None
        if parts.late:
            from f3ast_tff.engines.jax.late import LateMemory

            num_weights = sum(weight.size for weight in initial)
            self._late = LateMemory(num_weights, self._clients.device)
        fused_round = self._clients.fused_round(self._in_one_kernel())
        weights = put(initial)
        self._state = ServerState(weights, put(fused_round.server.init(weights)), put(in_memory))
        self._programs = programs_of(fused_round, self._matmul_precision)
        at_once, test = parts.model.examples_at_once, parts.data.test
        features, labels = self._clients.features, self._clients.labels
        self._train = FusedScorer(self._programs, features, labels, at_once)
        self._test = FusedScorer(self._programs, put(test.features), put(test.labels), at_once)

    def _in_one_kernel(self) -> bool:
        parts, padded = self._parts, self._clients.form.steps is not None
        if self._clients.platform != "cpu" or padded:
            return False
        return one_kernel.suits(
            parts.model, parts.preprocessing, parts.client_optimizer, parts.work.batch_size
        )

    def _remember(
        self, initial: Sequence[np.ndarray]
    ) -> tuple[ClientTables | None, dict[str, Any]]:
        """Initial memory of the clients and of the server."""
        memory, p = self._parts.aggregation.memory, self._parts.p
        if memory is None or p is None:
            return None, {}
        model = np.concatenate([np.ravel(weight) for weight in initial])
        tables = None
        if memory.by_client:
            from f3ast_tff.engines.jax.client_tables import ClientTables

            tables = ClientTables(memory, len(p), model, self._clients.device)
        return tables, initial_server(memory, model, np)

    def run_rounds(
        self,
        first_round: int,
        cohorts: Sequence[Cohort],
        by_client: bool = False,
        flights: Sequence[Flight] = (),
    ) -> list[RoundOutcome]:
        rounds = range(first_round, first_round + len(cohorts))
        if self._workers is not None:
            workers = self._workers
            return [
                self._split_round(workers, round_number=t, cohort=c, by_client=by_client)
                for t, c in zip(rounds, cohorts)
            ]
        remembers = self._parts.aggregation.memory is not None
        trained, flying = cohorts, repeat(None) if self._late is None else iter(flights)
        if self._late is not None:
            trained = [Cohort(flight.asked, np.zeros(len(flight.asked))) for flight in flights]
        queued: list[_Queued | None] = []
        packings = self._packed(rounds, trained)
        for t, cohort, packed, flight in zip(rounds, cohorts, packings, flying):
            if flight is not None and len(flight.asked):
                self._start(t, flight, packed)
            if len(cohort) == 0 and not remembers:
                queued.append(None)
            elif flight is None:
                queued.append(self._execute(t, cohort, packed, by_client))
            else:
                queued.append(self._enter(t, cohort, flight, by_client))
        return [
            empty_round(by_client) if done is None else _on_host(done)
            for done in self._fetched(queued)
        ]

    def _fetched(self, tree: Any) -> Any:
        # A CPU needs no copy; JAX's transfer takes 5 us per number.
        on_cpu = self._clients.platform == "cpu"
        return jax.tree_util.tree_map(np.asarray, tree) if on_cpu else jax.device_get(tree)

    def _packed(self, rounds: range, cohorts: Sequence[Cohort]) -> Iterator[PackedCohort]:
        """Yields the packed cohorts, each while the device executes the rounds before it."""
        pack = self._clients.pack
        if jax.__version_info__ >= (0, 4, 32):
            yield from map(pack, rounds, cohorts)
            return
        # In older JAX a call on a CPU returns after the round is done; a thread packs meanwhile.
        with ThreadPoolExecutor(1) as packer:
            yield from packer.map(pack, rounds, cohorts)

    def _execute(
        self, round_number: int, cohort: Cohort, packed: PackedCohort, by_client: bool
    ) -> _Queued:
        remembered = self._remembered(round_number, packed.client)
        inputs = self._clients.inputs(round_number, packed, remembered)
        num_clients = np.float32(len(cohort))
        places = (cohort.ids, packed.member)
        return self._run(
            self._programs.round, packed.client, places if by_client else None, inputs, num_clients
        )

    def _run(
        self, program: Any, client: np.ndarray, places: _Places | None, *inputs: Any
    ) -> _Queued:
        """Queues a round, with the tables of a memory, if any; `places` for results by client."""
        tables, row = ({}, None) if self._tables is None else self._tables.lent(client)
        self._state, outcome, by_lane, tables = program(
            self._state, *inputs, tables=tables, row=row, by_client=places is not None
        )
        if self._tables is not None:
            self._tables.take_back(client, tables)
        return _Queued(outcome, by_lane, places)

    def _start(self, round_number: int, flight: Flight, packed: PackedCohort) -> None:
        """Trains the asked clients and keeps their updates in slots."""
        from f3ast_tff.engines.jax.late import slots_by_lane

        late = self._late
        assert late is not None
        late.reserve(flight)
        inputs = self._clients.inputs(round_number, packed)
        slots = slots_by_lane(packed, flight.slots)
        late.kept = self._programs.late.start(self._state, inputs, slots, kept=late.kept)

    def _enter(self, round_number: int, cohort: Cohort, flight: Flight, by_client: bool) -> _Queued:
        """Adds up late updates and makes the server's step."""
        from f3ast_tff.engines.jax.late import pack_arrived

        late, parts = self._late, self._parts
        assert late is not None
        arrived, member, client = pack_arrived(
            cohort,
            flight,
            work=parts.work,
            sizes=parts.data.train.sizes,
            optimizer=parts.client_optimizer,
            round_number=round_number,
        )
        arrived = arrived._replace(remembered=self._remembered(round_number, client))
        places = (flight.entering, member)
        return self._run(
            self._programs.late.enter, client, places if by_client else None, arrived, late.kept
        )

    def _remembered(self, round_number: int, client: np.ndarray | None) -> Remembered | None:
        p = self._parts.p
        if self._parts.aggregation.memory is None or p is None:
            return None
        share: Any = ()
        if client is not None and self._tables is not None:
            share = p[np.maximum(client, 0)].astype(np.float32)
        return Remembered(
            kept={},
            share=share,
            round_number=np.int32(round_number),
            num_clients=np.int32(np.count_nonzero(p > 0)),
        )

    def _split_round(
        self, workers: RayWorkers, round_number: int, cohort: Cohort, by_client: bool
    ) -> RoundOutcome:
        remembered = self._remembered(round_number, None)
        if len(cohort) == 0 and remembered is None:
            return empty_round(by_client)
        broadcast = self.weights()
        parts = workers.train(broadcast, round_number, cohort, by_client) if len(cohort) else []
        totals = self._clients.put(merged([part.sums for part in parts], broadcast))
        self._state, outcome, _ = self._programs.finish(
            self._state,
            totals,
            num_clients=np.float32(len(cohort)),
            learning_rate=np.float32(self._parts.client_optimizer.rate(round_number)),
            remembered=remembered,
        )
        done = _on_host(_Queued(jax.device_get(outcome)))
        return _with_clients(done, cohort, parts) if by_client else done

    def evaluate(self) -> ClientScores:
        test = self._parts.data.test
        scores = self._test.rows(self._scored(), np.arange(len(test.labels)))
        return ClientScores.of_examples(scores, test.sizes)

    def client_losses(self, ids: np.ndarray, round_number: int = 1) -> np.ndarray:
        from f3ast_tff.engines.client_loss import client_losses

        def score(rows: np.ndarray) -> ExampleScores:
            return self._train.rows(self._state.weights, rows)

        return client_losses(self, self._parts, ids, round_number, score)

    def statistics(self) -> dict[str, Any]:
        """The device and its arithmetic."""
        return {
            "engine": "fused",
            "device": self._clients.device.device_kind,
            "matmul_precision": self._matmul_precision,
            "deterministic": is_deterministic(self._clients.device, os.environ),
            "lanes": self._clients.form.lanes,
            **(self._workers.statistics() if self._workers is not None else {}),
        }

    def weights(self) -> list[np.ndarray]:
        return [np.asarray(weight) for weight in self._state.weights]

    def scored_weights(self) -> list[np.ndarray]:
        return [np.asarray(weight) for weight in self._scored()]

    def _scored(self) -> Any:
        return evaluated_weights(self._parts.aggregation.memory, self._state)

    def state(self) -> dict[str, np.ndarray]:
        leaves = jax.tree_util.tree_leaves(self._state._replace(memory={}))
        own = {f"{i:04d}": leaf for i, leaf in enumerate(leaves)}
        state = {k: np.asarray(v) for k, v in {**own, **self._remembered_values()}.items()}
        return state if self._late is None else {**state, **self._late.state()}

    def _remembered_values(self) -> dict[str, Any]:
        server = self._state.memory
        kept = {} if self._tables is None else self._tables.values
        return {
            **{f"server_{name}": value for name, value in server.items()},
            **{f"client_{name}": value for name, value in kept.items()},
        }

    def restore(self, state: dict[str, np.ndarray]) -> None:
        """Takes large arrays out of `state`."""
        if self._late is not None:
            self._late.restore(state)
        of_model = self._state._replace(memory={})
        leaves, structure = jax.tree_util.tree_flatten(of_model)
        own = {f"{i:04d}": leaf for i, leaf in enumerate(leaves)}
        refuse_foreign_state(state, {**own, **self._remembered_values()})
        memory = {name: state[f"server_{name}"] for name in self._state.memory}
        restored = jax.tree_util.tree_unflatten(structure, [state[name] for name in own])
        self._state = self._clients.put(restored._replace(memory=memory))
        if self._tables is not None:
            self._tables.restore({n: state.pop(f"client_{n}") for n in self._tables.values})

    def close(self) -> None:
        """Ends the workers."""
        if self._workers is not None:
            self._workers.close()


class _Queued(NamedTuple):
    """A round queued on the device; `by_lane` and `places` are for results by client, if any."""

    outcome: DeviceOutcome
    by_lane: ByLane | None = None
    places: _Places | None = None


def _on_host(done: _Queued) -> RoundOutcome:
    outcome, by_lane, places = done
    found = RoundOutcome(
        train_loss=float(outcome.train_loss),
        update_norm=float(outcome.update_norm),
        num_dropped=int(outcome.num_dropped),
        rejected=bool(outcome.rejected),
    )
    if by_lane is None or places is None:
        return found
    losses, delivered = by_place(*places, *by_lane)
    return replace(found, client_losses=losses, delivered=delivered)


def _with_clients(
    outcome: RoundOutcome, cohort: Cohort, parts: Sequence[TrainedPart]
) -> RoundOutcome:
    """The outcome with the workers' losses and arrivals per client."""
    from f3ast_tff.engines.distributed.workers import in_order_of

    trained = [(part.ids, part.client_losses, part.delivered) for part in parts]
    ids, losses, delivered = (np.concatenate(column) for column in zip(*trained))
    losses, delivered = in_order_of(cohort.ids, ids, losses, delivered)
    return replace(outcome, client_losses=losses, delivered=delivered)


def _check_logits(parts: EngineParts, initial: Sequence[np.ndarray]) -> None:
    """Refuses a model that has no logit for a class, or not one vector for each label."""
    some, apply = parts.data.train, parts.model.apply
    features, labels = some.features[:2], some.labels[:2]
    found = jax.eval_shape(
        lambda weights, x: apply(weights, parts.preprocessing.in_jax(x, None)), initial, features
    )
    shape, classes = getattr(found, "shape", None), parts.data.num_classes
    if shape is None or shape[:-1] != labels.shape or shape[-1] < classes:
        said = type(found).__name__ if shape is None else f"shape {[*shape]}"
        wanted = f"must be logits of shape {[*labels.shape, classes]}, at least one per class"
        raise ComponentError(
            f"model {type(parts.model).__name__}: apply returned {said} for {len(labels)} "
            f"examples: {wanted}"
        )
