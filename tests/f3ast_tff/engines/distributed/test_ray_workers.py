"""Workers that die, hang and fail, on a Ray cluster of this machine."""

from __future__ import annotations

import gc
import os
import signal
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from f3ast_tff.core.errors import EngineError, ParameterError
from f3ast_tff.core.federated_data import ClientExamples
from f3ast_tff.engines.distributed import ray_workers
from f3ast_tff.engines.distributed.ray_connection import connect
from f3ast_tff.engines.distributed.ray_workers import RayWorkers
from f3ast_tff.engines.distributed.workers import TrainedPart
from f3ast_tff.methods.parts.strategy import Cohort
from f3ast_tff.settings.plugin_files import load_plugin
from tests.listening import is_loopback, listening

# Ray drops files and handles of its processes without closing them.
pytestmark = [pytest.mark.ray, pytest.mark.filterwarnings("ignore::ResourceWarning")]

EXAMPLES = ClientExamples(np.arange(12.0)[:, None], np.arange(12), np.arange(0, 13, 2))
EVERYBODY = Cohort(np.arange(6), np.arange(1.0, 7.0))
# The sum after the plug-in's object has changed it.
EXPECTED = 3 * sum((k + 1) * (4 * k + 1) for k in range(6))
PLUGIN = """
from dataclasses import dataclass
from f3ast_tff.settings import parameter, register
from f3ast_tff.models import ModelConfig

class Times:
    def __init__(self, factor):
        self.factor = factor

    def __call__(self, number):
        return self.factor * number

@register("model", "times", about="a factor")
@dataclass(frozen=True)
class TimesConfig(ModelConfig):
    factor: float = parameter(3.0, "a factor")

    def build(self, input_shape, num_classes):
        return Times(self.factor)
"""


class Summing:
    """Sums features by weight; the first broadcast number can order a worker to fail."""

    def __init__(self, examples: ClientExamples, folder: Path, times: Any = float) -> None:
        self.examples, self.folder, self.times = examples, folder, times

    def train(
        self,
        broadcast: Sequence[np.ndarray],
        round_number: int,
        cohort: Cohort,
        by_client: bool = False,
    ) -> TrainedPart:
        order = int(broadcast[0])
        marker = self.folder / f"{round_number}-{cohort.ids[0]}"
        first_time = not marker.exists()
        marker.touch()
        if order == 1 and first_time and cohort.ids[0] == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        if order == 2:
            os.kill(os.getpid(), signal.SIGKILL)
        if order == 3:
            time.sleep(60)
        if order == 4:
            raise ValueError("no more memory")
        sums = [self.examples.client(int(k))[0].sum() for k in cohort.ids]
        total = np.array(self.times(cohort.weights @ np.array(sums)))
        return TrainedPart(cohort.ids, [total], delivered=np.ones(2) if by_client else None)


@pytest.fixture(scope="module")
def workers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RayWorkers]:
    folder = tmp_path_factory.mktemp("markers")
    (folder / "own.py").write_text(PLUGIN)
    times = load_plugin(str(folder / "own.py")).components[0].config().build((), 1)
    # No process can import the plug-in now, from its file or otherwise.
    (folder / "own.py").unlink()
    made = RayWorkers(
        lambda examples: Summing(examples, folder, times), EXAMPLES, 2, "local", timeout_s=60
    )
    # Collects objects that Ray dropped here, so that no other file's tests find them.
    gc.collect()
    yield made
    made.close()
    gc.collect()


def train(workers: RayWorkers, order: int, round_number: int) -> list[Any]:
    return workers.train([np.array(order)], round_number, EVERYBODY)


# This test comes first: later this process is connected.
def test_unreachable_cluster_is_named() -> None:
    started = time.monotonic()
    with pytest.raises(ParameterError, match="ray_address = 127.0.0.1:1: no Ray cluster can be"):
        connect("127.0.0.1:1")
    assert time.monotonic() - started < 10


def test_other_machines_cannot_reach_a_local_cluster(workers: RayWorkers) -> None:
    """Driver, the head's two servers, raylet and the two actors only listen on the loopback."""
    train(workers, 0, 0)
    found = listening()
    assert len(found) >= 6
    assert {address for address, _ in found if not is_loopback(address)} == set()


def test_each_client_is_trained_once_where_its_data_is(workers: RayWorkers) -> None:
    parts = train(workers, 0, 1)
    assert len(parts) == 2
    assert sum(float(part.sums[0]) for part in parts) == EXPECTED
    assert sorted(np.concatenate([part.ids for part in parts])) == list(range(6))
    assert parts[0].delivered is None


def test_what_came_back_from_each_client_is_asked_for(workers: RayWorkers) -> None:
    parts = workers.train([np.array(0)], 1, EVERYBODY, True)
    assert all(len(part.delivered) == 2 for part in parts)


def test_worker_without_a_client_is_not_asked(workers: RayWorkers) -> None:
    (part,) = workers.train([np.array(0)], 2, Cohort(np.array([3]), np.ones(1)))
    assert float(part.sums[0]) == 3 * 13


def test_killed_worker_is_replaced_and_its_clients_done_again(workers: RayWorkers) -> None:
    before = workers.statistics()["replaced_workers"]
    parts = train(workers, 1, 3)
    assert sum(float(part.sums[0]) for part in parts) == EXPECTED
    assert workers.statistics() == {"num_workers": 2, "replaced_workers": before + 1}


@pytest.mark.parametrize(
    ("order", "round_number", "says"),
    [
        (2, 4, "worker [01] of 2 on the Ray cluster at local was lost 4 times, .*Died"),
        (4, 5, "worker [01] of 2 .* local no more memory"),
    ],
    ids=["always dies", "fails"],
)
def test_worker_that_does_not_finish_ends_the_round(
    order: int, round_number: int, says: str, workers: RayWorkers
) -> None:
    with pytest.raises(EngineError, match=f"round {round_number}: {says}"):
        train(workers, order, round_number)


def test_hung_worker_is_named(workers: RayWorkers) -> None:
    workers._timeout_s = 1
    with pytest.raises(EngineError, match="round 6: worker 0 of 2 .* not answered within 1 s"):
        train(workers, 3, 6)


def test_full_object_store_is_named(workers: RayWorkers, monkeypatch: pytest.MonkeyPatch) -> None:
    ray = workers._ray

    def full(value: Any) -> Any:
        raise ray.exceptions.ObjectStoreFullError("no room for 45 MB")

    monkeypatch.setattr(ray, "put", full)
    message = "round 8: the Ray cluster at local takes no more data: ObjectStoreFullError: no room"
    with pytest.raises(EngineError, match=message):
        train(workers, 0, 8)


# This test comes last: it fills the cluster and leaves it to the fixture to end.
def test_worker_without_a_place_is_named(
    workers: RayWorkers, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ray_workers, "_PLACE_S", 1.0)
    crowded = RayWorkers(lambda examples: Summing(examples, tmp_path), EXAMPLES, 1, "local")
    wanted = "found no place within 1 s: it needs 1 CPU, free are 0 CPU"
    with pytest.raises(EngineError, match=f"round 7: worker 0 of 1 .* {wanted}"):
        train(crowded, 0, 7)
    crowded._watch.stop()
