"""The fast engine: a whole round as one XLA program, in JAX, on the CPU or a GPU."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import jax
import numpy as np

from f3ast_tff.aggregation.update_memory import LatestUpdates
from f3ast_tff.engines.client_loss import reduce_losses, scored_rows
from f3ast_tff.engines.distributed.workers import Workers
from f3ast_tff.engines.engine import (
    EMPTY_ROUND,
    ClientScores,
    RoundOutcome,
    refuse_foreign_state,
)
from f3ast_tff.engines.jax.devices import find_device
from f3ast_tff.engines.jax.optimizers import build_optimizer
from f3ast_tff.engines.jax.packing import PackedWork, pack
from f3ast_tff.engines.jax.round import DeviceOutcome, FusedRound, ServerState
from f3ast_tff.engines.jax.scorer import FusedScorer
from f3ast_tff.engines.jax.trainer import merged
from f3ast_tff.engines.memory_round import Trained, flat, leaves_of, run_latest_round
from f3ast_tff.federated_data import FederatedData
from f3ast_tff.local_training import LocalWork
from f3ast_tff.models import Model
from f3ast_tff.optimizer import Optimizer
from f3ast_tff.preprocessing import AsStored, Inputs
from f3ast_tff.selection import Cohort


class FusedEngine:
    """Executes rounds on one device, where the data lives; only indices and weights cross.

    Rounds are queued on the device while the next ones are packed on the host; nothing is read
    back before the end of a block.
    """

    block_rounds = 100

    def __init__(
        self,
        data: FederatedData,
        model: Model,
        work: LocalWork,
        client_optimizer: Optimizer,
        server_optimizer: Optimizer,
        aggregation: str,
        *,
        seed: int,
        inputs: Inputs | None = None,
        client_loss: str = "mean",
        latest: LatestUpdates | None = None,
        workers: Workers | None = None,
        device: str = "auto",
        cohort_size: int = 1,
        num_lanes: int | None = None,
    ) -> None:
        """Puts data and model on the device; compiles at first use.

        Args:
            data: Of all clients.
            model: The network; its initial weights come from `seed`.
            work: Local work of a client.
            client_optimizer: Of the local steps.
            server_optimizer: Of the step along the aggregate.
            aggregation: `"sum"`, `"mean"` or `"latest"`.
            seed: Of the initial weights.
            inputs: From features to what the model reads; by default the features.
            client_loss: See `client_loss.reduce_losses`.
            latest: FedLaAvg's memory, for the aggregation `"latest"`.
            workers: Train the clients, in place of this process; not with `latest`. Closed with
                the engine.
            device: `"auto"`, `"cpu"` or `"gpu"`.
            cohort_size: Clients of the largest cohort, K.
            num_lanes: Clients that train side by side; by default 1 on a CPU, where lanes cost
                what they save, and K on a GPU. Never depends on a round: one shape, and the
                same sums in a resumed run.

        Raises:
            SettingError: If there is no such device.
        """
        self._device = find_device(device)
        self._data = data
        self._work = work
        self._inputs = inputs = inputs or AsStored()
        self._client_loss = client_loss
        self._client_optimizer = client_optimizer
        self._latest = latest
        self._workers = workers
        on_cpu = self._device.platform == "cpu"
        self._num_lanes = num_lanes or (1 if on_cpu else cohort_size)
        self._compilations = 0
        self._features = self._put(data.train.features)
        self._labels = self._put(data.train.labels)
        server = build_optimizer(server_optimizer)
        weights = self._put(model.initial_weights(seed))
        self._state = ServerState(weights, self._put(server.init(weights)))
        client = build_optimizer(client_optimizer)
        fused_round = FusedRound(
            model,
            inputs,
            client,
            server,
            normalise=aggregation == "mean",
            decays=client_optimizer.decay != 1,
            keeps_updates=latest is not None,
        )

        def traced_round(*arguments: Any) -> tuple[ServerState, DeviceOutcome, Any]:
            self._count_compilation()
            return fused_round(*arguments)

        self._round = jax.jit(traced_round)
        self._finish = jax.jit(fused_round.finish)
        train = (self._features, self._labels)
        test = (self._put(data.test.features), self._put(data.test.labels))
        self._train, self._test = (
            FusedScorer(model, inputs, *split, self._count_compilation) for split in (train, test)
        )

    def _put(self, tree: Any) -> Any:
        return jax.device_put(tree, self._device)

    def _count_compilation(self) -> None:
        self._compilations += 1

    def run_rounds(self, first_round: int, cohorts: Sequence[Cohort]) -> list[RoundOutcome]:
        """See `Engine.run_rounds`."""
        rounds = range(first_round, first_round + len(cohorts))
        if self._workers is not None:
            return [self._split_round(self._workers, *parts) for parts in zip(rounds, cohorts)]
        # XLA lets go of the interpreter while it computes: pack the next rounds meanwhile.
        with ThreadPoolExecutor(1) as packer:
            packed = packer.map(self._pack, rounds, cohorts)
            if self._latest is not None:
                return [self._latest_round(*parts) for parts in zip(rounds, cohorts, packed)]
            queued = [self._queue(*parts) for parts in zip(rounds, cohorts, packed)]
        return [_on_host(outcome) for outcome in jax.device_get(queued)]

    def _pack(self, round_number: int, cohort: Cohort) -> PackedWork | None:
        if len(cohort) == 0:
            return None
        offsets = self._data.train.offsets
        return pack(cohort, self._work, self._inputs, round_number, offsets, self._num_lanes)

    def _queue(
        self, round_number: int, cohort: Cohort, packed: PackedWork | None
    ) -> DeviceOutcome | None:
        if packed is None:
            return None
        self._state, outcome, _ = self._execute(round_number, cohort, packed, ())
        return outcome

    def _execute(
        self, round_number: int, cohort: Cohort, packed: PackedWork, correction: Any
    ) -> tuple[ServerState, DeviceOutcome, Any]:
        return self._round(
            self._state,
            self._features,
            self._labels,
            packed.on_device,
            np.float32(len(cohort)),
            np.float32(self._client_optimizer.rate(round_number)),
            correction,
        )

    def _split_round(self, workers: Workers, round_number: int, cohort: Cohort) -> RoundOutcome:
        if len(cohort) == 0:
            return EMPTY_ROUND
        parts = workers.train(self.weights(), round_number, cohort)
        totals = self._put(merged(parts, self._state.weights))
        self._state, outcome = self._finish(self._state, totals, np.float32(len(cohort)))
        return _on_host(jax.device_get(outcome))

    def _latest_round(
        self, round_number: int, cohort: Cohort, packed: PackedWork | None
    ) -> RoundOutcome:
        def train(these: Cohort, correction: np.ndarray) -> Trained:
            work = packed if these is cohort else self._pack(round_number, these)
            assert work is not None
            parts = leaves_of(correction, self._state.weights)
            state, outcome, by_lane = self._execute(round_number, these, work, parts)
            by_lane = jax.device_get(by_lane)
            there = work.member >= 0
            updates = [np.zeros((len(these), *leaf.shape[2:]), leaf.dtype) for leaf in by_lane]
            for update, leaf in zip(updates, by_lane):
                update[work.member[there]] = leaf[there]
            return Trained(state, _on_host(jax.device_get(outcome)), flat(updates))

        assert self._latest is not None
        rate = self._client_optimizer.rate(round_number)
        state, outcome = run_latest_round(self._latest, round_number, cohort, rate, train)
        if state is not None:
            self._state = state
        return outcome

    def evaluate(self) -> ClientScores:
        """See `Engine.evaluate`."""
        test = self._data.test
        scores = self._test.rows(self._state.weights, np.arange(len(test.labels)))
        return ClientScores.of_examples(scores, test.sizes)

    def client_losses(self, ids: np.ndarray, round_number: int = 1) -> np.ndarray:
        """See `Engine.client_losses`."""
        offsets = self._data.train.offsets
        rows = scored_rows(ids, offsets, self._work, self._client_loss, round_number)
        scores = self._train.rows(self._state.weights, np.concatenate(rows))
        sizes = np.array([len(of_client) for of_client in rows])
        return reduce_losses(scores, sizes, self._client_loss, self._work.batch_size)

    def statistics(self) -> dict[str, Any]:
        """See `Engine.statistics`: the device, and how many programs were compiled."""
        return {
            "engine": "fused",
            "device": self._device.device_kind,
            "compilations": self._compilations,
            **(self._workers.statistics() if self._workers is not None else {}),
        }

    def weights(self) -> list[np.ndarray]:
        """See `Engine.weights`."""
        return [np.asarray(weight) for weight in self._state.weights]

    def state(self) -> dict[str, np.ndarray]:
        """See `Engine.state`."""
        leaves = jax.tree_util.tree_leaves(self._state)
        state = {f"{i:04d}": np.asarray(leaf) for i, leaf in enumerate(leaves)}
        return {**state, **(self._latest.state() if self._latest is not None else {})}

    def restore(self, state: dict[str, np.ndarray]) -> None:
        """See `Engine.restore`."""
        refuse_foreign_state(state, self.state())
        if self._latest is not None:
            self._latest.restore(state)
        leaves = [state[name] for name in sorted(state) if name.isdigit()]
        structure = jax.tree_util.tree_structure(self._state)
        self._state = self._put(jax.tree_util.tree_unflatten(structure, leaves))

    def close(self) -> None:
        """Ends the workers."""
        if self._workers is not None:
            self._workers.close()


def _on_host(outcome: DeviceOutcome | None) -> RoundOutcome:
    if outcome is None:
        return EMPTY_ROUND
    return RoundOutcome(
        float(outcome.train_loss),
        float(outcome.update_norm),
        int(outcome.num_dropped),
        bool(outcome.rejected),
    )
