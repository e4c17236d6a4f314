"""Failed rounds: too few updates arrive, and the server drops all."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pytest

from f3ast_tff.core.rates import ParticipationRates
from f3ast_tff.core.round_constraint import RoundConstraint
from f3ast_tff.delivery import Arrivals, Delivery
from f3ast_tff.delivery.losses import LossyConfig
from f3ast_tff.methods.f3ast import F3AST
from f3ast_tff.methods.parts.strategy import Cohort, Round
from f3ast_tff.run.delivering import Payload, deliver
from tests.f3ast_tff.run.small_run import STRATEGIES, failing, run


@dataclass(frozen=True)
class Delivered(LossyConfig):
    """A delivery that receives these clients, in rounds of 5 seconds."""

    ids: tuple[int, ...] = ()

    def sent(self, round_number: int, ids: np.ndarray) -> Arrivals:
        return Arrivals(np.isin(ids, self.ids), np.ones(len(ids)), 5.0)


class AllLostWhere:
    """Loses all clients in the rounds in which another delivery fails."""

    def __init__(self, failing: Delivery) -> None:
        self.failing = failing

    def arrivals(self, round_number: int, ids: np.ndarray) -> Arrivals:
        found = self.failing.arrivals(round_number, ids)
        return replace(found, delivered=found.delivered & (not found.failed), failed=False)


@pytest.mark.parametrize(
    ("asked", "delivered", "share", "failed"),
    [
        ([0, 1, 2, 3, 4], (0, 1, 2, 3), 0.8, False),
        ([0, 1, 2, 3, 4], (0, 1, 2), 0.8, True),
        # 0.7 * 10 is 7.000000000000001.
        (list(range(10)), tuple(range(7)), 0.7, False),
        # One of two clients, but two of three draws.
        ([4, 4, 2], (4,), 0.6, True),
        ([4, 4, 2], (4,), 0.5, False),
        ([3], (), 0.01, True),
        ([3], (3,), 1.0, False),
        ([], (), 1.0, False),
    ],
)
def test_share_of_the_clients_asked(
    asked: list[int], delivered: tuple[int, ...], share: float, failed: bool
) -> None:
    ids = np.array(asked, np.int64)
    delivery = Delivered(ids=delivered, fail_below_arrivals=share)
    plain, found = delivery.sent(1, ids), delivery.arrivals(1, ids)
    assert (found.failed, found.round_seconds) == (failed, 5.0)
    assert found.delivered.tolist() == plain.delivered.tolist()


def test_failed_round_by_hand() -> None:
    """Three clients are asked, 7 bytes down, 3 up; two arrive, less than 0.8 of them.

    No client trains; 21 bytes went down and 6 came up, in 5 seconds. As in an empty round, all
    rates fall from 0.5 by the factor 1 - beta = 0.9. In round 2 all three arrive:
    0.9 * 0.45 + 0.1 = 0.505.
    """
    rates = ParticipationRates(np.full(3, 0.5), 0.1)
    strategy = F3AST.tracking(np.full(3, 1 / 3), rates)

    def round_of(t: int, *delivered: int) -> tuple[Cohort, tuple[float, int, int, bool]]:
        now = Round(t, np.ones(3, bool), RoundConstraint(3))
        delivery = Delivered(ids=delivered, fail_below_arrivals=0.8)
        found = deliver(delivery, strategy, Payload(7, 3), now, strategy.select(now), [], 3)
        assert found.delivered.sum() == len(found.cohort)
        return found.cohort, (found.seconds, found.bytes_down, found.bytes_up, found.failed)

    cohort, spent = round_of(1, 0, 2)
    assert len(cohort) == 0 and spent == (5.0, 21, 6, True)
    np.testing.assert_allclose(rates.values, 0.45, rtol=1e-15)
    cohort, spent = round_of(2, 0, 1, 2)
    assert len(cohort) == 3 and spent == (5.0, 21, 9, False)
    np.testing.assert_allclose(rates.values, 0.505, rtol=1e-15)


@pytest.mark.parametrize("block_rounds", [1, 100])
@pytest.mark.parametrize("name", STRATEGIES)
def test_failed_round_is_one_in_which_all_are_lost(
    name: str, block_rounds: int, caplog: pytest.LogCaptureFixture
) -> None:
    """This holds for any state of the strategy; bytes of arrived updates still count."""
    strategy = STRATEGIES[name]
    result, engine, _ = run(None, strategy, delivery=failing(), block_rounds=block_rounds)
    record = result.selection
    failed = (record["num_delivered"] == 0) & (record["bytes_up"] > 0)
    assert failed.any() and (record["num_delivered"] > 0).any()
    assert caplog.text.count("failed, too few updates of 2 clients arrived") == 1
    assert not any(len(engine.cohorts[t]) for t in np.flatnonzero(failed))
    lost = AllLostWhere(failing())
    other, _, _ = run(None, strategy, delivery=lost, block_rounds=block_rounds)
    for key, array in other.selection.items():
        if key == "bytes_up":
            np.testing.assert_array_equal(array[~failed], record[key][~failed])
        else:
            np.testing.assert_array_equal(array, record[key])
    assert result.summary["lost_updates"] == other.summary["lost_updates"]
