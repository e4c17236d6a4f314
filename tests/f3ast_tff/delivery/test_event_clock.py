"""The clock of events, by hand: who starts, who arrives, when the server acts."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from f3ast_tff.core.errors import ParameterError
from f3ast_tff.delivery import Asynchronous
from f3ast_tff.delivery.event_clock import EventClock, Played
from tests.f3ast_tff.delivery.small_world import ALIKE, world


class Masks:
    """Given masks; the last one stays."""

    def __init__(self, *rows: str) -> None:
        self.rows = [np.array([c == "1" for c in row]) for row in rows]

    def mask(self, round_number: int) -> np.ndarray:
        return self.rows[min(round_number, len(self.rows)) - 1]


def lowest(free: np.ndarray, most: int, request: int) -> np.ndarray:
    return np.flatnonzero(free)[:most]


def clock(seconds: list[float], *masks: str, **given: Any) -> EventClock:
    """Clients that take these seconds; a round of availability lasts 1 s."""
    process = Masks(*(masks or ("1" * len(seconds),)))
    examples = (100 * np.array(seconds)).astype(np.int64)
    times = Asynchronous(**{"async_period_seconds": 1.0, **ALIKE, **given})
    return EventClock(times.build(world(examples, process=process)), len(seconds))


def rounds(of: EventClock, number: int, most: int) -> list[tuple[float, list[int], list[int]]]:
    """The time at the end of each round, the clients asked in it, and those that enter."""
    found = []
    for t in range(1, number + 1):
        played = of.play(t, most, lowest)
        entering = played.here if played.acts else []
        of.take(entering)
        found.append((of.seconds, played.asked.tolist(), [work.client for work in entering]))
    return found


@pytest.mark.parametrize(
    ("seconds", "masks", "buffer", "expected"),
    [
        # Clients of 1 s and 3 s: 0 arrives at 1, 2, 3; at 3 s both are there, the first start
        # first. Client 1 started at 0 s, client 0 at 2 s, so 1 enters at 3 s, and 0 in a round of
        # 0 s: the server acts on every arrival.
        (
            *([1, 3], "", 1),
            [(1, [0, 1], [0]), (2, [0], [0]), (3, [0], [1]), (3, [1], [0]), (4, [0], [0])],
        ),
        # Two of four at work, M = 2, each takes 1, 2, 4, 4 s: a start at every arrival. 0 arrives
        # at 1 s and 2 starts at once; 1 arrives at 2 s, and the server acts. Round 2: 0 starts at
        # 2 s, arrives at 3 s, and 1 starts; at 5 s both 2 (started at 1 s) and 1 are there.
        ([1, 2, 4, 4], "", 2, [(2.0, [0, 1, 2], [0, 1]), (5.0, [0, 1], [0, 2])]),
        # No client in periods 1 and 2, which pass; then both, of 0.5 s.
        ([0.5, 0.5], "00 00 11", 2, [(1.0, [], []), (2.0, [], []), (2.5, [0, 1], [0, 1])]),
        # Client 1 comes at 1 s, while 0 works, and starts then; both are there at 2 s.
        ([2, 1], "10 11", 2, [(2.0, [0, 1], [0, 1])]),
        # M = 2; client 0 arrives at 0.5 s, client 1 comes at 1 s: an update waits for the next
        # round if nobody is at work.
        ([0.5, 0.5], "10 01", 2, [(1.0, [0], []), (1.5, [1], [0, 1])]),
        # Two may work, one client is there: an arrival is not held up by free room.
        ([0.5], "", 1, [(0.5, [0], [0]), (1.0, [0], [0])]),
        # Client 1 comes at 1 s, when client 0 arrives and the server acts before it starts.
        ([1, 1], "10 11", 1, [(1.0, [0], [0])]),
        # Client 1 comes in the third period, at 2 s: periods pass one by one.
        ([5, 1], "10 10 11 00", 1, [(3.0, [0, 1], [1])]),
    ],
)
def test_rounds_by_hand(seconds: list[float], masks: str, buffer: int, expected: list[Any]) -> None:
    """Seconds, clients asked, and those whose updates enter, of each round; two may work."""
    found = clock(seconds, *masks.split(), async_buffer=buffer)
    assert rounds(found, len(expected), 2) == expected


@pytest.mark.parametrize(
    ("leavers", "seconds", "arrives", "needed", "masks", "start", "given"),
    [
        # Away from 1 s to 3 s while it trains, for 2.5 s.
        ("stay", 2.5, True, 2.5, "1001", 0.0, {}),
        ("late", 4.5, True, 2.5, "1001", 0.0, {}),
        ("lost", 1.0, False, 2.5, "1001", 0.0, {}),
        # Away too long.
        ("late", 3.0, False, 2.5, "10", 0.0, {"async_most_periods": 3}),
        # Periods of 2 s, away from 4 s to 6 s: started at 3 s it has 1.5 of its 2.5 s left at 6 s.
        ("stay", 5.5, True, 2.5, "1101", 3.0, {"async_period_seconds": 2.0}),
        ("late", 7.5, True, 2.5, "1101", 3.0, {"async_period_seconds": 2.0}),
        ("lost", 4.0, False, 2.5, "1101", 3.0, {"async_period_seconds": 2.0}),
        # Done as it leaves.
        ("stay", 1.0, True, 1.0, "10", 0.0, {}),
        ("late", 1.0, True, 1.0, "10", 0.0, {}),
        ("lost", 1.0, True, 1.0, "10", 0.0, {}),
    ],
)
def test_a_client_that_leaves(
    leavers: str,
    seconds: float,
    arrives: bool,
    needed: float,
    masks: str,
    start: float,
    given: dict[str, Any],
) -> None:
    times = clock([needed], *masks, async_leavers=leavers, **given)._times
    found = times.finish(1, np.array([0]), start)
    assert (found.seconds.tolist(), found.arrives.tolist()) == ([seconds], [arrives])


def test_a_synchronous_round_waits_for_all_who_were_asked() -> None:
    """Starts wait for the new model: rounds last 3 s, as long as the slowest."""
    given = {"async_buffer": 2, "async_starts": "with_model"}
    found = rounds(clock([1, 3], **given), 2, 2)
    assert found == [(3.0, [0, 1], [0, 1]), (6.0, [0, 1], [0, 1])]
    # Client 1 is away from 0 s to 1 s: round 1 is of client 0 alone.
    found = rounds(clock([1, 3], "10", "11", **given), 2, 2)
    assert found == [(1.0, [0], [0]), (4.0, [0, 1], [0, 1])]


def test_a_lost_client_makes_room() -> None:
    """Client 0 leaves at 1 s for good; client 1 starts then, and arrives at 3 s."""
    found = clock([2.5, 2], "11", "01", async_leavers="lost", async_buffer=1)
    played = found.play(1, 1, lowest)
    assert played.asked.tolist() == [0, 1] and played.lost == 1
    assert [work.client for work in played.here] == [1] and found.seconds == 3.0


def test_a_model_without_a_client_waits_for_the_period() -> None:
    of = clock([0.5], "0", async_starts="with_model")
    assert not of.play(1, 1, lowest).acts and of.seconds == 1.0


def test_a_lost_client_starts_again_in_the_next_round() -> None:
    """Client 0 leaves at 1 s and is back at 2 s; client 1 arrives at 5 s and ends the round."""
    given = {"async_leavers": "lost", "async_buffer": 1}
    found = rounds(clock([2.5, 5], "11", "01", "11", **given), 2, 2)
    assert found == [(5.0, [0, 1], [1]), (7.5, [0, 1], [0])]
    two = clock([2.5, 2.5, 2], "111", "001", **given).play(1, 3, lowest)
    assert two.lost == 2


def test_a_client_lost_after_its_round_starts_again_as_it_comes_back() -> None:
    """Client 0 starts at 0 s, leaves at 2 s and is back at 3 s, in a round that began at 1 s."""
    of = clock([9, 0.5, 4], "111", "101", "001", "101", async_leavers="lost", async_buffer=1)
    assert rounds(of, 3, 3) == [(0.5, [0, 1, 2], [1]), (1.0, [1], [1]), (4.0, [0], [2])]


def test_requests_are_counted_and_starts_are_kept() -> None:
    """Two of four at work, M = 3: requests at 0, 1 and 2 s; in round 2 only one may work."""
    calls: list[tuple[int, int]] = []

    def noted(free: np.ndarray, most: int, request: int) -> np.ndarray:
        calls.append((most, request))
        return lowest(free, most, request)

    of = clock([1, 2, 4, 9], async_buffer=3)
    played = of.play(1, 2, noted)
    assert calls == [(2, 0), (1, 1), (1, 2)]
    assert [work.client for work in played.started] == [0, 1, 2, 3]
    of.take(played.here[:1])
    calls.clear()
    asked = of.play(2, 1, noted).asked
    assert (len(asked), asked.dtype, calls) == (0, np.int64, [])


def test_times_of_clients_that_start_together() -> None:
    times = clock([0.5, 1.5], async_leavers="late")._times
    found = times.finish(1, np.array([0, 1]), 1.0)
    assert (found.seconds.tolist(), found.arrives.tolist()) == ([1.5, 2.5], [True, True])
    planned = times.arrivals(1, np.array([0]))
    assert (planned.seconds.tolist(), planned.round_seconds) == ([0.5], 0.5)


def test_resumed_in_the_middle_of_work() -> None:
    """40 rounds of 30 clients with jitter: after round 17 a restored clock plays on alike."""
    seconds = np.random.default_rng(0).uniform(1, 5, 30).round(2).tolist()

    def play(of: EventClock, first: int, last: int) -> list[Played]:
        found = []
        for t in range(first, last + 1):
            found.append(of.play(t, 12, lowest))
            of.take(found[-1].here if found[-1].acts else [])
        return found

    masks = ["1" * 20 + "0" * 10, "0" * 5 + "1" * 25, "1" * 30] * 20
    given = {"async_buffer": 5, "device_jitter": 0.5, "async_leavers": "late"}
    whole, torn, resumed = (clock(seconds, *masks, **given) for _ in range(3))
    expected = play(whole, 1, 40)
    play(torn, 1, 17)
    saved = torn.arrays()
    assert len(saved["work"]) > 0
    resumed.restore({name: array.copy() for name, array in saved.items()})
    for one, other in zip(play(resumed, 18, 40), expected[17:], strict=True):
        assert one.asked.tolist() == other.asked.tolist()
        assert one._replace(asked=None) == other._replace(asked=None)  # type: ignore[arg-type]
    assert resumed.seconds == whole.seconds


def test_periods_do_not_drift() -> None:
    """Sums of 0.1 s meet the begin of every period of 0.1 s."""
    times = Asynchronous(async_period_seconds=0.1, **ALIKE).build(world(np.array([10])))
    at = 0.0
    for process_round in range(1, 1000):
        assert times.round_at(at) == process_round
        at += 0.1


def test_nobody_is_asked_for_a_choice_among_nobody() -> None:
    """Client 0 works for 100 s; client 1 comes at 50 s and is asked by the request of that period.

    Request 0 is of 0 s and one further request of each period's start, so client 1's has number 50.
    """
    asked: list[tuple[int, int]] = []

    def choose(free: np.ndarray, most: int, request: int) -> np.ndarray:
        asked.append((request, int(free.sum())))
        return np.flatnonzero(free)

    of = clock([100, 1], *["10"] * 50, "11", async_buffer=1)
    played = of.play(1, 5, choose)
    assert (of.seconds, played.asked.tolist()) == (51.0, [0, 1])
    assert asked == [(0, 1), (50, 1)]


def test_work_of_more_than_a_million_periods_is_refused() -> None:
    """Looking at each period for free clients would take minutes per round, or for ever."""
    with pytest.raises(ParameterError, match="client 1 of round 1 works for 2e[+]06 periods"):
        clock([1, 20], async_period_seconds=1e-5).play(1, 5, lowest)
