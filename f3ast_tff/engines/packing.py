"""A cohort's local work packed into lanes of steps, without padding to the largest client.

A lane is a sequence of SGD steps: one client's batches after another's. Lanes of about equal length
run side by side, one step of each at a time. With one lane nothing is padded; with as many lanes as
clients every client has its own.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from f3ast_tff.local_work import LocalWork
from f3ast_tff.selection import Cohort

# Arrays are made this long or this times a power of `_GROWTH`, so that few shapes occur.
_SHORTEST = 64
_GROWTH = 4


@dataclass(frozen=True)
class PackedWork:
    """The steps of a round.

    Attributes:
        rows: Examples of each step, rows of the training data; -1 pads a short batch and an idle
            lane. `int32 [length, lanes, batch_size]`.
        first: Whether a step is the first of a client, `bool [length, lanes]`.
        last_weight: The client's weight in the aggregate at its last step, else 0,
            `float32 [length, lanes]`.
        last: Whether a step is the last of a client, `bool [length, lanes]`.
        num_steps: Steps of the longest lane, at most `length`.
        num_idle: Clients without any step: an update of zero, which counts in a mean.
        idle_weight: Their weight in all.
    """

    rows: np.ndarray
    first: np.ndarray
    last_weight: np.ndarray
    last: np.ndarray
    num_steps: int
    num_idle: int
    idle_weight: float


def pack(
    cohort: Cohort,
    work: LocalWork,
    round_number: int,
    offsets: np.ndarray,
    num_lanes: int,
) -> PackedWork:
    """Packs the local work of a cohort.

    Args:
        cohort: Clients and weights; those without any step take none.
        work: Says each client's order and batches.
        round_number: Round t.
        offsets: Of the training data, `int64 [num_clients + 1]`.
        num_lanes: Number of lanes, at least 1.

    Returns:
        The packed steps, its length rounded up to one of a few.
    """
    sizes = np.diff(offsets)[cohort.ids]
    steps = work.num_batches(sizes)
    lane_of, start_of = _assign(steps, num_lanes)
    num_steps = int(max(start + count for start, count in zip(start_of, steps)))
    shape = (_round_up(num_steps), num_lanes)
    rows = np.full((*shape, work.batch_size), -1, np.int32)
    first, last = np.zeros(shape, bool), np.zeros(shape, bool)
    last_weight = np.zeros(shape, np.float32)
    clients = zip(cohort.ids.tolist(), cohort.weights, sizes.tolist(), steps, lane_of, start_of)
    for k, weight, size, count, lane, start in clients:
        if count == 0:
            continue
        order = work.order(round_number, k, size) + np.int32(offsets[k])
        rows[start : start + count, lane] = _batches(order, work.batch_size)
        first[start, lane] = True
        last[start + count - 1, lane] = True
        last_weight[start + count - 1, lane] = weight
    idle = steps == 0
    idle_weight = float(cohort.weights[idle].sum())
    return PackedWork(rows, first, last_weight, last, num_steps, int(idle.sum()), idle_weight)


def _assign(steps: np.ndarray, num_lanes: int) -> tuple[list[int], list[int]]:
    """Returns lane and first step of each client: the longest first, to the shortest lane."""
    ends = [0] * num_lanes
    lane_of, start_of = [0] * len(steps), [0] * len(steps)
    for i in np.argsort(-steps, kind="stable").tolist():
        lane = ends.index(min(ends))
        lane_of[i], start_of[i] = lane, ends[lane]
        ends[lane] += int(steps[i])
    return lane_of, start_of


def _batches(order: np.ndarray, batch_size: int) -> np.ndarray:
    segments, length = order.shape
    per_segment = -(-length // batch_size)
    padded = np.full((segments, per_segment * batch_size), -1, np.int32)
    padded[:, :length] = order
    return padded.reshape(-1, batch_size)


def _round_up(length: int) -> int:
    rounded = _SHORTEST
    while rounded < length:
        rounded *= _GROWTH
    return rounded
