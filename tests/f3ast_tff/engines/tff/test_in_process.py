"""Rounds in this process equal those of TFF's worker."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import psutil
import pytest

from benchmarks.tiny import tiny_data, with_nan_client
from f3ast_tff.core.errors import EngineError
from f3ast_tff.methods.sum_and_mean import WeightedMean, WeightedSum
from tests.f3ast_tff.engines.product_process import product_process
from tests.f3ast_tff.engines.tff_processes import ADAM, SGD, batch_feed, element_feed, ours, stock
from tests.listening import is_loopback, listening

if TYPE_CHECKING:
    from f3ast_tff.engines.tff.worker import WorkerRuntime

pytestmark = pytest.mark.tff

DATA = tiny_data()
# Process, feed, rounds: TFF's own algorithms spend most of their time on building datasets.
CASES: dict[str, tuple[Callable[[], Any], Callable[..., Any], int]] = {
    "ours, sum, SGD": (lambda: ours(DATA, WeightedSum(), SGD), element_feed, 20),
    "ours, mean, Adam": (lambda: ours(DATA, WeightedMean(), ADAM), element_feed, 20),
    "FedAvg": (lambda: stock("fed_avg", DATA), batch_feed, 4),
    "FedAvg by dataset.reduce": (lambda: stock("reduce", DATA), batch_feed, 1),
    "FedProx": (lambda: stock("fed_prox", DATA), batch_feed, 4),
    "robust aggregator": (lambda: stock("robust", DATA), batch_feed, 6),
    "clipped importance-weighted sum": (lambda: stock("clipped_sum", DATA), batch_feed, 4),
}


@pytest.fixture(scope="module")
def worker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[WorkerRuntime]:
    """One worker for all learning processes."""
    from f3ast_tff.engines.tff.worker import WorkerRuntime

    runtime = WorkerRuntime(ours(DATA, WeightedSum()), tmp_path_factory.mktemp("worker") / "log")
    yield runtime
    runtime.close()


def in_process(process: Any) -> Any:
    from f3ast_tff.engines.tff.runtime import InProcessRuntime

    return InProcessRuntime(process, "cpu")


def cohort(round_number: int) -> np.ndarray:
    return np.random.default_rng(round_number).choice(6, 2, replace=False)


def assert_close(ours: Any, theirs: Any) -> None:
    import tensorflow as tf

    tf.nest.assert_same_structure(ours, theirs)
    for one, other in zip(tf.nest.flatten(ours), tf.nest.flatten(theirs)):
        assert np.asarray(one).dtype == np.asarray(other).dtype
        np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-5)


# Cases that the remaining cases cover too.
_SLOW = ["ours, sum, SGD", "FedAvg", "FedAvg by dataset.reduce", "FedProx", "robust aggregator"]


@pytest.mark.long
@pytest.mark.parametrize(
    "name", [pytest.param(n, marks=pytest.mark.slow) if n in _SLOW else n for n in CASES]
)
def test_rounds_are_the_workers(name: str, worker: WorkerRuntime) -> None:
    """State, metrics and their nesting agree after each round, to 1e-5."""
    build, feed, num_rounds = CASES[name]
    process = build()
    runtime = in_process(process)
    state = here = worker.run(process.initialize)
    assert_close(runtime.initialize(), state)
    for t in range(1, num_rounds + 1):
        theirs = worker.run(process.next, state, feed(DATA, t, cohort(t)))
        output = runtime.next(here, feed(DATA, t, cohort(t)))
        state, here = theirs.state, output.state
        assert type(output) is type(theirs)
        assert_close(tuple(output), tuple(theirs))
    assert np.abs(here.global_model_weights.trainable[0]).max() > 0.01


@pytest.mark.long
def test_what_listens(worker: WorkerRuntime) -> None:
    """The worker listens on all network interfaces: hence its warning."""
    ((address, _),) = listening(worker.pid)
    assert not is_loopback(address)


@pytest.mark.long
def test_split_cohort_nan_client_no_child_and_no_port(worker: WorkerRuntime) -> None:
    """One process for all checks, since building one takes seconds.

    - Three clients are accumulated in two parts and merged, in either order. The result equals the
      round of `next` up to rounding, with results by client in the order of the parts. An empty
      part is the neutral element.
    - A client with a non-finite update is dropped and counted, and the round continues.
    - No step starts a child process, or listens.
    """
    children, ports = psutil.Process().children(recursive=True), listening()
    runtime = in_process(ours(DATA, WeightedSum(), ADAM))
    start = runtime.initialize()
    feed = element_feed(DATA, 1, np.array([0, 3, 4]))
    whole = runtime.next(start, feed)
    prepared = runtime.prepare(start)
    parts = [runtime.accumulate(prepared, part) for part in (feed[:2], feed[2:], [])]
    losses = whole.metrics["client_work"]["inner"]["train"]["client_losses"]
    for first, second, order in ((0, 1, [0, 1, 2]), (1, 0, [2, 0, 1])):
        merged = runtime.merge(runtime.merge(parts[first], parts[2]), parts[second])
        output = runtime.finish(start, merged)
        trained = output.metrics["client_work"]["inner"]["train"]
        np.testing.assert_allclose(trained["client_losses"], losses[order], rtol=1e-5)
        trained["client_losses"] = losses
        assert_close(tuple(output), tuple(whole))

    damaged = with_nan_client(DATA, 3)
    output = runtime.next(start, element_feed(damaged, 1, np.array([0, 3, 4])))
    without = runtime.next(start, element_feed(damaged, 1, np.array([0, 4])))
    np.testing.assert_array_equal(output.metrics["client_work"]["delivered"], [1, 0, 1])
    assert_close(output.state, without.state)

    with pytest.raises(TypeError, match="a client's data must be"):
        runtime.next(start, batch_feed(DATA, 1, np.array([0])))
    with pytest.raises(ValueError, match="structure"):
        runtime.next(start.global_model_weights, feed)
    assert psutil.Process().children(recursive=True) == children
    assert listening() == ports
    runtime.close()
    with pytest.raises(EngineError, match="closed"):
        runtime.next(start, feed)


def test_secure_aggregation_is_refused() -> None:
    with pytest.raises(ValueError, match="secure"):
        in_process(product_process(secure=True))


@pytest.mark.slow
def test_everything_runs_on_the_device_asked_for() -> None:
    """The round runs on the second of two logical CPUs; TensorFlow's log of placements shows it.

    A separate process is needed, since logical devices must exist before TensorFlow starts.
    """
    program = Path(__file__).with_name("placement_program.py")
    done = subprocess.run(
        [sys.executable, str(program)],
        cwd=Path(__file__).parents[4],
        env={**os.environ, "PYTHONPATH": ".", "TF_CPP_MIN_LOG_LEVEL": "0"},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    placed = re.findall(r"\(([A-Za-z0-9]+)\): /job:\S+/device:(CPU:\d)", done.stderr)
    arithmetic = [device for kind, device in placed if kind in ("MatMul", "AssignAddVariableOp")]
    assert len(arithmetic) >= 3
    assert set(arithmetic) == {"CPU:1"}
