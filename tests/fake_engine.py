"""An engine without a framework: deterministic, with a state, and able to break down on request."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from f3ast_tff.core.errors import EngineError
from f3ast_tff.core.randomness import generator
from f3ast_tff.engines import ClientScores, RoundOutcome
from f3ast_tff.engines.components import FusedConfig, TffConfig
from f3ast_tff.engines.engine import empty_round
from f3ast_tff.methods.parts.strategy import Cohort

NUM_WEIGHTS = 3


class Breakdown(Exception):
    """Error that a `FakeEngine` raises on request."""


class FakeEngine:
    """Moves its weights by the weighted sum of pseudo-random updates, with momentum.

    An update depends on (round, client, current weights), so any difference of a resumed run shows
    in all later rounds.

    Attributes:
        block_rounds: See `Engine`.
        break_at: Round that raises `Breakdown`; `None` for no such round.
        blocks: First and last round of each call of `run_rounds`.
        rounds_run: Rounds with at least one client.
        cohorts: The cohort of each round.
        closed: Whether `close` was called.
    """

    def __init__(
        self, num_clients: int, break_at: int | None = None, block_rounds: int = 1
    ) -> None:
        self.block_rounds = block_rounds
        self.break_at = break_at
        self.blocks: list[tuple[int, int]] = []
        self.rounds_run: list[int] = []
        self.cohorts: list[Cohort] = []
        self.closed = False
        self._num_clients = num_clients
        self._weights = np.zeros(NUM_WEIGHTS)
        self._momentum = np.zeros(NUM_WEIGHTS)

    def run_rounds(
        self, first_round: int, cohorts: Sequence[Cohort], by_client: bool = False
    ) -> list[RoundOutcome]:
        # A late update is computed when it enters: no test reads its value.
        self.blocks.append((first_round, first_round + len(cohorts) - 1))
        rounds = enumerate(cohorts, start=first_round)
        return [self._round(t, cohort, by_client) for t, cohort in rounds]

    def _round(self, round_number: int, cohort: Cohort, by_client: bool) -> RoundOutcome:
        if round_number == self.break_at:
            raise Breakdown(f"round {round_number}")
        self.cohorts.append(cohort)
        if len(cohort) == 0:
            return empty_round(by_client)
        self.rounds_run.append(round_number)
        losses = self.client_losses(cohort.ids) if by_client else None
        delivered = np.ones(len(cohort), bool) if by_client else None
        delta = np.zeros(NUM_WEIGHTS)
        for k, weight in zip(cohort.ids, cohort.weights):
            noise = generator(0, "fake", round_number, int(k)).normal(size=NUM_WEIGHTS)
            delta += weight * (noise - 0.1 * self._weights)
        self._momentum = 0.9 * self._momentum + delta
        self._weights = self._weights + 0.1 * self._momentum
        loss, norm = float(np.mean(self._weights**2)), float(np.linalg.norm(delta))
        return RoundOutcome(loss, norm, client_losses=losses, delivered=delivered)

    def evaluate(self) -> ClientScores:
        losses = self.client_losses(np.arange(self._num_clients))
        count = np.arange(1.0, self._num_clients + 1)
        return ClientScores(losses * count, count / (1 + losses), count)

    def client_losses(self, ids: np.ndarray, round_number: int = 1) -> np.ndarray:
        return np.array([np.sum((self._weights - np.sin(k)) ** 2) for k in ids])

    def statistics(self) -> dict[str, Any]:
        return {"engine": "fake"}

    def weights(self) -> list[np.ndarray]:
        return [self._weights.copy()]

    def scored_weights(self) -> list[np.ndarray]:
        return self.weights()

    def state(self) -> dict[str, np.ndarray]:
        return {"weights": self._weights, "momentum": self._momentum}

    def restore(self, state: dict[str, np.ndarray]) -> None:
        self._weights, self._momentum = state["weights"], state["momentum"]

    def close(self) -> None:
        self.closed = True


class LostEngine(FakeEngine):
    """An engine whose worker dies after round 4; the message has two lines."""

    def run_rounds(self, first_round: int, cohorts: Any, by_client: bool = False) -> Any:
        if first_round > 4:
            raise EngineError("the worker\nis gone; see its log")
        return super().run_rounds(first_round, cohorts, by_client)


def use_fake_engine(
    monkeypatch: pytest.MonkeyPatch,
    engine: type[FakeEngine] = FakeEngine,
    made: list[FakeEngine] | None = None,
) -> None:
    """Gives every run a fake engine, and leaves the environment alone.

    Engines are appended to `made`.
    """
    engines = [] if made is None else made

    def build(config: Any, parts: Any) -> FakeEngine:
        engines.append(engine(parts.data.train.num_clients))
        return engines[-1]

    for config in (FusedConfig, TffConfig):
        monkeypatch.setattr(config, "build", build)
        monkeypatch.setattr(config, "check_installed", lambda self: None)
        monkeypatch.setattr(config, "prepare_environment", lambda self, environment: None)
        monkeypatch.setattr(config, "connect", lambda self: None)


class SilentProgress:
    """Records the reports of the round loop.

    Attributes:
        first_rounds: First round of each run.
        rounds: Number of rounds done.
        rows: Rounds done and the row, per call of `advance`.
        break_at: Rounds after which `advance` raises `Breakdown`; `None` for never.
    """

    def __init__(self, break_at: int | None = None) -> None:
        self.first_rounds: list[int] = []
        self.rows: list[tuple[int, dict[str, float] | None]] = []
        self.rounds = 0
        self.break_at = break_at

    def start(self, first_round: int) -> None:
        self.first_rounds.append(first_round)

    def advance(self, rounds: int, row: dict[str, float] | None) -> None:
        self.rounds += rounds
        self.rows.append((self.rounds, row))
        if self.break_at is not None and self.rounds >= self.break_at:
            raise Breakdown("progress")
