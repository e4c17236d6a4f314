"""Workers as Ray actors; if an actor dies, it is replaced and its clients train again."""

from __future__ import annotations

import sys
import time
from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np

from f3ast_tff.core.errors import EngineError, ParameterError
from f3ast_tff.core.federated_data import ClientExamples
from f3ast_tff.engines.distributed.ray_connection import RayWatch, connect
from f3ast_tff.engines.distributed.workers import (
    TrainedPart,
    Trainer,
    TrainerFactory,
    owners,
    shard,
    split,
)
from f3ast_tff.methods.parts.strategy import Cohort
from f3ast_tff.settings.plugin_files import FILE_MODULE_PREFIX

_MAX_REPLACEMENTS = 3
# Time limit for starting an actor: normally seconds, but without a free core for ever.
_PLACE_S = 60.0
_LOOK_S = 0.5


class TrainerActor:
    """An actor on a node."""

    def __init__(self, parts: Sequence[Any]) -> None:
        """Takes Ray's references to a `TrainerFactory` and a shard, without waiting for them."""
        self._parts = parts
        self._trainer: Trainer | None = None

    def placed(self) -> None:
        """Answers once the actor has a place."""

    def prepare(self) -> None:
        """Makes the trainer; callers need not wait."""
        self._ready()

    def _ready(self) -> Trainer:
        import ray

        if self._trainer is None:
            make_trainer, examples = ray.get(list(self._parts))
            self._trainer = make_trainer(examples)
        return self._trainer

    def train(
        self, broadcast: Sequence[np.ndarray], round_number: int, cohort: Cohort, by_client: bool
    ) -> TrainedPart:
        return self._ready().train(broadcast, round_number, cohort, by_client)


class RayWorkers:
    """Trains cohorts on several workers.

    The caller merges a round from the returned parts. So a round that fails on the way has changed
    no state; it is repeated, and never applied twice.
    """

    def __init__(
        self,
        make_trainer: TrainerFactory,
        examples: ClientExamples,
        num_workers: int,
        address: str,
        num_gpus: float = 0,
        timeout_s: float | None = None,
    ) -> None:
        """Starts the actors, each with its shard of the data.

        Args:
            make_trainer: Makes a worker's trainer there.
            examples: Training data of all clients.
            num_workers: Number of actors M, one core each.
            address: See `ray_connection.connect`.
            num_gpus: GPUs of each actor.
            timeout_s: Seconds after which a round counts as hung; `None` for no limit.

        Raises:
            ParameterError: If the cluster cannot be reached, or lacks this package.
            EngineError: If the cluster does not take the data.
        """
        self._address = address
        self._timeout_s = timeout_s
        self._place = {"CPU": 1.0, **({"GPU": float(num_gpus)} if num_gpus else {})}
        self._ray = connect(address, num_workers)
        self._watch = RayWatch(self._ray, address)
        _pickle_plugins_by_value(self._ray)
        self._owner = owners(examples.sizes, num_workers)
        self._make_trainer = self._put(make_trainer, "before round 1")
        self._shards = [
            self._put(shard(examples, self._owner, worker), "before round 1")
            for worker in range(num_workers)
        ]
        self._actor_class = self._ray.remote(TrainerActor).options(
            num_cpus=1, num_gpus=num_gpus, scheduling_strategy="SPREAD"
        )
        self._actors: dict[int, Any] = {}
        self._unplaced: dict[int, tuple[Any, float]] = {}
        # Kept, because Ray complains about references that are dropped.
        self._prepared: dict[int, Any] = {}
        for worker in range(num_workers):
            self._start(worker)
        self._num_replaced = 0

    def _start(self, worker: int) -> None:
        actor = self._actor_class.remote([self._make_trainer, self._shards[worker]])
        self._actors[worker] = actor
        self._unplaced[worker] = (actor.placed.remote(), time.monotonic())
        self._prepared[worker] = actor.prepare.remote()

    def train(
        self,
        broadcast: Sequence[np.ndarray],
        round_number: int,
        cohort: Cohort,
        by_client: bool = False,
    ) -> list[TrainedPart]:
        """Trains a cohort, each client on the worker with its data.

        Args:
            broadcast: See `Trainer.train`.
            round_number: Round t.
            cohort: Clients and weights.
            by_client: See `Trainer.train`.

        Returns:
            The parts of the workers that had clients, in the order of the workers.

        Raises:
            EngineError: If the workers cannot be reached; then no state has changed.
        """
        with self._watch.in_use:
            try:
                return self._train(broadcast, round_number, cohort, by_client)
            except ConnectionError as error:
                # An error of Ray's client.
                raise EngineError(self._lost(round_number, _first_line(error))) from error

    def _train(
        self, broadcast: Sequence[np.ndarray], round_number: int, cohort: Cohort, by_client: bool
    ) -> list[TrainedPart]:
        self._check_cluster(round_number)
        sent = self._put(list(broadcast), f"round {round_number}")
        parts = split(cohort, self._owner)

        def submit(worker: int) -> Any:
            actor = self._actors[worker]
            return actor.train.remote(sent, round_number, parts[worker], by_client)

        running = {submit(worker): worker for worker in parts}
        done: dict[int, TrainedPart] = {}
        replaced: Counter[int] = Counter()
        deadline = None if self._timeout_s is None else time.monotonic() + self._timeout_s
        while running:
            answered = self._wait(running, deadline, round_number)
            worker = running.pop(answered)
            self._check_cluster(round_number)
            try:
                done[worker] = self._ray.get(answered)
            except self._ray.exceptions.RayTaskError as error:
                reason = str(error.cause).strip() or type(error.cause).__name__
                raise self._failed(round_number, worker, reason) from error
            except self._ray.exceptions.RayError as error:
                replaced[worker] += 1
                if replaced[worker] > _MAX_REPLACEMENTS:
                    lost = f"was lost {replaced[worker]} times, {_reason(error)}"
                    raise self._failed(round_number, worker, lost) from error
                self._check_cluster(round_number)
                self._num_replaced += 1
                self._start(worker)
                running[submit(worker)] = worker
        return [done[worker] for worker in parts]

    def _put(self, value: Any, when: str) -> Any:
        try:
            return self._ray.put(value)
        except ModuleNotFoundError as error:
            # An error of Ray's client, whose server unpickles the data.
            lacks = f"its nodes must have this package installed: {error}"
            raise ParameterError("ray_address", self._address, lacks) from error
        except self._ray.exceptions.RayError as error:
            refused = f"takes no more data: {_first_line(error)}"
            raise EngineError(f"{when}: the Ray cluster at {self._address} {refused}") from error

    def _wait(self, running: dict[Any, int], deadline: float | None, round_number: int) -> Any:
        while True:
            self._check_cluster(round_number)
            left = np.inf if deadline is None else max(0.0, deadline - time.monotonic())
            ready, _ = self._ray.wait(list(running), num_returns=1, timeout=min(left, _LOOK_S))
            if ready:
                return ready[0]
            if left == 0:
                hung = f"has not answered within {self._timeout_s:g} s"
                raise self._failed(round_number, min(running.values()), hung)
            self._check_placed(round_number, list(running.values()))

    def _check_cluster(self, round_number: int) -> None:
        lost = self._watch.check()
        if lost is not None:
            raise EngineError(self._lost(round_number, lost))

    def _lost(self, round_number: int, reason: str) -> str:
        return f"round {round_number}: the Ray cluster at {self._address} is lost: {reason}"

    def _check_placed(self, round_number: int, workers: Sequence[int]) -> None:
        for worker in workers:
            if worker not in self._unplaced:
                continue
            answer, since = self._unplaced[worker]
            if self._ray.wait([answer], timeout=0)[0]:
                del self._unplaced[worker]
            elif time.monotonic() - since > _PLACE_S:
                wanted = self._place
                free = self._ray.available_resources()
                there = " and ".join(f"{free.get(name, 0):g} {name}" for name in wanted)
                asked = " and ".join(f"{number:g} {name}" for name, number in wanted.items())
                lacks = f"found no place within {_PLACE_S:g} s: it needs {asked}, free are {there}"
                raise self._failed(round_number, worker, lacks)

    def _failed(self, round_number: int, worker: int, reason: str) -> EngineError:
        where = f"worker {worker} of {len(self._actors)} on the Ray cluster at {self._address}"
        return EngineError(f"round {round_number}: {where} {reason}")

    def statistics(self) -> dict[str, Any]:
        """Returns the workers' entries of `summary.json`."""
        return {"num_workers": len(self._actors), "replaced_workers": self._num_replaced}

    def close(self) -> None:
        """Ends the actors and disconnects; an existing cluster stays."""
        self._watch.stop()
        if self._watch.check() is None:
            for actor in self._actors.values():
                self._ray.kill(actor)
        self._ray.shutdown()


def _pickle_plugins_by_value(ray: Any) -> None:
    """Sends plug-in definitions by value, because workers cannot import plug-in files by name."""
    for name, module in list(sys.modules.items()):
        if name.startswith(FILE_MODULE_PREFIX):
            ray.cloudpickle.register_pickle_by_value(module)


def _reason(error: Exception) -> str:
    lines = str(error).strip().splitlines()
    # If an actor could not be made, the reason (a node without this package) follows a traceback.
    if len(lines) > 1 and "creation task" in lines[0]:
        return f"it could not be made: {lines[-1].strip()}"
    return _first_line(error)


def _first_line(error: Exception) -> str:
    return f"{type(error).__name__}: {str(error).strip().partition(chr(10))[0]}"
