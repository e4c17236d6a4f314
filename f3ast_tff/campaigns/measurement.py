"""Measures the cost of steps and evaluations, on random examples in the shape of a task's data."""

from __future__ import annotations

import multiprocessing
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from multiprocessing.connection import Connection, wait
from typing import Any

import numpy as np

from f3ast_tff.campaigns.costs import DataShape, ReferenceCosts, StepCost
from f3ast_tff.campaigns.isolated_run import load_framework, resolve_order
from f3ast_tff.campaigns.processes import guard, start_guarded
from f3ast_tff.campaigns.runs import PlannedRun
from f3ast_tff.core.errors import Interrupted
from f3ast_tff.core.federated_data import ClientExamples, FederatedData
from f3ast_tff.core.local_training import LocalTraining
from f3ast_tff.engines.engine import Engine, EngineParts
from f3ast_tff.files.messages import one_line
from f3ast_tff.files.process_memory import peak_memory_mib
from f3ast_tff.files.signals import Stop
from f3ast_tff.methods.parts.strategy import Cohort
from f3ast_tff.settings.configuration import Configuration


class MeasurementError(RuntimeError):
    """A measurement of steps has failed; says why in one line."""


# Time limit of a process; the costs that it has not measured then count as unknown.
LIMIT_S = 45.0
_POLL_S = 0.5
# Each part is repeated at most this often and at most for this time.
_MAX_REPEATS, _REPEATS_S = 20, 3.0
# Steps of a long round of one client, and number of short rounds executed at once.
_STEPS, _BLOCK = 8, 5
_ONE_STEP, _MANY_STEPS = (Cohort(np.array([k]), np.ones(1)) for k in (0, 1))
_MAX_SIZES = 100


def measure(
    runs: Sequence[PlannedRun],
    processes: int,
    stop: Stop,
    measured: Callable[[PlannedRun, StepCost], None],
) -> None:
    """Measures the steps of runs, each run in a new process, for at most `LIMIT_S`.

    `measured` receives a run and the costs of its steps; it is not called for a run that takes too
    long.

    Raises:
        MeasurementError: If a run's steps fail.
        Interrupted: If `stop`, polled every half second, was requested.
    """
    spawn = multiprocessing.get_context("spawn")
    waiting, deadline = list(runs), time.monotonic() + LIMIT_S
    busy: dict[Connection, tuple[PlannedRun, Any]] = {}
    try:
        while (waiting or busy) and time.monotonic() < deadline:
            while waiting and len(busy) < processes:
                run = waiting.pop(0)
                ours, theirs = spawn.Pipe(duplex=False)
                process = spawn.Process(target=_answer, args=(theirs, run.order), daemon=True)
                start_guarded(process)
                theirs.close()
                busy[ours] = run, process
            for pipe in wait(list(busy), _POLL_S):
                assert isinstance(pipe, Connection)
                run, process = busy.pop(pipe)
                measured(run, _received(run, pipe))
                process.join()
            if stop.requested():
                raise Interrupted
    finally:
        for _, process in busy.values():
            process.kill()
            process.join()


def _received(run: PlannedRun, pipe: Connection) -> StepCost:
    try:
        answer = pipe.recv()
    except EOFError:
        answer = "its process was killed; was memory short?"
    if isinstance(answer, str):
        raise MeasurementError(f"the steps of {run.name} cannot be measured: {answer}")
    cost: StepCost = answer
    return cost


def _answer(pipe: Connection, order: Mapping[str, Any]) -> None:
    """Measures, in a spawned process."""
    guard()
    try:
        configuration = resolve_order(order)
        load_framework(configuration)
        pipe.send(_measure(configuration))
    except Exception as error:  # The calling process reports it.
        pipe.send(f"{type(error).__name__}: {one_line(error)}")


def _measure(configuration: Configuration) -> StepCost:
    # Imports the heavy modules.
    from f3ast_tff.methods.sum_and_mean import WeightedMean
    from f3ast_tff.run.build import Builder

    process_seconds = time.process_time()
    configs, settings = configuration.configs, configuration.settings
    clock = _Clock()
    builder = Builder(configuration)
    shape = ReferenceCosts().shape(PlannedRun("", configuration)) or _shape_of(builder.data)
    # Replaces the task's data.
    builder.data = _made_up(shape, settings["batch_size"])
    at_once = min(shape.test_examples, builder.model.examples_at_once)
    builder.data = replace(builder.data, test=_examples(shape, [at_once]))
    configs["engine"].connect()
    parts = EngineParts(
        data=builder.data,
        model=builder.model,
        preprocessing=builder.preprocessing,
        work=LocalTraining(settings["batch_size"]),
        client_optimizer=configs["client_optimizer"].build(),
        server_optimizer=configs["server_optimizer"].build(),
        aggregation=WeightedMean(),
        cohort_size=1,
    )
    engine = configs["engine"].build(parts)
    try:
        start = clock.seconds()
        engine.run_rounds(1, [_ONE_STEP])
        first = clock.seconds()
        engine.evaluate()
        first_evaluation = clock.seconds()
        clock.on_cpu = _is_on_cpu(engine)
        short = _mean_seconds(clock, lambda: engine.run_rounds(1, [_ONE_STEP] * _BLOCK)) / _BLOCK
        one = _mean_seconds(clock, lambda: engine.run_rounds(1, [_ONE_STEP]))
        long = _mean_seconds(clock, lambda: engine.run_rounds(1, [_MANY_STEPS]))
        evaluation = _mean_seconds(clock, engine.evaluate)
        state_bytes = sum(value.nbytes for value in engine.state().values())
        num_weights = sum(weight.size for weight in engine.weights())
    finally:
        engine.close()
    # Both are blocks of one round: a block's own cost, shared by five in `short`, is no step's.
    step = max(0.0, (long - one) / (_STEPS - 1))
    examples = sum(shape.client_sizes) / len(shape.client_sizes) * shape.num_clients
    of_data = (examples + shape.test_examples) * parts.data.train.features[:1].nbytes
    return StepCost(
        process_seconds=process_seconds,
        first_seconds=max(0.0, first - short) + max(0.0, first_evaluation - evaluation),
        start_seconds=start,
        round_seconds=max(0.0, short - step),
        step_seconds=step,
        example_seconds=evaluation / at_once,
        memory_mib=peak_memory_mib() + of_data / 2**20,
        num_weights=num_weights,
        state_bytes=state_bytes,
        shape=shape,
    )


class _Clock:
    """Seconds since the last reading, of one otherwise idle core or of a GPU.

    Attributes:
        on_cpu: Whether this process computes; then only its processor time counts.
    """

    def __init__(self) -> None:
        self.on_cpu = True
        self._last = time.monotonic(), time.process_time()

    def seconds(self) -> float:
        wall, of_process = time.monotonic(), time.process_time()
        before, of_process_before = self._last
        self._last = wall, of_process
        passed = wall - before
        return min(passed, of_process - of_process_before) if self.on_cpu else passed


def _mean_seconds(clock: _Clock, what: Callable[[], object]) -> float:
    started, times = time.monotonic(), 0
    clock.seconds()
    while not times or (times < _MAX_REPEATS and time.monotonic() - started < _REPEATS_S):
        what()
        times += 1
    return clock.seconds() / times


def _is_on_cpu(engine: Engine) -> bool:
    """Whether this process trains the clients; TFF's worker and actors train them elsewhere."""
    said = engine.statistics()
    if "num_workers" in said or said.get("tff_runtime") == "worker":
        return False
    return "cpu" in str(said.get("device", said.get("tff_device", ""))).lower()


def _shape_of(data: FederatedData) -> DataShape:
    train = data.train
    ordered = np.sort(train.sizes)
    places = np.linspace(0, len(ordered) - 1, min(len(ordered), _MAX_SIZES)).astype(int)
    return DataShape(
        features=train.features.shape[1:],
        dtype=str(train.features.dtype),
        labels=train.labels.shape[1:],
        num_classes=data.num_classes,
        num_clients=train.num_clients,
        client_sizes=tuple(ordered[places].tolist()),
        test_examples=len(data.test.labels),
    )


def _made_up(shape: DataShape, batch_size: int) -> FederatedData:
    """Returns two clients with examples for one batch and for `_STEPS` batches."""
    train = _examples(shape, [batch_size, _STEPS * batch_size])
    return FederatedData(train, train, shape.num_classes)


def _examples(shape: DataShape, sizes: Sequence[int]) -> ClientExamples:
    rng, n = np.random.default_rng(0), sum(sizes)
    dtype = np.dtype(shape.dtype)
    features: np.ndarray = rng.normal(size=(n, *shape.features))
    if dtype.kind != "f":
        # Pixels, or the classes along a sequence.
        features = rng.integers(0, shape.num_classes, (n, *shape.features))
    labels = rng.integers(0, shape.num_classes, (n, *shape.labels))
    return ClientExamples(features.astype(dtype), labels, np.cumsum([0, *sizes]))
