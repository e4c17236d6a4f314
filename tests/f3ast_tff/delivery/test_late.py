"""Rounds until an update arrives: by the clock, or drawn."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from f3ast_tff.delivery import Late
from f3ast_tff.delivery.late import geometric
from f3ast_tff.settings.configuration import Settings
from tests.f3ast_tff.delivery.small_world import ALIKE, world

EVERYBODY = np.arange(4)


def test_by_the_clock() -> None:
    """10 ms per example, rounds of 2 s: 1, 2, 2.01 and 7 s arrive in rounds t, t, t + 1, t + 3.

    An update that is complete when its round ends arrives in it: ceil(2 / 2) - 1 = 0. Rounds last
    2 s, whichever clients are asked. If at most one round of delay is allowed, the last update is
    lost, and given up after one round.
    """
    late = Late(late_round_seconds=2.0, **ALIKE).build(world(np.array([100, 200, 201, 700])))
    found = late.arrivals(5, EVERYBODY)
    assert found.rounds is not None
    assert found.rounds.tolist() == [0, 0, 1, 3] and found.delivered.all()
    np.testing.assert_allclose(found.seconds, [1, 2, 2.01, 7])
    assert found.round_seconds == late.arrivals(6, EVERYBODY[:0]).round_seconds == 2
    short = replace(late, late_most_rounds=1).arrivals(5, EVERYBODY)
    assert short.rounds is not None and short.rounds.tolist() == [0, 0, 1, 1]
    assert short.delivered.tolist() == [True, True, True, False]
    assert np.isinf(short.seconds[3])


def test_rounds_beyond_any_integer_are_a_loss(tmp_path: Path) -> None:
    """3e297 s over 1e-20 s is infinite, and no warning."""
    (tmp_path / "slow.csv").write_text("device,computation,communication\na,1e300,1000\n")
    given: dict[str, Any] = {"device_file": str(tmp_path / "slow.csv"), "device_jitter": 0.0}
    late = Late(late_round_seconds=1e-20, **given).build(world(np.array([1])))
    found = late.arrivals(1, np.array([0]))
    assert found.rounds is not None and found.rounds.dtype == np.int64
    assert (found.rounds.tolist(), found.delivered.tolist()) == ([50], [False])


def test_a_round_lasts_a_quantile_of_the_clients_times() -> None:
    """Times 1, 2, 3, 4 s have median 2.5 s, so the last two are one round late."""
    late = Late(**ALIKE).build(world(np.array([100, 200, 300, 400])))
    found = late.arrivals(1, EVERYBODY)
    assert found.round_seconds == pytest.approx(2.5)
    assert found.rounds is not None and found.rounds.tolist() == [0, 0, 1, 1]


def test_geometric_by_hand() -> None:
    """Mean 1, q = 1/2: P(tau >= j) = 2^-j, so u below 1/2 gives 0, below 3/4 gives 1, ..."""
    u = np.array([0.0, 0.49, 0.5, 0.74, 0.75, 0.87, 0.875])
    assert geometric(u, 1.0).tolist() == [0, 0, 1, 1, 2, 2, 3]
    assert geometric(u, 0.0).tolist() == [0] * 7
    assert geometric(u, 0.0).dtype == geometric(u, 1.0).dtype == np.int64


@pytest.mark.parametrize(
    ("by", "largest", "in_time"),
    [("geometric", None, 1 / 4), ("uniform", 6, 1 / 7), ("fixed", 3, 0)],
)
def test_drawn_with_the_mean_asked_for(by: str, largest: int | None, in_time: float) -> None:
    """100,000 draws of mean 3: their mean is within 5 standard errors, sqrt(12 / 1e5) at most.

    P(tau = 0) is 1 - q = 1 / (1 + 3), one of 7 values, and 0; 5 standard errors are below 0.007.
    """
    late = Late(late_by=by, late_rounds=3.0).build(world(np.full(1000, 10)))
    found = [late.arrivals(t, np.arange(1000)) for t in range(1, 101)]
    rounds = np.concatenate([one.rounds for one in found if one.rounds is not None])
    assert rounds.mean() == pytest.approx(3, abs=5 * np.sqrt(12 / 1e5)) and rounds.min() >= 0
    assert largest is None or rounds.max() == largest
    assert (rounds == 0).mean() == pytest.approx(in_time, abs=0.007) and rounds.dtype == np.int64
    assert np.isnan(found[0].round_seconds) and np.isnan(found[0].seconds).all()


def test_each_client_and_round_has_a_fate_of_its_own() -> None:
    by_clock = Late().build(world(np.full(50, 10)))
    for t in (1, 2):
        seconds = by_clock.arrivals(t, np.arange(50)).seconds
        np.testing.assert_array_equal(seconds, by_clock.seconds(t, np.arange(50)))
        assert len({*seconds / by_clock.typical(np.arange(50))}) > 40
    late = Late(late_by="geometric").build(world(np.full(50, 10)))
    one, other = (late.arrivals(t, np.arange(50)).rounds for t in (1, 2))
    assert one is not None and other is not None and (one != other).any()
    alone = late.arrivals(1, np.array([7, 3, 7])).rounds
    assert alone is not None and alone.tolist() == one[[7, 3, 7]].tolist()


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"late_rounds": 5.0}, ["late_rounds=5.0 has no effect with late_by=clock"]),
        ({"late_by": "fixed", "device_jitter": 1.0}, ["device_jitter=1.0 has no effect"]),
        ({"late_by": "fixed", "late_rounds": 5.0}, []),
        ({"device_jitter": 1.0}, []),
    ],
)
def test_settings_without_effect_are_named(
    given: dict[str, Any], said: list[str], caplog: pytest.LogCaptureFixture
) -> None:
    Late(**given).build(world(np.array([100, 200])))
    assert len(caplog.messages) == len(said)
    assert all(part in message for part, message in zip(said, caplog.messages))


@pytest.mark.parametrize(("by", "mean"), [("geometric", 0.7), ("uniform", 1.5), ("clock", 0.7)])
def test_means_that_are_possible_are_taken(by: str, mean: float) -> None:
    Late(late_by=by, late_rounds=mean).check(Settings.of({}))
