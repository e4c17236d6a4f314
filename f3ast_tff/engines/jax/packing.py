"""A cohort's local work packed into waves of clients that train side by side.

A wave holds one client per lane; clients with similar numbers of steps share a wave. A wave takes
as many steps as its longest client or, if `Waves` has bounds, as many as every other wave. With one
lane and no bounds there is no padding; with as many lanes as clients there is one wave. A client
drawn several times (with replacement) would do the same work each time, so it is trained once and
counted several times.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np

from f3ast_tff.core.local_training import LocalTraining
from f3ast_tff.core.preprocessing import Preprocessing
from f3ast_tff.methods.parts.strategy import Cohort

# Number of lanes on an accelerator by class of the model, from a benchmark; other models have as
# many lanes as the largest cohort has clients.
LANES_FILE = Path(__file__).with_name("lanes.json")
# Lengths of arrays are rounded up to this times a power of `_GROWTH`, so that few shapes occur.
_FEWEST_STEPS, _FEWEST_WAVES = 64, 16
_GROWTH = 4


@dataclass(frozen=True)
class Waves:
    """Layout of the clients of a round.

    Attributes:
        lanes: Number of clients that train side by side.
        clients: Largest number of clients in a cohort.
        steps: Largest number of steps of a client, as a bound of loops known when a program is
            compiled; then all waves of a round take the same number of steps. With `None` each wave
            takes the steps of its longest client, which the device learns in the round.
        equal_steps: Whether all clients take `steps`, so that no step needs a mask.
        every_client: Whether clients without any step also have a lane, as a memory needs.
    """

    lanes: int
    clients: int = 1
    steps: int | None = None
    equal_steps: bool = False
    every_client: bool = False

    @classmethod
    def of(
        cls, platform: str, lanes: int, clients: int, num_steps: np.ndarray, every_client: bool
    ) -> Waves:
        """Returns the layout for an engine.

        A single lane on a CPU has no bounds: it needs no padding, and its loops cost no more. An
        accelerator without a known bound copies a condition to the host in every step.

        Args:
            platform: The device's platform, such as `cpu`.
            lanes: Number of lanes.
            clients: Largest number of clients in a cohort.
            num_steps: Steps of every client, `int [N]`.
            every_client: See `Waves`.
        """
        clients = max(1, min(clients, len(num_steps)))
        if lanes == 1 and platform == "cpu":
            return cls(lanes, clients, every_client=every_client)
        trained = num_steps if every_client else num_steps[num_steps > 0]
        most = max(1, int(trained.max(initial=0)))
        return cls(lanes, clients, most, bool(np.all(trained == most)), every_client)

    @property
    def most(self) -> int:
        """Largest number of waves in a round."""
        return -(-self.clients // self.lanes)

    def padded(self, num_waves: int, num_steps: int) -> tuple[int, int]:
        """Returns the padded numbers of waves and of steps per wave.

        Args:
            num_waves: Number of waves with clients.
            num_steps: Steps of the round's longest client.
        """
        assert self.steps is not None
        steps = self.steps if self.equal_steps else _one_of_few(num_steps, self.steps)
        return max(num_waves, self.most), steps


def default_lanes(
    platform: str, model: object, clients: int, table: Mapping[str, int] | None = None
) -> int:
    """Returns the number of lanes for a model.

    A CPU has a single lane, because more lanes save no time there. An accelerator has the number in
    `LANES_FILE`, by default one lane per client of the largest cohort.

    Args:
        platform: The device's platform, such as `cpu`.
        model: The network.
        clients: Largest number of clients in a cohort.
        table: Table to use instead of the file's.
    """
    if platform == "cpu":
        return 1
    if table is None:
        table = json.loads(LANES_FILE.read_text())
    return max(1, min(table.get(type(model).__name__, clients), clients))


class PackedWork(NamedTuple):
    """The steps of a round, as input of a program.

    Attributes:
        rows: Examples of each step, as rows of the training data, wave after wave, `int32 [length,
            lanes, batch_size]`; -1 pads lanes that are done. A short batch is filled with its own
            rows r in turn, written as -1 - r, so that no other client's are in its statistics.
        draws: Result of `Preprocessing.draws`, `int32 [length, lanes, batch_size, num_draws]`.
        first: First step of each wave, `int32 [waves]`.
        steps: Steps of each lane's client, 0 for an empty lane, `int32 [waves, lanes]`.
        times: Number of times that the client is in the cohort, 0 for an empty lane,
            `float32 [waves, lanes]`.
        weight: Weight of the client in the aggregate, over all times, `float32 [waves, lanes]`.
        num_waves: Number of waves with clients, at most `waves`.
        num_idle: Number of clients without any step; their update is zero and counts in a mean.
        idle_weight: Total weight of these clients.
    """

    rows: np.ndarray
    draws: np.ndarray
    first: np.ndarray
    steps: np.ndarray
    times: np.ndarray
    weight: np.ndarray
    num_waves: int
    num_idle: int
    idle_weight: float


class PackedCohort(NamedTuple):
    """A cohort's work, and the lane of each client.

    Attributes:
        work: The steps.
        member: (First) place of each lane's client in the cohort, -1 for an empty or padded lane,
            `int32 [waves, lanes]`. Clients without any step have no lane, except with a memory.
        client: Id of each lane's client, -1 where `member` is -1, `int32 [waves, lanes]`.
    """

    work: PackedWork
    member: np.ndarray
    client: np.ndarray


def by_place(
    keys: np.ndarray, member: np.ndarray, loss: np.ndarray, finite: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Rearranges results by lane into results by place in the cohort.

    Args:
        keys: Client (or slot of the late update) in each place, `int [m]`; places of one key have
            one result.
        member: (First) place of each lane, -1 for none, `int32 [waves, lanes]`.
        loss: Mean loss of each lane's client, `float32 [waves, lanes]`.
        finite: Whether the client's update is finite, `bool [waves, lanes]`.

    Returns:
        Losses, `float64 [m]`, NaN if an update is not finite or a client had no step; and whether
        each update is finite, `bool [m]`.
    """
    unique, which = np.unique(keys, return_inverse=True)
    losses, delivered = np.full(len(unique), np.nan), np.ones(len(unique), bool)
    there = member >= 0
    busy = which[member[there]]
    delivered[busy] = finite[there]
    losses[busy] = np.where(finite[there], loss[there], np.nan)
    return losses[which], delivered[which]


def pack(
    cohort: Cohort,
    work: LocalTraining,
    preprocessing: Preprocessing,
    *,
    round_number: int,
    offsets: np.ndarray,
    form: Waves,
) -> PackedCohort:
    """Packs the local work of a cohort.

    Args:
        cohort: Clients and weights; a client without any step takes no step.
        work: Local training: order and batches of each client.
        preprocessing: Preprocessing: draws for each visit to an example.
        round_number: Round t.
        offsets: Offsets of the training data, `int64 [num_clients + 1]`.
        form: Lanes and bounds.

    Returns:
        The packed steps; numbers of steps and of waves are rounded up to one of a few numbers.
    """
    ids, place, times, weights = _each_once(cohort)
    sizes = np.diff(offsets)[ids]
    num_steps = work.num_batches(sizes)
    by_length = np.argsort(-num_steps, kind="stable")
    idle = (num_steps == 0) & (not form.every_client)
    busy = by_length[~idle[by_length]]
    # The first client of each wave is its longest.
    longest = num_steps[busy[:: form.lanes]]
    if form.steps is None:
        ends = np.cumsum([0, *longest])
        length = round_up(int(ends[-1]), _FEWEST_STEPS)
        num_waves = round_up(len(longest), _FEWEST_WAVES)
        if form.every_client:
            num_waves = max(len(longest), min(num_waves, form.most))
    else:
        num_waves, steps_each = form.padded(len(longest), int(num_steps.max(initial=0)))
        ends = np.arange(num_waves + 1) * steps_each
        length = int(ends[-1])
    rows = np.full((length, form.lanes, work.batch_size), -1, np.int32)
    draws = np.zeros((*rows.shape, preprocessing.num_draws), np.int32)

    def by_lane(of_client: np.ndarray, empty: int, dtype: type[np.generic]) -> np.ndarray:
        values = np.full(num_waves * form.lanes, empty, dtype)
        values[: len(busy)] = of_client[busy]
        return values.reshape(num_waves, form.lanes)

    first = np.zeros(num_waves, np.int32)
    first[: len(ends) - 1] = ends[:-1]
    clients, counts = ids[busy].tolist(), num_steps[busy].tolist()
    starts = offsets[ids[busy]].astype(np.int32)
    orders = work.orders(round_number, clients, sizes[busy].tolist())
    for i, (k, count, start, order) in enumerate(zip(clients, counts, starts, orders)):
        w, lane = divmod(i, form.lanes)
        here = slice(ends[w], ends[w] + count)
        rows[here, lane] = _batches(order + start, work.batch_size, marks=True)
        if preprocessing.num_draws:
            drawn = preprocessing.draws(round_number, k, order.shape)
            draws[here, lane] = _batches(drawn, work.batch_size)
    packed = PackedWork(
        rows=rows,
        draws=draws,
        first=first,
        steps=by_lane(num_steps, 0, np.int32),
        times=by_lane(times, 0, np.float32),
        weight=by_lane(weights, 0, np.float32),
        num_waves=len(longest),
        num_idle=int(times[idle].sum()),
        idle_weight=float(weights[idle].sum()),
    )
    return PackedCohort(packed, by_lane(place, -1, np.int32), by_lane(ids, -1, np.int32))


def _each_once(cohort: Cohort) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Returns each client's id, first place, number of places and whole weight, in order."""
    cohort_ids = cohort.ids.astype(np.int64)
    if len(set(cohort_ids.tolist())) == len(cohort_ids):
        places = np.arange(len(cohort_ids))
        return cohort_ids, places, np.ones_like(places), cohort.weights.astype(np.float64)
    unique = np.unique(cohort_ids, return_index=True, return_inverse=True, return_counts=True)
    ids, place, which, times = unique
    weights = np.bincount(which.reshape(-1), cohort.weights, len(ids))
    order = np.argsort(place)
    return ids[order], place[order], times[order], weights[order]


def _batches(visits: np.ndarray, batch_size: int, marks: bool = False) -> np.ndarray:
    """Cuts `[segments, length, ...]` into `[batches, batch_size, ...]`; see `PackedWork.rows`.

    Args:
        visits: Visits to examples.
        batch_size: Examples per batch.
        marks: Whether a visit r that fills a short batch becomes -1 - r.
    """
    segments, length, *of_visit = visits.shape
    per_segment = -(-length // batch_size)
    if per_segment * batch_size > length:
        own, last = np.arange(per_segment * batch_size), (per_segment - 1) * batch_size
        own[last:] = last + np.arange(batch_size) % (length - last)
        visits = visits[:, own]
        if marks:
            visits[:, length:] = -1 - visits[:, length:]
    return visits.reshape((segments * per_segment, batch_size, *of_visit))


def round_up(length: int, fewest: int) -> int:
    """Returns the least `fewest` times a power of `_GROWTH` that is at least `length`."""
    rounded = fewest
    while rounded < length:
        rounded *= _GROWTH
    return rounded


def _one_of_few(number: int, most: int) -> int:
    """Rounds up to `most` divided by a power of the root of 2: few shapes, few compilations.

    0 becomes `most`, for which a program already exists.
    """
    if not 0 < number < most:
        return max(number, most)
    halvings = math.floor(2 * math.log2(most / number))
    return max(number, math.ceil(most * 2 ** (-halvings / 2)))
