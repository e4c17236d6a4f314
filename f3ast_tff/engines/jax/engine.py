"""The fast engine: a whole round as one XLA program, in JAX, on the CPU or a GPU."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import jax
import numpy as np

from f3ast_tff.core.errors import ComponentError
from f3ast_tff.core.federated_data import ClientExamples
from f3ast_tff.engines.engine import (
    ClientScores,
    EngineParts,
    ExampleScores,
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
    MemoryInputs,
    ServerState,
    evaluated_weights,
)
from f3ast_tff.engines.jax.trainer import ClientsOnDevice, sums_of
from f3ast_tff.methods.parts.strategy import Cohort

# Imported where it is needed: most runs have no memory.
if TYPE_CHECKING:
    from f3ast_tff.engines.jax.client_tables import ClientTables

# For each place in a cohort its client, or slot if updates may be late; the place of each lane.
Places = tuple[np.ndarray, np.ndarray]


class FusedEngine:
    """Executes rounds on one device, which holds the data; only indices and weights move.

    A round is `pack`, which lays out the clients' batches (packing.py), and a `FusedRound`
    (round.py), which XLA compiles. It trains by `LocalSgd` (local_sgd.py), with a memory through
    `ClientRound` (client_round.py), and ends with `ServerStep` (server_step.py). Rounds are queued
    on the device while later rounds are packed on the host. Results are read back only at the end
    of a block.

    `LateFusedEngine` (late_engine.py) also takes late updates, `SplitFusedEngine` (split_engine.py)
    lets workers train; `fused_engine` (choosing.py) returns the engine for given parts.
    """

    block_rounds = 100

    def __init__(
        self,
        parts: EngineParts,
        *,
        device: str = "auto",
        num_lanes: int | None = None,
        matmul_precision: str = "highest",
    ) -> None:
        """Puts data and model on the device; compiles at first use.

        Args:
            parts: Parts of the engine.
            device: `"auto"`, `"cpu"` or `"gpu"`.
            num_lanes: Number of clients that train side by side, by default `default_lanes`. Equal
                in all rounds, for one shape and for equal sums in a resumed run.
            matmul_precision: Precision of matrix products, `"highest"` or `"tensorfloat32"`; always
                highest on a CPU.

        Raises:
            ParameterError: If there is no such device, or an optimizer has no form in JAX.
            ComponentError: If the model returns no logits for the data's classes.
        """
        self._parts = parts
        self._clients = ClientsOnDevice(parts, parts.data.train, device, num_lanes)
        on_cpu = self._clients.platform == "cpu"
        self._matmul_precision = "highest" if on_cpu else matmul_precision
        put, initial = self._clients.put, parts.initial_weights()
        _check_logits(parts, initial)
        self._tables, in_memory = self._start_memory(initial)
        sgd = one_kernel.fastest(
            self._clients.sgd, parts.work.batch_size, on_cpu and self._clients.form.steps is None
        )
        fused_round = self._clients.fused_round(sgd)
        self._kernels = sgd.kernels
        weights = put(initial)
        self._state = ServerState(weights, put(fused_round.server.init(weights)), put(in_memory))
        self._programs = programs_of(fused_round, self._matmul_precision)
        train, test = parts.data.train, parts.data.test
        features, labels = self._clients.features, self._clients.labels
        self._train = FusedScorer(self._programs, features, labels, self._at_once(train))
        features, labels = put(test.features), put(test.labels)
        self._test = FusedScorer(self._programs, features, labels, self._at_once(test))

    @property
    def _has_own_models(self) -> bool:
        memory = self._parts.aggregation.memory
        return memory is not None and memory.has_own_models

    def _at_once(self, examples: ClientExamples) -> int:
        """Largest number of examples that are scored at once."""
        most = self._parts.model.examples_at_once
        # Under models of their own at most those of one client.
        return min(most, max(1, int(examples.sizes.max()))) if self._has_own_models else most

    def _start_memory(
        self, initial: Sequence[np.ndarray]
    ) -> tuple[ClientTables | None, dict[str, Any]]:
        """Initial memory of the clients and of the server."""
        memory, p = self._parts.aggregation.memory, self._parts.p
        if memory is None or p is None:
            return None, {}
        from f3ast_tff.methods.parts.memory import initial_server

        model = np.concatenate([np.ravel(weight) for weight in initial])
        tables = None
        if memory.by_client:
            from f3ast_tff.engines.jax.client_tables import ClientTables

            tables = ClientTables(memory, len(p), model, self._clients.device)
        return tables, initial_server(memory, model, np)

    def run_rounds(
        self, first_round: int, cohorts: Sequence[Cohort], by_client: bool = False
    ) -> list[RoundOutcome]:
        rounds = range(first_round, first_round + len(cohorts))
        packed = self._packed(rounds, self._training(cohorts))
        queued = [
            self._queue(t, cohort, work, by_client)
            for t, cohort, work in zip(rounds, cohorts, packed)
        ]
        return [
            empty_round(by_client) if done is None else on_host(done)
            for done in self._fetched(queued)
        ]

    def _training(self, cohorts: Sequence[Cohort]) -> Sequence[Cohort]:
        """The clients that train on this device in each round."""
        return cohorts

    @property
    def _needs_clients(self) -> bool:
        """Whether a round without clients leaves everything as it is."""
        return self._parts.aggregation.memory is None

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

    def _queue(
        self, t: int, cohort: Cohort, packed: PackedCohort, by_client: bool
    ) -> Queued | None:
        """Queues a round on the device; `None` if it leaves everything as it is."""
        if len(cohort) == 0 and self._needs_clients:
            return None
        inputs = self._clients.inputs(t, packed, self._memory_inputs(t, packed.client))
        places = (cohort.ids, packed.member) if by_client else None
        num_clients = np.float32(len(cohort))
        return self._run(self._programs.round, packed.client, places, inputs, num_clients)

    def _run(self, program: Any, client: np.ndarray, places: Places | None, *inputs: Any) -> Queued:
        """Queues a round, with the tables of a memory, if any; `places` for results by client."""
        tables, row = ({}, None) if self._tables is None else self._tables.lent(client)
        self._state, outcome, by_lane, tables = program(
            self._state, *inputs, tables=tables, row=row, by_client=places is not None
        )
        if self._tables is not None:
            self._tables.take_back(client, tables)
        return Queued(outcome, by_lane, places)

    def _memory_inputs(self, round_number: int, client: np.ndarray | None) -> MemoryInputs | None:
        p = self._parts.p
        if self._parts.aggregation.memory is None or p is None:
            return None
        share: Any = ()
        ids: Any = ()
        if client is not None and self._tables is not None:
            share, ids = p[np.maximum(client, 0)].astype(np.float32), client.astype(np.int32)
        return MemoryInputs(
            kept={},
            share=share,
            ids=ids,
            round_number=np.int32(round_number),
            num_clients=np.int32(np.count_nonzero(p > 0)),
        )

    def evaluate(self) -> ClientScores:
        test, owners = self._parts.data.test, self._parts.test_owners
        rows = np.arange(len(test.labels))
        scores = self._scores(self._test, self._scored(), test, rows, clients=owners)
        return ClientScores.of_examples(scores, test.sizes)

    def _scores(
        self,
        scorer: FusedScorer,
        weights: Any,
        examples: ClientExamples,
        rows: np.ndarray,
        clients: np.ndarray | None = None,
    ) -> ExampleScores:
        """Scores rows under a model, or each under its client's own."""
        tables = self._tables
        if tables is None or not self._has_own_models:
            return scorer.rows(weights, rows)
        from f3ast_tff.engines.own_models import scores_by_owner

        server, own_model = self._state.memory, self._programs.own_model
        return scores_by_owner(
            examples,
            lambda k, mine: scorer.rows(own_model(weights, server, tables.kept(k)), mine),
            rows=rows,
            clients=clients,
        )

    def client_losses(self, ids: np.ndarray, round_number: int = 1) -> np.ndarray:
        from f3ast_tff.engines.client_loss import client_losses

        def score(rows: np.ndarray) -> ExampleScores:
            return self._scores(self._train, self._state.weights, self._parts.data.train, rows)

        return client_losses(self._parts, ids, round_number, score=score, train=self._losses_met)

    def _losses_met(self, ids: np.ndarray, round_number: int) -> np.ndarray:
        """Mean losses of clients that train, `float64 [m]`; NaN if an update is not finite."""
        cohort = Cohort(ids, np.ones(len(ids)))
        packed = self._clients.pack(round_number, cohort)
        inputs = self._clients.inputs(round_number, packed)
        trained = self._programs.losses(self._state, inputs)
        losses, _ = by_place(ids, packed.member, *self._fetched(trained))
        return losses

    def statistics(self) -> dict[str, Any]:
        """The device, its arithmetic, and the kernels of a client's steps."""
        return {
            "engine": "fused",
            "device": self._clients.device.device_kind,
            "matmul_precision": self._matmul_precision,
            "deterministic": is_deterministic(self._clients.device, os.environ),
            "lanes": self._clients.form.lanes,
            "kernels": self._kernels,
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
        return {k: np.asarray(v) for k, v in {**own, **self._memory_values()}.items()}

    def _memory_values(self) -> dict[str, Any]:
        server = self._state.memory
        kept = {} if self._tables is None else self._tables.values
        return {
            **{f"server_{name}": value for name, value in server.items()},
            **{f"client_{name}": value for name, value in kept.items()},
        }

    def restore(self, state: dict[str, np.ndarray]) -> None:
        """Takes large arrays out of `state`."""
        of_model = self._state._replace(memory={})
        leaves, structure = jax.tree_util.tree_flatten(of_model)
        own = {f"{i:04d}": leaf for i, leaf in enumerate(leaves)}
        refuse_foreign_state(state, {**own, **self._memory_values()})
        memory = {name: state[f"server_{name}"] for name in self._state.memory}
        restored = jax.tree_util.tree_unflatten(structure, [state[name] for name in own])
        self._state = self._clients.put(restored._replace(memory=memory))
        if self._tables is not None:
            self._tables.restore({n: state.pop(f"client_{n}") for n in self._tables.values})

    def close(self) -> None:
        """Releases nothing: the device's memory is freed with the engine."""


class Queued(NamedTuple):
    """A round queued on the device; `by_lane` and `places` are for results by client, if any."""

    outcome: DeviceOutcome
    by_lane: ByLane | None = None
    places: Places | None = None


def on_host(done: Queued) -> RoundOutcome:
    """Returns the outcome of a round whose arrays are in host memory."""
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


def _check_logits(parts: EngineParts, initial: Sequence[np.ndarray]) -> None:
    """Refuses a model without a logit of each class for each label, or with other numbers."""
    some, apply = parts.data.train, parts.model.apply
    features, labels = some.features[:2], some.labels[:2]
    found = jax.eval_shape(
        lambda weights, x: apply(weights, parts.preprocessing.in_jax(x, None)), initial, features
    )
    name = f"model {type(parts.model).__name__}"
    term = getattr(jax.eval_shape(parts.model.penalty, initial), "shape", "no array")
    if term != ():
        raise ComponentError(f"{name}: penalty returned {term}: must be a number, of shape ()")
    kind = getattr(found, "dtype", np.float32)
    if not jax.dtypes.issubdtype(kind, np.floating):
        raise ComponentError(f"{name}: apply returned {kind}: must be floating-point numbers")
    if parts.scoring is not None and not parts.scoring.classes:
        jax.eval_shape(sums_of(parts.scoring), found, labels)
        return
    shape, classes = getattr(found, "shape", None), parts.data.num_classes
    if shape is None or shape[:-1] != labels.shape or shape[-1] < classes:
        said = type(found).__name__ if shape is None else f"shape {[*shape]}"
        wanted = f"must be logits of shape {[*labels.shape, classes]}, at least one per class"
        raise ComponentError(f"{name}: apply returned {said} for {len(labels)} examples: {wanted}")
    if parts.scoring is not None:
        jax.eval_shape(sums_of(parts.scoring), found, labels)
