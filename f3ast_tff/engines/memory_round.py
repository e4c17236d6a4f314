"""FedLaAvg's round around an engine's own: correction in, updates out, memory kept."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from f3ast_tff.aggregation.update_memory import LatestUpdates
from f3ast_tff.engines.engine import EMPTY_ROUND, RoundOutcome
from f3ast_tff.selection import Cohort


@dataclass(frozen=True)
class Trained:
    """A round that an engine has executed but not yet taken over.

    Attributes:
        state: The engine's state after it.
        outcome: What it did.
        updates: The update of each client of the cohort, `float32 [m, num_weights]`.
    """

    state: Any
    outcome: RoundOutcome
    updates: np.ndarray


def run_latest_round(
    latest: LatestUpdates,
    round_number: int,
    cohort: Cohort,
    learning_rate: float,
    train: Callable[[Cohort, np.ndarray], Trained],
) -> tuple[Any | None, RoundOutcome]:
    """Runs a round in which the model follows the average of all clients' latest updates.

    A client whose update is not finite keeps its latest one: the round is done again without it.

    Args:
        latest: The memory; notes the updates if the round counts.
        round_number: Round t.
        cohort: Clients and weights; nobody leaves the model alone.
        learning_rate: Today's client learning rate.
        train: Executes a round from the engine's current state: the weighted SUM of the cohort's
            updates and the correction, `float32 [num_weights]`, is the aggregate.

    Returns:
        The engine's new state, or `None` for the one that it has, and the outcome.
    """
    num_dropped = 0
    while len(cohort):
        correction = latest.correction(round_number, cohort.ids, learning_rate)
        trained = train(cohort, correction)
        finite = np.isfinite(trained.updates).all(axis=1)
        if finite.all():
            outcome = replace(trained.outcome, num_dropped=num_dropped)
            if outcome.rejected:
                return None, outcome
            latest.store(cohort.ids, trained.updates, learning_rate)
            return trained.state, outcome
        num_dropped += int(np.count_nonzero(~finite))
        cohort = latest.without(round_number, cohort, finite)
    return None, replace(EMPTY_ROUND, num_dropped=num_dropped)


def flat(leaves: Sequence[np.ndarray]) -> np.ndarray:
    """Puts updates of m clients, each leaf `[m, ...]`, side by side: `[m, num_weights]`."""
    return np.concatenate([leaf.reshape(len(leaf), -1) for leaf in leaves], axis=1)


def leaves_of(values: np.ndarray, like: Sequence[Any]) -> list[np.ndarray]:
    """Cuts `[num_weights]` into arrays of the shapes of `like`."""
    ends = np.cumsum([int(np.prod(leaf.shape)) for leaf in like])
    parts = np.split(values, ends[:-1])
    return [part.reshape(leaf.shape) for part, leaf in zip(parts, like)]
