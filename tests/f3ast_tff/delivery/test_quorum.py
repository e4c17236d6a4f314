"""Quorums and failed rounds: by hand, chances of a place in closed form, and speeds by site."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.special import ndtr, ndtri  # type: ignore[import-untyped]

from f3ast_tff import simulate
from f3ast_tff.availability import FixedK, SitesConfig
from f3ast_tff.core.errors import ParameterError
from f3ast_tff.core.rates import ParticipationRates
from f3ast_tff.core.round_constraint import RoundConstraint
from f3ast_tff.delivery import Arrivals, Delivery, Quorum
from f3ast_tff.delivery.losses import LossyConfig
from f3ast_tff.methods.f3ast import F3AST
from f3ast_tff.methods.parts.strategy import Cohort, Round
from f3ast_tff.run.delivering import Payload, deliver
from tests.f3ast_tff.delivery.small_world import ALIKE, world
from tests.f3ast_tff.run.small_run import STRATEGIES, failing, run

# Four clients that need 1, 2, 4 and 8 seconds.
EXAMPLES = np.array([100, 200, 400, 800])


def quorum(examples: np.ndarray = EXAMPLES, jitter: float = 0.0, **given: Any) -> Quorum:
    made = Quorum(**{**ALIKE, "device_jitter": jitter, **given})
    return made.build(world(examples, constraint=FixedK(len(examples))))


@pytest.mark.parametrize(
    ("given", "asked", "delivered", "seconds", "failed"),
    [
        ({}, [0, 1, 2, 3], [1, 1, 1, 1], 8, False),
        ({"quorum": 2}, [3, 0, 1, 2], [0, 1, 1, 0], 2, False),
        # Two more seconds; then all are there before these are over.
        ({"quorum": 2, "quorum_wait": 2.0}, [0, 1, 2, 3], [1, 1, 1, 0], 4, False),
        ({"quorum": 3, "quorum_wait": 60.0}, [0, 1, 2, 3], [1, 1, 1, 1], 8, False),
        # The timeout cuts the wait, or comes before the quorum.
        ({"quorum": 2, "quorum_wait": 9.0, "quorum_timeout": 5.0}, [0, 1, 3], [1, 1, 0], 5, False),
        ({"quorum": 3, "quorum_timeout": 3.0}, [0, 1, 2, 3], [1, 1, 0, 0], 3, True),
        (
            {"quorum": 3, "quorum_timeout": 3.0, "quorum_failed": "shorter"},
            [0, 1, 2, 3],
            [1, 1, 0, 0],
            3,
            False,
        ),
        # Two sites are there, and three are needed.
        ({"quorum": 3}, [0, 2], [1, 1], 4, True),
        ({"quorum": 3, "quorum_failed": "shorter"}, [0, 2], [1, 1], 4, False),
        ({"quorum": 3, "quorum_failed": "skip"}, [0, 2], [0, 0], 0, True),
        ({"quorum": 3}, [], [], 0, False),
        # A client drawn twice arrives once.
        ({"quorum": 2}, [0, 0, 2, 3], [1, 1, 1, 0], 4, False),
    ],
)
def test_rounds_by_hand(
    given: dict[str, Any], asked: list[int], delivered: list[int], seconds: float, failed: bool
) -> None:
    found = quorum(**given).arrivals(1, np.array(asked, np.int64))
    assert found.delivered.astype(int).tolist() == delivered
    assert (found.round_seconds, found.failed) == (pytest.approx(seconds), failed)


def place_in_quorum(median: np.ndarray, jitter: float, size: int) -> np.ndarray:
    """P(client k is among the first q), for independent log-normal times.

    Given that k arrives at x, another client j is earlier with chance F_j(x); their number has the
    law of a sum of independent trials. The integral is over the quantiles of k's time.
    """
    z = ndtri((np.arange(4000) + 0.5) / 4000)
    found = []
    for k in range(len(median)):
        times = median[k] * np.exp(jitter * z)
        earlier = np.zeros((len(z), len(median) + 1))
        earlier[:, 0] = 1
        for j in np.delete(np.arange(len(median)), k):
            chance = ndtr(np.log(times / median[j]) / jitter)[:, None]
            more = np.roll(earlier, 1, axis=1)
            more[:, 0] = 0
            earlier = earlier * (1 - chance) + more * chance
        found.append(earlier[:, :size].sum(axis=1).mean())
    return np.array(found)


@pytest.mark.long
@pytest.mark.parametrize("size", [1, 2, 3])
def test_chance_of_a_place_in_closed_form(size: int) -> None:
    """4000 rounds: within 4.5 deviations of the share of rounds in which a client is delivered."""
    examples, rounds = np.array([100, 150, 200, 500]), 4000
    made = quorum(examples, jitter=0.5, quorum=size)
    everybody = np.arange(4)
    shares = np.mean([made.arrivals(t, everybody).delivered for t in range(1, rounds + 1)], axis=0)
    expected = place_in_quorum(examples / 100, 0.5, size)
    assert expected.sum() == pytest.approx(size, abs=1e-3)
    assert (np.abs(shares - expected) <= 4.5 * np.sqrt(expected / rounds) + 1e-3).all()


@pytest.mark.long
def test_a_quorum_of_all_succeeds_as_often_as_all_are_there(tmp_path: Path) -> None:
    """Eight sites at 90%: .9^8 = .4305 of the rounds; 2000 rounds, deviation .011."""
    path = tmp_path / "sites.csv"
    path.write_text("site,presence\n" + "".join(f"{name},0.9\n" for name in "ABCDEFGH"))
    process = SitesConfig(site_file=str(path)).build(np.full(8, 1 / 8), seed=3)
    made = quorum(np.full(8, 100), quorum=8)
    failed = [made.arrivals(t, np.flatnonzero(process.mask(t))).failed for t in range(1, 2001)]
    assert 1 - np.mean(failed) == pytest.approx(0.9**8, abs=0.05)


def test_a_site_has_its_own_speed(tmp_path: Path) -> None:
    """100 examples of 2 s and 50 kilobits at 10 a second: 205 s; 400 of 1 s at 5: 410 s."""
    path = tmp_path / "sites.csv"
    path.write_text("site,seconds_per_example,kbps\nA,2,10\nB,1,5\n")
    process = SitesConfig(site_file=str(path)).build(np.full(2, 0.5), seed=3)
    examples = np.array([100, 400])
    asked = world(examples, num_bytes=6250, process=process, constraint=FixedK(2))
    assert Quorum().build(asked).typical(np.arange(2)).tolist() == [205, 410]


def test_a_run_has_the_same_rounds_on_every_engine(tmp_path: Path) -> None:
    given: dict[str, Any] = {
        "algorithm": "f3ast",
        "num_clients": 8,
        "clients_per_round": 8,
        "availability": "always",
        "delivery": "quorum",
        "quorum": 5,
        "rounds": 4,
    }
    host, fused = (simulate(engine=engine, **given) for engine in ("host", "fused"))
    assert host.selection["num_delivered"].tolist() == [5, 5, 5, 5]
    assert host.selection["delivered"].tolist() == fused.selection["delivered"].tolist()
    for name in ("test_sample_loss", "simulated_seconds"):
        np.testing.assert_allclose(host.metrics[name], fused.metrics[name], rtol=1e-4)


def test_a_quorum_that_no_round_can_have() -> None:
    settings = {"delivery": "quorum", "num_clients": 8, "clients_per_round": 8, "engine": "host"}
    with pytest.raises(ParameterError, match="must be at most 8, the clients asked per round"):
        simulate(rounds=1, quorum=9, **settings)


@dataclass(frozen=True)
class Receives(LossyConfig):
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
    delivery = Receives(ids=delivered, fail_below_arrivals=share)
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
        delivery = Receives(ids=delivered, fail_below_arrivals=0.8)
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
