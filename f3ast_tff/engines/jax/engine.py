"""The fast engine: a whole round as one XLA program, in JAX, on the CPU or a GPU."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import jax
import numpy as np

from f3ast_tff.engines.client_loss import mean_losses, scored_rows, training_loss
from f3ast_tff.engines.distributed.workers import TrainedPart, Workers, in_order_of
from f3ast_tff.engines.engine import (
    ClientScores,
    EngineParts,
    Flight,
    RoundOutcome,
    empty_round,
    refuse_foreign_state,
)
from f3ast_tff.engines.jax import one_kernel
from f3ast_tff.engines.jax.client_tables import ClientTables
from f3ast_tff.engines.jax.devices import find_device, is_deterministic
from f3ast_tff.engines.jax.optimizers import JaxOptimizer
from f3ast_tff.engines.jax.packing import PackedCohort, Waves, default_lanes, pack
from f3ast_tff.engines.jax.programs import FusedScorer, programs_of
from f3ast_tff.engines.jax.round import ByLane, FusedRound, Remembered, RoundInputs
from f3ast_tff.engines.jax.server_step import DeviceOutcome, ServerState, evaluated_weights
from f3ast_tff.engines.jax.trainer import merged
from f3ast_tff.methods.parts.memory import initial_server
from f3ast_tff.methods.parts.strategy import Cohort


class FusedEngine:
    """Executes rounds on one device, which holds the data; only indices and weights move.

    A round is `pack`, which lays out the clients' batches (packing.py), and a `FusedRound`
    (round.py), which XLA compiles. It trains by `LocalSgd` (local_sgd.py), with a memory through
    `ClientRound` (client_round.py), and ends with `ServerStep` (server_step.py). Rounds are queued
    on the device while later rounds are packed on the host. Results are read back only at the end
    of a block.
    """

    block_rounds = 100

    def __init__(
        self,
        parts: EngineParts,
        *,
        device: str = "auto",
        workers: Workers | None = None,
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
        """
        self._device = find_device(device)
        self._parts = parts
        self._workers = workers
        on_cpu = self._device.platform == "cpu"
        self._matmul_precision = "highest" if on_cpu else matmul_precision
        data = parts.data
        self._features = self._put(data.train.features)
        self._labels = self._put(data.train.labels)
        server = JaxOptimizer(parts.server_optimizer)
        initial = parts.model.initial_weights(parts.seed)
        self._tables, in_memory = self._remember(initial)
        self._form = self._wave_form(num_lanes)
        weights = self._put(initial)
        self._state = ServerState(weights, self._put(server.init(weights)), self._put(in_memory))
        fused_round = FusedRound(
            model=parts.model,
            preprocessing=parts.preprocessing,
            client=JaxOptimizer(parts.client_optimizer),
            server=server,
            aggregation=parts.aggregation,
            form=self._form,
            in_one_kernel=self._in_one_kernel(),
        )
        self._programs = programs_of(fused_round, self._matmul_precision)
        at_once = parts.model.examples_at_once
        self._train = FusedScorer(self._programs, self._features, self._labels, at_once)
        test_features, test_labels = self._put(data.test.features), self._put(data.test.labels)
        self._test = FusedScorer(self._programs, test_features, test_labels, at_once)

    def _wave_form(self, num_lanes: int | None) -> Waves:
        parts, platform = self._parts, self._device.platform
        lanes = num_lanes or default_lanes(platform, parts.model, parts.cohort_size)
        num_steps = parts.work.num_batches(parts.data.train.sizes)
        every_client = self._tables is not None or parts.late
        return Waves.of(platform, lanes, parts.cohort_size, num_steps, every_client)

    def _in_one_kernel(self) -> bool:
        parts = self._parts
        padded = self._form.steps is not None
        if self._device.platform != "cpu" or padded:
            return False
        return one_kernel.suits(
            parts.model, parts.preprocessing, parts.client_optimizer, parts.work.batch_size
        )

    def _put(self, tree: Any) -> Any:
        return jax.device_put(tree, self._device)

    def _remember(
        self, initial: Sequence[np.ndarray]
    ) -> tuple[ClientTables | None, dict[str, Any]]:
        """Initial memory of the clients and of the server."""
        memory, p = self._parts.aggregation.memory, self._parts.p
        if memory is None or p is None:
            return None, {}
        model = np.concatenate([np.ravel(weight) for weight in initial])
        tables = ClientTables(memory, len(p), model, self._device) if memory.by_client else None
        return tables, initial_server(memory, model, np)

    def run_rounds(
        self,
        first_round: int,
        cohorts: Sequence[Cohort],
        by_client: bool = False,
        flights: Sequence[Flight] = (),
    ) -> list[RoundOutcome]:
        """See `Engine.run_rounds`."""
        rounds = range(first_round, first_round + len(cohorts))
        if self._workers is not None:
            workers = self._workers
            return [
                self._split_round(workers, round_number=t, cohort=c, by_client=by_client)
                for t, c in zip(rounds, cohorts)
            ]
        remembers = self._parts.aggregation.memory is not None
        queued: list[Any] = []
        places: list[PackedCohort | None] = []
        for t, cohort, packed in zip(rounds, cohorts, self._packed(rounds, cohorts)):
            if len(cohort) == 0 and not remembers:
                queued.append(None)
            else:
                queued.append(self._execute(t, cohort, packed, by_client))
            # Without `by_client` the packed clients are freed before the rest of the block.
            places.append(packed if by_client else None)
        return [
            empty_round(by_client)
            if done is None
            else on_host(done[0], by_lane=done[1], cohort=cohort, packed=packed)
            for done, cohort, packed in zip(self._fetched(queued), cohorts, places)
        ]

    def _fetched(self, tree: Any) -> Any:
        # A CPU needs no copy; JAX's transfer takes 5 us per number.
        on_cpu = self._device.platform == "cpu"
        return jax.tree_util.tree_map(np.asarray, tree) if on_cpu else jax.device_get(tree)

    def _packed(self, rounds: range, cohorts: Sequence[Cohort]) -> Iterator[PackedCohort]:
        """Yields the packed cohorts, each while the device executes the rounds before it."""
        if jax.__version_info__ >= (0, 4, 32):
            yield from map(self._pack, rounds, cohorts)
            return
        # In older JAX a call on a CPU returns after the round is done; a thread packs meanwhile.
        with ThreadPoolExecutor(1) as packer:
            yield from packer.map(self._pack, rounds, cohorts)

    def _pack(self, round_number: int, cohort: Cohort) -> PackedCohort:
        parts = self._parts
        return pack(
            cohort,
            parts.work,
            parts.preprocessing,
            round_number=round_number,
            offsets=parts.data.train.offsets,
            form=self._form,
        )

    def _execute(
        self, round_number: int, cohort: Cohort, packed: PackedCohort, by_client: bool
    ) -> tuple[DeviceOutcome, ByLane]:
        remembered, tables = self._remembered(round_number, packed.client), self._tables
        inputs = RoundInputs(
            features=self._features,
            labels=self._labels,
            work=packed.work,
            learning_rate=self._rate(round_number),
            remembered=remembered,
        )
        num_clients = np.float32(len(cohort))
        if tables is None or remembered is None:
            self._state, outcome, by_lane, _ = self._programs.round(
                self._state, inputs, num_clients, by_client=by_client
            )
        elif tables.on_device:
            done = self._programs.round_with_tables(
                self._state,
                inputs,
                num_clients,
                tables=tables.values,
                client=packed.client,
                by_client=by_client,
            )
            self._state, outcome, by_lane, tables.values = done
        else:
            kept = tables.rows(packed.client)
            inputs = inputs._replace(remembered=remembered._replace(kept=kept))
            self._state, outcome, by_lane, clients = self._programs.round(
                self._state, inputs, num_clients, by_client=by_client
            )
            tables.set_rows(packed.client, jax.device_get(clients))
        return outcome, by_lane

    def _rate(self, round_number: int) -> np.float32:
        return np.float32(self._parts.client_optimizer.rate(round_number))

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
        self, workers: Workers, round_number: int, cohort: Cohort, by_client: bool
    ) -> RoundOutcome:
        remembered = self._remembered(round_number, None)
        if len(cohort) == 0 and remembered is None:
            return empty_round(by_client)
        broadcast = self.weights()
        parts = workers.train(broadcast, round_number, cohort, by_client) if len(cohort) else []
        totals = self._put(merged([part.sums for part in parts], broadcast))
        self._state, outcome, _ = self._programs.finish(
            self._state,
            totals,
            num_clients=np.float32(len(cohort)),
            learning_rate=self._rate(round_number),
            remembered=remembered,
        )
        done = on_host(jax.device_get(outcome))
        return _with_clients(done, cohort, parts) if by_client else done

    def evaluate(self) -> ClientScores:
        """See `Engine.evaluate`."""
        test = self._parts.data.test
        weights = evaluated_weights(self._parts.aggregation.memory, self._state)
        scores = self._test.rows(weights, np.arange(len(test.labels)))
        return ClientScores.of_examples(scores, test.sizes)

    def client_losses(self, ids: np.ndarray, round_number: int = 1) -> np.ndarray:
        """See `Engine.client_losses`."""
        parts = self._parts
        if parts.client_loss == "training_loss":
            return training_loss(self, parts, ids, round_number)
        offsets = parts.data.train.offsets
        rows = scored_rows(ids, offsets, parts.work, parts.client_loss, round_number)
        scores = self._train.rows(self._state.weights, np.concatenate(rows))
        sizes = np.array([len(of_client) for of_client in rows])
        return mean_losses(scores, sizes, parts.client_loss)

    def statistics(self) -> dict[str, Any]:
        """See `Engine.statistics`: the device and its arithmetic."""
        return {
            "engine": "fused",
            "device": self._device.device_kind,
            "matmul_precision": self._matmul_precision,
            "deterministic": is_deterministic(self._device, os.environ),
            "lanes": self._form.lanes,
            **(self._workers.statistics() if self._workers is not None else {}),
        }

    def weights(self) -> list[np.ndarray]:
        """See `Engine.weights`."""
        return [np.asarray(weight) for weight in self._state.weights]

    def state(self) -> dict[str, np.ndarray]:
        """See `Engine.state`."""
        of_model = self._state._replace(memory={})
        leaves = jax.tree_util.tree_leaves(of_model)
        state = {f"{i:04d}": np.asarray(leaf) for i, leaf in enumerate(leaves)}
        return {**state, **{k: np.asarray(v) for k, v in self._remembered_values().items()}}

    def _remembered_values(self) -> dict[str, Any]:
        server = self._state.memory
        kept = {} if self._tables is None else self._tables.values
        return {
            **{f"server_{name}": value for name, value in server.items()},
            **{f"client_{name}": value for name, value in kept.items()},
        }

    def restore(self, state: dict[str, np.ndarray]) -> None:
        """See `Engine.restore`; takes large arrays out of `state`."""
        of_model = self._state._replace(memory={})
        leaves, structure = jax.tree_util.tree_flatten(of_model)
        own = {f"{i:04d}": leaf for i, leaf in enumerate(leaves)}
        refuse_foreign_state(state, {**own, **self._remembered_values()})
        memory = {name: state[f"server_{name}"] for name in self._state.memory}
        restored = jax.tree_util.tree_unflatten(structure, [state[name] for name in own])
        self._state = self._put(restored._replace(memory=memory))
        if self._tables is not None:
            self._tables.restore({n: state.pop(f"client_{n}") for n in self._tables.values})

    def close(self) -> None:
        """Ends the workers."""
        if self._workers is not None:
            self._workers.close()


def on_host(
    outcome: DeviceOutcome,
    by_lane: ByLane | None = None,
    cohort: Cohort | None = None,
    packed: PackedCohort | None = None,
) -> RoundOutcome:
    """Returns an outcome of the device, with losses and arrivals per client if given."""
    done = RoundOutcome(
        train_loss=float(outcome.train_loss),
        update_norm=float(outcome.update_norm),
        num_dropped=int(outcome.num_dropped),
        rejected=bool(outcome.rejected),
    )
    if by_lane is None or cohort is None or packed is None or isinstance(by_lane.loss, tuple):
        return done
    losses, delivered = packed.by_place(cohort.ids, by_lane.loss, by_lane.finite)
    return replace(done, client_losses=losses, delivered=delivered)


def _with_clients(
    outcome: RoundOutcome, cohort: Cohort, parts: Sequence[TrainedPart]
) -> RoundOutcome:
    """The outcome with the workers' losses and arrivals per client."""
    trained = [(part.ids, part.client_losses, part.delivered) for part in parts]
    ids, losses, delivered = (np.concatenate(column) for column in zip(*trained))
    losses, delivered = in_order_of(cohort.ids, ids, losses, delivered)
    return replace(outcome, client_losses=losses, delivered=delivered)
