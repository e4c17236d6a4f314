"""Schedules of the client learning rate: by hand, as settings, and over an interrupted run."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from f3ast_tff.core.schedules import client_schedule
from f3ast_tff.optimizers import Geometric, Inverse, InverseSqrt, Schedule, Sgd
from f3ast_tff.settings.resolve import resolve
from f3ast_tff.simulation import simulate

INVERSE_SQRT = {"client_lr": 0.1, "client_lr_schedule": "inverse_sqrt"}


@pytest.mark.parametrize(
    ("schedule", "expected"),
    [
        (Schedule(), [1, 1, 1, 1]),
        (Geometric(0.5), [1, 1 / 2, 1 / 4, 2**-30]),
        # MIFA, t = 0, 1, 2, 30: 1 / (t + 1).
        (Inverse(), [1, 1 / 2, 1 / 3, 1 / 31]),
        (Inverse(10), [1, 10 / 11, 10 / 12, 1 / 4]),
        # FedAWE, t = 0, 1, 2, 30: 1 / sqrt(t / 10 + 1).
        (InverseSqrt(), [1, 1 / np.sqrt(1.1), 1 / np.sqrt(1.2), 1 / 2]),
        (InverseSqrt(1), [1, 1 / np.sqrt(2), 1 / np.sqrt(3), 1 / np.sqrt(31)]),
    ],
)
def test_factors_by_hand(schedule: Schedule, expected: list[float]) -> None:
    factors = [schedule.factor(t) for t in (1, 2, 3, 31)]
    np.testing.assert_allclose(factors, expected, rtol=1e-15)
    assert schedule.is_constant == (expected[1] == 1)
    assert Sgd(0.1, schedule=schedule).rate(31) == pytest.approx(0.1 * expected[-1])


def test_a_decay_of_1_is_constant() -> None:
    assert Geometric(1.0).is_constant


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({}, Schedule()),
        ({"client_lr_decay": 0.9}, Geometric(0.9)),
        ({"client_lr_schedule": "geometric", "client_lr_decay": 0.9}, Geometric(0.9)),
        ({"client_lr_schedule": "inverse"}, Inverse(1)),
        ({"client_lr_schedule": "inverse_sqrt"}, InverseSqrt(10)),
        ({"client_lr_schedule": "inverse_sqrt", "client_lr_rounds": 2}, InverseSqrt(2)),
    ],
)
def test_settings(given: dict[str, Any], expected: Schedule) -> None:
    training = resolve(given).settings.training
    found = client_schedule(
        training.client_lr_schedule,
        decay=training.client_lr_decay,
        rounds=training.client_lr_rounds,
    )
    assert found == expected


def test_a_run_follows_the_schedule() -> None:
    """By settings as by an optimizer; `run/test_interrupted.py` has one that goes on."""
    given = {"num_clients": 5, "clients_per_round": 2, "rounds": 6, "device": "cpu"}
    whole = simulate(**given, **INVERSE_SQRT)
    own = Sgd(0.1, schedule=InverseSqrt())
    for a, b in zip(whole.weights, simulate(**given, client_optimizer=own).weights):
        np.testing.assert_array_equal(a, b)
    constant = simulate(**given, client_lr=0.1)
    assert np.abs(constant.weights[0] - whole.weights[0]).max() > 1e-3
