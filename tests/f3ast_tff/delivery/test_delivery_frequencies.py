"""Frequencies of lost updates, in closed form; losses are fixed by (seed, round, client)."""

from __future__ import annotations

from collections.abc import Callable
from math import erf, sqrt
from typing import Any

import numpy as np
import pytest

from f3ast_tff.availability import FixedK, IndependentAvailability, Table
from f3ast_tff.core.errors import ParameterError
from f3ast_tff.core.round_constraint import RoundConstraint
from f3ast_tff.delivery import Bernoulli, Deadline, Delivery, OverCommit, TraceDelivery
from f3ast_tff.delivery.losses import loss_by_rank, until_slowest
from f3ast_tff.delivery.over_commit import MoreAsked
from tests.f3ast_tff.delivery.small_world import ALIKE, world

N, ROUNDS, Z = 40, 500, 4.5
EVERYBODY = np.arange(N)
EXAMPLES = np.full(N, 1000)
# All times are 10 s, except for the jitter.
JITTERED: dict[str, Any] = {**ALIKE, "device_jitter": 0.5}
Q = np.linspace(0.2, 0.9, N)
PROCESS = IndependentAvailability(Q, seed=3)


def bernoulli(loss: float, **given: Any) -> Bernoulli:
    return Bernoulli(loss_probability=loss, **given).build(
        world(EXAMPLES, seed=2, num_bytes=1000, process=PROCESS)
    )


def deadline(seconds: float, **given: Any) -> Deadline:
    return Deadline(deadline_seconds=seconds, **given).build(world(EXAMPLES, num_bytes=1000))


def over_commit(k: int, examples: np.ndarray = EXAMPLES, **given: Any) -> OverCommit:
    constraint = FixedK(clients_per_round=k)
    return OverCommit(**given).build(world(examples, num_bytes=1000, constraint=constraint))


def trace(slot: float | None, process: Any = PROCESS, seed: int = 2, **given: Any) -> TraceDelivery:
    n = process.num_clients
    made = world(EXAMPLES[:n], seed=seed, process=process)
    return TraceDelivery(slot_seconds=slot, **given).build(made)


DELIVERIES: dict[str, Callable[[], Any]] = {
    "bernoulli": lambda: bernoulli(0.4, loss_follows="availability"),
    "deadline": lambda: deadline(10.0),
    "over_commit": lambda: over_commit(30),
    "trace": lambda: trace(None),
    "trace in slots": lambda: trace(7.0),
}


def shares(delivery: Delivery, ids: np.ndarray = EVERYBODY, rounds: int = ROUNDS) -> np.ndarray:
    """Returns the share of rounds in which each client is delivered, if all are asked."""
    return np.mean([delivery.arrivals(t, ids).delivered for t in range(1, rounds + 1)], axis=0)


def assert_shares(found: np.ndarray, expected: np.ndarray | float, rounds: int = ROUNDS) -> None:
    chance = np.broadcast_to(expected, found.shape)
    assert np.all(np.abs(found - chance) <= Z * np.sqrt(chance * (1 - chance) / rounds))


@pytest.mark.parametrize("name", DELIVERIES)
def test_a_function_of_seed_round_and_client(name: str) -> None:
    """The order of calls does not matter; nor do other clients, except for `over_commit`."""
    rounds = [3, 1, 2, 3]
    one, other = DELIVERIES[name](), DELIVERIES[name]()
    found = {t: one.arrivals(t, EVERYBODY) for t in (1, 2, 3)}
    for t in rounds:
        again = other.arrivals(t, EVERYBODY)
        np.testing.assert_array_equal(again.delivered, found[t].delivered)
        np.testing.assert_array_equal(again.seconds, found[t].seconds)
        assert again.round_seconds == found[t].round_seconds
    some = np.array([7, 31, 7, 2])
    fewer = other.arrivals(2, some)
    if name != "over_commit":
        np.testing.assert_array_equal(fewer.delivered, found[2].delivered[some])
    np.testing.assert_array_equal(fewer.seconds[[0, 2]], fewer.seconds[[0, 0]])
    assert not np.array_equal(found[1].seconds, found[2].seconds)


@pytest.mark.parametrize("name", DELIVERIES)
def test_nobody_asked_takes_no_time(name: str) -> None:
    nobody = DELIVERIES[name]().arrivals(1, np.zeros(0, np.int64))
    assert (len(nobody.delivered), len(nobody.seconds), nobody.round_seconds) == (0, 0, 0)


@pytest.mark.parametrize("follows", ["none", "availability"])
def test_bernoulli_loses_its_share(follows: str) -> None:
    lossy = bernoulli(0.3, loss_follows=follows)
    assert np.mean(lossy.loss) == pytest.approx(0.3)
    assert (np.ptp(lossy.loss) > 0) == (follows != "none")
    assert_shares(shares(lossy), 1 - lossy.loss)


def test_bernoulli_losses_are_independent_over_clients_and_rounds() -> None:
    """Two clients per round, or one client in two rounds, are both delivered with chance 1/4."""
    lossy = bernoulli(0.5)
    delivered = np.array([lossy.arrivals(t, EVERYBODY).delivered for t in range(1, 1001)])
    pairs = delivered[:, ::2] & delivered[:, 1::2]
    assert_shares(pairs.mean(axis=0), 0.25, 1000)
    # Overlapping pairs of rounds count half.
    assert_shares((delivered[1:] & delivered[:-1]).mean(axis=0), 0.25, 500)


def test_bernoulli_round_lasts_until_the_slowest_delivered() -> None:
    lossy = bernoulli(0.5)
    for t in range(1, 50):
        found, every = lossy.arrivals(t, EVERYBODY), lossy.seconds(t, EVERYBODY)
        np.testing.assert_array_equal(found.seconds, np.where(found.delivered, every, np.inf))
        assert found.round_seconds == every[found.delivered].max()
    every = lossy.seconds(1, EVERYBODY)
    assert until_slowest(np.zeros(N, bool), every).round_seconds == every.max()


@pytest.mark.parametrize("mean", [0.0, 0.1, 0.5, 0.8])
def test_loss_by_rank_by_hand(mean: float) -> None:
    """Four clients, u = 1/8, 3/8, 5/8, 7/8; the middle two are equal: 1/2 each."""
    found = loss_by_rank(np.array([5, 9, 70, 9]), mean)
    u = np.array([0.125, 0.5, 0.875, 0.5])
    low, high = 2 * mean * u, 1 - 2 * (1 - mean) * (1 - u)
    np.testing.assert_allclose(found, low if mean <= 0.5 else high)
    assert found.mean() == pytest.approx(mean)
    assert np.all((found >= 0) & (found < 1))


@pytest.mark.long
def test_deadline_loses_the_late() -> None:
    """P(10 s exp(z / 2) > D) = Phi(2 log(10 / D))."""
    for limit in (6.0, 10.0, 17.0):
        late = (1 + erf(2 * np.log(10 / limit) / sqrt(2))) / 2
        assert_shares(shares(deadline(limit, device_kbps=1e9, **JITTERED)), 1 - late)


def test_deadline_ends_a_round_unless_all_are_there_before() -> None:
    late = deadline(25.0)
    ends = []
    for t in range(1, 100):
        found = late.arrivals(t, EVERYBODY[t % 30 : t % 30 + 3])
        np.testing.assert_array_equal(found.delivered, found.seconds <= 25)
        ends.append(found.round_seconds)
        assert ends[-1] == (found.seconds.max() if found.delivered.all() else 25)
    assert 25 in ends and min(ends) < 25


def test_an_update_at_the_deadline_is_in_time() -> None:
    """The slowest client's typical time is the quantile 1 of them."""
    slowest = Deadline(deadline_quantile=1.0, device_jitter=0.0).build(world(EXAMPLES))
    assert slowest.arrivals(1, EVERYBODY).delivered.all()


def test_over_commitment_takes_the_first() -> None:
    """Of 40 clients, equal up to the jitter, each is among the first 30 with probability 3/4."""
    first = over_commit(30, **JITTERED)
    found = [first.arrivals(t, EVERYBODY) for t in range(1, ROUNDS + 1)]
    for each in found:
        assert each.delivered.sum() == 30
        assert each.seconds[each.delivered].max() == each.round_seconds
        assert each.seconds[~each.delivered].min() >= each.round_seconds
    assert_shares(np.mean([each.delivered for each in found], axis=0), 0.75)
    fewer = first.arrivals(1, EVERYBODY[:20])
    assert fewer.delivered.all() and fewer.round_seconds == fewer.seconds.max()


def test_all_draws_of_a_client_meet_one_fate() -> None:
    """Clients 0, 1, 2 take 100, 10, 50 s; client 1's four draws arrive together."""
    examples = np.array([100, 10, 50])
    seconds = {"device_example_ms": 1000.0, "device_kbps": 1e30, **ALIKE}
    ids = np.array([0, 1, 1, 2, 1, 1])
    found = over_commit(3, examples, **seconds).arrivals(1, ids)
    assert found.delivered.tolist() == [False, True, True, False, True, True]
    assert found.round_seconds == 10
    found = over_commit(5, examples, **seconds).arrivals(1, ids)
    assert found.delivered.tolist() == [False, True, True, True, True, True]
    assert found.round_seconds == 50


def test_more_are_asked_than_wanted() -> None:
    for factor, k, n, expected in ((1.3, 10, 99, 13), (1.1, 10, 99, 11), (2, 30, 40, 40)):
        more = MoreAsked(FixedK(clients_per_round=k), factor, n)
        assert (more.largest_k, more.limit(1).k) == (expected, expected)
        assert more.mean_k == pytest.approx(min(factor * k, n))
    assert MoreAsked(FixedK(clients_per_round=5), 1.0, 9).limit(1) == RoundConstraint(5)

    class Budget(FixedK):
        def limit(self, round_number: int) -> RoundConstraint:
            return RoundConstraint(5, cost=np.ones(9), budget=4.0)

    with pytest.raises(ParameterError, match="over_commit needs a constraint on the number"):
        MoreAsked(Budget(clients_per_round=5), 1.3, 9).limit(1)


def test_trace_loses_who_is_away_when_the_next_round_begins() -> None:
    """Rounds are independent: client k is delivered with probability q_k."""
    assert_shares(shares(trace(None, **ALIKE)), Q)


@pytest.mark.parametrize(("slot", "slots"), [(40.0, 0.25), (4.0, 2.5)])
def test_trace_in_slots_loses_who_leaves_before_it_is_done(slot: float, slots: float) -> None:
    """A client is done after s = 10 s / L slots.

    It is available in each independently, with chance q. It stays for floor(s) slots with
    probability q^floor(s). In the next slot it needs a part f. If it leaves, it does so at a
    uniform time, so it stays long enough with probability 1 - f (1 - q).
    """
    whole, part = divmod(slots, 1)
    expected = Q**whole * (1 - part * (1 - Q))
    assert_shares(shares(trace(slot, **ALIKE)), expected)


def test_trace_by_hand() -> None:
    """10 s in slots of 4 s: a client first away in round t + 3 is lost if it leaves within 2 s."""
    masks = np.ones((6, 4), bool)
    masks[1, 0] = masks[2, 1] = masks[3, 2] = masks[4, 3] = False
    found = [
        trace(4.0, Table(masks), seed, **ALIKE).arrivals(1, np.arange(4)) for seed in range(200)
    ]
    delivered = np.mean([each.delivered for each in found], axis=0)
    assert delivered[[0, 1, 3]].tolist() == [0, 0, 1]
    assert_shares(delivered[2:3], 0.5, 200)
    with pytest.raises(ParameterError, match="must be at least 0.1"):
        trace(0.09, Table(masks), **ALIKE).arrivals(1, np.arange(4))
    next_round = trace(None, Table(masks)).arrivals(1, np.arange(4))
    assert next_round.delivered.tolist() == [False, True, True, True]


def test_masks_are_made_once_and_in_order() -> None:
    """A run asks for round t, then looks at later rounds; no round is asked for twice."""
    asked: list[int] = []

    class Counting(IndependentAvailability):
        def mask(self, round_number: int) -> np.ndarray:
            asked.append(round_number)
            return super().mask(round_number)

    delivery = trace(4.0, Counting(Q, seed=3), **ALIKE)
    masks = delivery.world.masks
    for t in range(1, 6):
        before = masks.mask(t)
        before[:] = False  # Callers may change their mask.
        delivery.arrivals(t, EVERYBODY)
    np.testing.assert_array_equal(masks.mask(5), IndependentAvailability(Q, seed=3).mask(5))
    assert asked == list(range(1, 9))
    masks.forget_before(9)
    assert masks.mask(8).any() and asked[-1] == 8


def test_slots_that_are_too_short_are_refused_before_the_first_round() -> None:
    """The longest typical time, times e^(5/4) for a jitter of 1/4, is 100 slots at most."""
    longest = trace(None).typical(EVERYBODY).max() * np.exp(5 / 4)
    with pytest.raises(ParameterError, match="slot_seconds = .*: a client may take .* s; must be"):
        trace(longest / 101, device_jitter=0.25)
    assert trace(longest / 99, device_jitter=0.25).arrivals(1, EVERYBODY).delivered.any()


def test_slots_are_for_the_clients_with_data() -> None:
    """One example of 10 ms is 100 slots of 0.1 ms."""
    clients = world(np.array([1, 0]))
    TraceDelivery(slot_seconds=1.01e-4, **ALIKE).build(clients)
    with pytest.raises(ParameterError, match="slot_seconds = 9.9e-05: .* at least 0.0001"):
        TraceDelivery(slot_seconds=9.9e-5, **ALIKE).build(clients)
