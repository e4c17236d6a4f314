"""A run of seven rounds on a fake engine, for the tests of the round loop."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path

import numpy as np

from f3ast_tff.availability import AvailabilityProcess, FixedK, IndependentAvailability, Stays
from f3ast_tff.core.preprocessing import AsStored
from f3ast_tff.core.rates import ParticipationRates
from f3ast_tff.delivery import Bernoulli, Certain, Delivery
from f3ast_tff.methods.f3ast import F3AST
from f3ast_tff.methods.fedavg import FedAvg
from f3ast_tff.methods.parts.strategy import BaseStrategy, Cohort, Outcome, Round, Strategy
from f3ast_tff.methods.parts.wrappers import OfThosePresent, Separated
from f3ast_tff.methods.power_of_choice import PowerOfChoice
from f3ast_tff.records.metrics_loggers import Callback, MetricsLogger
from f3ast_tff.records.run_folder import RunFolder
from f3ast_tff.run.delivering import Payload
from f3ast_tff.run.experiment import Experiment
from f3ast_tff.run.round_loop import RunResult, train
from f3ast_tff.run.trained_model import TrainedModel
from f3ast_tff.settings.groups import RunConfig, TrainingConfig
from tests.f3ast_tff.delivery.small_world import world
from tests.fake_engine import FakeEngine, SilentProgress

N, ROUNDS = 6, 7
P = np.full(N, 1 / N)
BETA = 0.1

STAYS = Stays(np.array([1, 1, 1, 2, 3, 6]), np.array([7, 4, 2, 7, 7, 7]), 0, ROUNDS)


class Learner(BaseStrategy):
    """Selects the available clients with the highest loss at their last participation."""

    needs_outcome = True

    def __init__(self) -> None:
        self.last = np.full(N, np.inf)
        self.observed: list[tuple[int, Outcome]] = []

    def select(self, now: Round) -> np.ndarray:
        ids = np.flatnonzero(now.available)
        return ids[np.argsort(-self.last[ids], kind="stable")][: now.constraint.k]

    def weigh(self, now: Round, ids: np.ndarray, delivered: np.ndarray) -> Cohort:
        return Cohort(ids[delivered], np.full(np.count_nonzero(delivered), 0.5))

    def observe(self, round_number: int, outcome: Outcome) -> None:
        self.observed.append((round_number, outcome))
        self.last[outcome.ids[outcome.delivered]] = outcome.losses[outcome.delivered]

    def state(self) -> dict[str, np.ndarray]:
        return {"last": self.last.copy()}

    def restore(self, state: dict[str, np.ndarray]) -> None:
        self.last = state["last"]


STRATEGIES: dict[str, Callable[[], Strategy]] = {
    "f3ast": lambda: F3AST.tracking(P, ParticipationRates(np.full(N, 0.5), BETA)),
    "power_of_choice": lambda: PowerOfChoice.start(P, 2, poc_candidates=3),
    "learner": Learner,
    "proportional": lambda: FedAvg.start(P, 1),
    "separated": lambda: Separated(STRATEGIES["f3ast"](), 1, N),
    "of_those_present": lambda: OfThosePresent(STRATEGIES["f3ast"](), STAYS, P, mean_k=2),
}


def half_lost() -> Bernoulli:
    """Loses each update with probability 1/2; devices train 10 examples."""
    lossy = Bernoulli(loss_probability=0.5)
    return lossy.build(world(np.full(N, 10), seed=3, num_bytes=125))


def failing() -> Bernoulli:
    """If two clients are asked, both must be delivered; about a third of the updates are lost."""
    lossy = Bernoulli(loss_probability=0.3, fail_below_arrivals=0.8)
    return lossy.build(world(np.full(N, 10), seed=2, num_bytes=125))


# By name, as parameters of tests.
DELIVERIES: dict[str, Callable[[], Delivery]] = {
    "certain": Certain,
    "half_lost": half_lost,
    "failing": failing,
}


class Sometimes(IndependentAvailability):
    """No client in round 3 and in the last round, else about half of all clients."""

    def probabilities(self, round_number: int) -> np.ndarray:
        return self.q * (round_number not in (3, ROUNDS))


def run(
    folder: Path | None,
    strategy: Callable[[], Strategy],
    *,
    break_at: int | None = None,
    progress: SilentProgress | None = None,
    checkpoint_every: int = 2,
    block_rounds: int = 1,
    callbacks: Sequence[Callback] = (),
    loggers: Sequence[MetricsLogger] = (),
    delivery: Delivery | None = None,
    write_masks: str = "none",
    client_scores: bool = False,
    keep_checkpoints: int = 1,
    availability: AvailabilityProcess | None = None,
) -> tuple[RunResult, FakeEngine, SilentProgress]:
    """Runs with new parts, as in a new process; returns result, engine, progress."""
    engine, progress = FakeEngine(N, break_at, block_rounds), progress or SilentProgress()
    world = availability or Sometimes(np.full(N, 0.5), seed=1)
    parts = Experiment(
        world,
        FixedK(clients_per_round=2),
        strategy(),
        engine,
        TrainingConfig(rounds=ROUNDS),
        RunConfig(
            eval_every=3,
            checkpoint_every=checkpoint_every,
            checkpoint_seconds=math.inf,
            client_scores=client_scores,
            keep_checkpoints=keep_checkpoints,
            write_masks=write_masks,
        ),
        N,
        trained=lambda engine: TrainedModel(None, AsStored(), 2, engine.scored_weights()),
        delivery=delivery or Certain(),
        payload=Payload(bytes_down=100, bytes_up=10),
        p=P,
    )
    if folder is None:
        return train(parts, None, progress, callbacks, loggers), engine, progress
    with closing(RunFolder(folder, {"name": "test"})) as opened:
        return train(parts, opened, progress, callbacks, loggers), engine, progress


def csv_without_seconds(folder: Path) -> list[list[str]]:
    lines = [line.split(",") for line in (folder / "metrics.csv").read_text().splitlines()]
    assert lines[0][-1] == "wall_seconds"
    return [line[:-1] for line in lines]


def selection(folder: Path) -> dict[str, np.ndarray]:
    with np.load(folder / "selection.npz") as archive:
        return {name: archive[name] for name in archive.files}


def summary_without_seconds(folder: Path) -> dict:
    summary = json.loads((folder / "summary.json").read_text())
    del summary["final"]["wall_seconds"], summary["seconds_per_round"]
    # These depend on files that hold seconds.
    del summary["peak_memory_mib"], summary["files"], summary["sha256"]
    return summary


def assert_same_rounds(one: Path, other: Path) -> None:
    """Checks that two runs have the same scores, cohorts and rates, bit for bit."""
    assert csv_without_seconds(one) == csv_without_seconds(other)
    first, second = selection(one), selection(other)
    assert first.keys() == second.keys()
    for name in first:
        assert first[name].tobytes() == second[name].tobytes(), name


def assert_same_results(one: Path, other: Path) -> None:
    assert_same_rounds(one, other)
    assert summary_without_seconds(one) == summary_without_seconds(other)
