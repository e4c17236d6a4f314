"""Measuring whether clients are available together."""

from __future__ import annotations

import logging

import numpy as np
import pytest

from benchmarks.availability_speed import NAMES
from f3ast_tff.availability import AvailabilityConfig, Markov
from f3ast_tff.availability.joint_availability import measure_joint_availability, measured_and_said
from f3ast_tff.availability.logs.mask_files import packed_masks
from f3ast_tff.settings import builtin_registry

P = np.full(60, 1 / 60)
ROUNDS = range(1, 1001)


@pytest.mark.parametrize("name", NAMES)
def test_the_measure_finds_what_processes_declare(name: str) -> None:
    config: AvailabilityConfig = builtin_registry().components["availability"][name].config()
    process = config.build(P, 1)
    found = measure_joint_availability(np.array([process.mask(t) for t in ROUNDS]))
    assert found.positive == config.positively_correlated
    assert found.objective == ("p" if config.positively_correlated else "p_squared")


def test_groups_that_take_turns() -> None:
    """Of 59 other clients, 29 share the group, with correlation 1; the other 30 count as 0."""
    turns = (np.arange(200)[:, None] // 5 + np.arange(60)) % 2 == 0
    found = measure_joint_availability(turns)
    assert found.correlation == pytest.approx(29 / 59, abs=0.02)
    assert found.low > 0.4


@pytest.mark.parametrize(("rounds", "stay"), [(336, 5), (336, 10), (1000, 20)])
def test_clients_that_stay_long_are_not_together(rounds: int, stay: int) -> None:
    """Independent clients that stay for a tenth to a third of a part."""
    found = []
    for seed in range(4):
        process = Markov(np.full(100, 0.3), np.full(100, 1 - 1 / stay), seed)
        masks = np.array([process.mask(t) for t in range(1, rounds + 1)])
        found.append(measure_joint_availability(masks))
    assert abs(np.mean([each.correlation for each in found])) < 0.004
    assert not any(each.low > 0.01 for each in found)


def test_a_short_log_leaves_the_safe_case() -> None:
    """31 rounds are too few. Clients available always or never correlate with no other client."""
    draws = np.random.default_rng(0).random((400, 60)) < 0.3
    short = measure_joint_availability(draws[:31])
    assert np.isnan(short.correlation) and short.objective == "p"
    assert "fewer than 32 rounds" in str(short)
    draws[:, :20] = [False, True] * 10
    assert measure_joint_availability(draws).objective == "p_squared"


def test_the_objective_is_said(caplog: pytest.LogCaptureFixture) -> None:
    draws = np.random.default_rng(0).random((400, 60)) < 0.3
    with caplog.at_level(logging.WARNING):
        measured_and_said(packed_masks(draws, "x"), "mine.csv")
    (record,) = caplog.records
    assert record.getMessage().startswith("mine.csv: clients do not come and go together: ")
    assert record.getMessage().endswith("], so availability_objective=p_squared")
