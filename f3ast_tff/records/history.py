"""Record of a run's selection, delivery and participation rates, round by round."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from f3ast_tff.methods.parts.strategy import Strategy, participation_rates
from f3ast_tff.records.delivered import RoundDelivery

# Largest number of rounds with recorded rates; these take at most 8 MB.
MAX_ROUNDS = 200
MAX_CLIENTS = 10_000


class Totals(NamedTuple):
    """Sums over the rounds so far.

    Attributes:
        bytes_down: Bytes that the server sent.
        bytes_up: Bytes that the server received.
        seconds: Simulated time; NaN without a clock.
    """

    bytes_down: int
    bytes_up: int
    seconds: float


class _Array(NamedTuple):
    """An array of `SelectionHistory.arrays`.

    Attributes:
        dtype: NumPy type.
        padding: What fills the rows of a round up; `None` for an array with a number per round.
        late: Whether the array is there only if updates may be late.
    """

    dtype: type
    padding: int | None = None
    late: bool = False


_ARRAYS = {
    "num_available": _Array(np.int64),
    "num_selected": _Array(np.int64),
    "num_delivered": _Array(np.int64),
    "num_dropped": _Array(np.int64),
    "rejected": _Array(np.bool_),
    "selected": _Array(np.int64, padding=-1),
    "delivered": _Array(np.bool_, padding=False),
    "weights": _Array(np.float64, padding=0),
    "weight_sum": _Array(np.float64),
    "round_seconds": _Array(np.float64),
    "bytes_down": _Array(np.int64),
    "bytes_up": _Array(np.int64),
    "late_clients": _Array(np.int64, padding=-1, late=True),
    "late_asked_in": _Array(np.int64, padding=-1, late=True),
    "late_weights": _Array(np.float64, padding=0, late=True),
    "late_lost": _Array(np.int64, late=True),
    "in_flight": _Array(np.int64, late=True),
}
# Padding of the arrays with a row per round.
PADDING = {name: each.padding for name, each in _ARRAYS.items() if each.padding is not None}


class SelectionHistory:
    """Per-round record of the selection, the content of `selection.npz`.

    Attributes:
        total: Bytes and seconds of all rounds.
    """

    def __init__(self) -> None:
        """Starts empty."""
        # Each round by the names of `_ARRAYS`, its rows not padded.
        self._rounds: list[dict[str, Any]] = []
        self.total = Totals(0, 0, 0.0)

    def append(self, delivered_round: RoundDelivery, num_dropped: int, rejected: bool) -> None:
        """Adds a round."""
        asked, delivered = delivered_round.asked, delivered_round.delivered
        entering = delivered_round.cohort
        # The clients selected in the round come first.
        now = int(np.count_nonzero(delivered))
        weights = np.zeros(len(asked))
        weights[delivered] = entering.weights[:now]
        record = {
            "num_available": delivered_round.num_available,
            "num_selected": len(asked),
            "num_delivered": len(entering),
            "num_dropped": num_dropped,
            "rejected": rejected,
            "selected": asked,
            "delivered": delivered,
            "weights": weights,
            "weight_sum": weights[delivered].sum() + entering.weights[now:].sum(),
            "round_seconds": delivered_round.seconds,
            "bytes_down": delivered_round.bytes_down,
            "bytes_up": delivered_round.bytes_up,
        }
        if (late := delivered_round.late) is not None:
            record["late_clients"] = entering.ids[now:]
            record["late_asked_in"] = late.asked_in[late.entered][now:]
            record["late_weights"] = entering.weights[now:]
            record["late_lost"] = late.lost
            record["in_flight"] = late.in_flight
        self._add(record)

    def _add(self, record: dict[str, Any]) -> None:
        self._rounds.append(record)
        down, up, seconds = self.total
        seconds += record["round_seconds"]
        self.total = Totals(down + record["bytes_down"], up + record["bytes_up"], seconds)

    @property
    def num_empty(self) -> int:
        """Number of rounds in which no update arrived."""
        return sum(record["num_delivered"] == 0 for record in self._rounds)

    @property
    def num_lost(self) -> int:
        """Number of updates that did not arrive, over all rounds."""
        return sum(
            record.get("late_lost", int(np.count_nonzero(~record["delivered"])))
            for record in self._rounds
        )

    def may_leave_out(self, num_clients: int) -> bool:
        """Returns whether updates were lost, or a client of N was never asked."""
        if self.num_lost:
            return True
        asked = sum(record["num_selected"] for record in self._rounds)
        if asked < 20 * num_clients:
            return False
        return len(np.unique(np.concatenate([r["selected"] for r in self._rounds]))) < num_clients

    @property
    def num_dropped(self) -> int:
        """Number of updates dropped because they are not finite, over all rounds."""
        return sum(record["num_dropped"] for record in self._rounds)

    @property
    def num_rejected(self) -> int:
        """Number of rounds with clients in which the model stayed unchanged."""
        return sum(record["rejected"] and record["num_delivered"] > 0 for record in self._rounds)

    def arrays(self) -> dict[str, np.ndarray]:
        """Returns the record.

        Returns:
            `num_available`, `num_selected`, `num_delivered`, `num_dropped`: `int64 [T]`;
            `rejected`: whether the model stayed unchanged, `bool [T]`; `selected`:
            `int64 [T, widest cohort]`, client ids, padded by -1; `delivered`: whether each update
            arrived, `bool`, same shape; `weights`: `float64`, same shape, padded by 0, 0 for a
            lost update; `weight_sum`: sum of the delivered clients' weights, `float64 [T]`;
            `round_seconds`: duration, NaN without a clock, `float64 [T]`; `bytes_down`,
            `bytes_up`: bytes that the server sent and received, `int64 [T]`.

            If updates may be late, `delivered` and `weights` cover updates that entered in the
            round they were asked in. Further arrays are `late_clients`: clients whose update
            entered late, `int64 [T, most]`, padded by -1; `late_asked_in`: round in which each
            client was asked, same shape; `late_weights`: `float64`, same shape, padded by 0;
            `late_lost`: updates lost since this round, and `in_flight`: updates under way after
            the round, `int64 [T]`. The numbers count both.
        """
        is_late = bool(self._rounds) and "in_flight" in self._rounds[0]
        found: dict[str, np.ndarray] = {}
        for name, (dtype, _, late) in _ARRAYS.items():
            if not late or is_late:
                rows = [record[name] for record in self._rounds]
                found[name] = _padded(rows, name) if name in PADDING else np.array(rows, dtype)
        return found

    def restore(self, arrays: dict[str, np.ndarray]) -> None:
        """Restores the arrays of `arrays` into an empty record."""
        for t, size in enumerate(arrays["num_selected"].tolist()):
            record: dict[str, Any] = {n: arrays[n][t] for n in _ARRAYS.keys() & arrays.keys()}
            for name in record.keys() - PADDING.keys():
                record[name] = record[name].item()
            late = record["num_delivered"] - np.count_nonzero(record["delivered"])
            for name in PADDING.keys() & record.keys():
                record[name] = record[name][: late if _ARRAYS[name].late else size]
            self._add(record)


def _padded(rows: Sequence[np.ndarray], name: str) -> np.ndarray:
    """Rows of several lengths as one array `[T, longest]`."""
    sizes = np.array([len(row) for row in rows], np.int64)
    filled = np.arange(sizes.max(initial=0)) < sizes[:, None]
    table: np.ndarray = np.full(filled.shape, PADDING[name], _ARRAYS[name].dtype)
    if len(rows):
        table[filled] = np.concatenate(rows)
    return table


class RateTrace:
    """r(0), and r(t) of some evaluated rounds, after the selection of round t.

    Above `MAX_CLIENTS` clients only r(0) is recorded. A strategy without rates has no record.
    """

    def __init__(self, strategy: Strategy, num_clients: int, rounds: int, eval_every: int) -> None:
        """Records r(0) of a strategy before its first round.

        Raises:
            ComponentError: If the strategy's rates are not N numbers.
        """
        self._num_clients = num_clients
        self._initial = participation_rates(strategy, num_clients)
        self._rounds: list[int] = []
        self._rates: list[np.ndarray] = []
        wanted = self._initial is not None and num_clients <= MAX_CLIENTS
        self._wanted = frozenset(traced_rounds(rounds, eval_every) if wanted else ())

    def record(self, round_number: int, strategy: Strategy) -> None:
        """Records r(t), if t is one of the rounds to record."""
        if round_number not in self._wanted:
            return
        rates = participation_rates(strategy, self._num_clients)
        assert rates is not None
        self._rounds.append(round_number)
        self._rates.append(rates.astype(np.float32))

    def arrays(self) -> dict[str, np.ndarray]:
        """Returns the trace.

        Returns:
            `initial_rates`, r(0): `float64 [N]`; `rate_rounds`: `int64 [n]`, n at most
            `MAX_ROUNDS`; `rates`, r(t) of these rounds: `float32 [n, N]`.
        """
        if self._initial is None:
            return {}
        found = {"initial_rates": self._initial}
        if self._wanted:
            rates = np.array(self._rates, np.float32).reshape(-1, self._num_clients)
            found.update(rate_rounds=np.array(self._rounds, np.int64), rates=rates)
        return found

    def rates_of(self, round_number: int) -> np.ndarray | None:
        """Returns r(t) of a round, `float32 [N]`; `None` if not recorded."""
        if round_number not in self._rounds:
            return None
        return self._rates[self._rounds.index(round_number)]

    def restore(self, arrays: dict[str, np.ndarray]) -> None:
        """Restores a result of `arrays`."""
        self._rounds = arrays["rate_rounds"].tolist() if "rates" in arrays else []
        self._rates = list(arrays["rates"]) if "rates" in arrays else []


def traced_rounds(rounds: int, eval_every: int) -> list[int]:
    """Returns at most `MAX_ROUNDS` evaluated rounds at equal distances, including the last."""
    # Counted from the last round.
    count = -(-rounds // eval_every)
    stride = -(-count // MAX_ROUNDS)
    return [min((count - i) * eval_every, rounds) for i in range(0, count, stride)][::-1]
