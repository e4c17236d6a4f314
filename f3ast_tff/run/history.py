"""Record of a run's selection, delivery and participation rates, round by round."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from f3ast_tff.methods.parts.strategy import Strategy
from f3ast_tff.run.delivering import Answers
from f3ast_tff.run.selecting import participation_rates

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


class LateRecord(NamedTuple):
    """Updates that entered in a later round than they were asked in.

    Attributes:
        ids: Client of each update, `int64 [e]`.
        asked_in: Round in which the client was asked, `int64 [e]`.
        weights: Weight of each update, `float64 [e]`.
        lost: Number of updates lost since this round.
        in_flight: Number of updates under way after the round.
    """

    ids: np.ndarray
    asked_in: np.ndarray
    weights: np.ndarray
    lost: int
    in_flight: int


@dataclass(frozen=True)
class RoundRecord:
    """Selection and delivery of one round.

    Attributes:
        num_available: Number of available clients.
        asked: Ids of the selected clients, `int64 [m]`.
        delivered: Whether each client's update arrived, `bool [m]`.
        weights: Weights of the updates, 0 for a lost update, `float64 [m]`.
        num_dropped: Number of updates dropped because they are not finite.
        rejected: Whether the model stayed unchanged.
        seconds: Duration; NaN without a clock.
        bytes_down: Bytes that the server sent.
        bytes_up: Bytes that the server received.
        late: Late updates that entered, if updates may be late.
    """

    num_available: int
    asked: np.ndarray
    delivered: np.ndarray
    weights: np.ndarray
    num_dropped: int
    rejected: bool
    seconds: float
    bytes_down: int
    bytes_up: int
    late: LateRecord | None = None

    @property
    def num_entered(self) -> int:
        """Number of updates that entered the aggregate or were dropped there as not finite."""
        late = 0 if self.late is None else len(self.late.ids)
        return int(np.count_nonzero(self.delivered)) + late


class SelectionHistory:
    """Per-round record of the selection, the content of `selection.npz`."""

    def __init__(self) -> None:
        """Starts empty."""
        self._rounds: list[RoundRecord] = []
        self._total = Totals(0, 0, 0.0)

    def append(
        self, num_available: int, answers: Answers, num_dropped: int, rejected: bool
    ) -> None:
        """Adds a round."""
        weights, entering, late = np.zeros(len(answers.asked)), answers.cohort, None
        # The clients selected in the round come first.
        now = int(np.count_nonzero(answers.delivered))
        weights[answers.delivered] = entering.weights[:now]
        if answers.late is not None:
            late = LateRecord(
                entering.ids[now:],
                answers.late.flight.asked_in[now:],
                entering.weights[now:],
                lost=answers.late.lost,
                in_flight=answers.late.in_flight,
            )
        self._add(
            RoundRecord(
                num_available=num_available,
                asked=answers.asked,
                delivered=answers.delivered,
                weights=weights,
                num_dropped=num_dropped,
                rejected=rejected,
                seconds=answers.seconds,
                bytes_down=answers.bytes_down,
                bytes_up=answers.bytes_up,
                late=late,
            )
        )

    def _add(self, record: RoundRecord) -> None:
        self._rounds.append(record)
        self._total = Totals(
            self._total.bytes_down + record.bytes_down,
            self._total.bytes_up + record.bytes_up,
            self._total.seconds + record.seconds,
        )

    @property
    def total(self) -> Totals:
        """Bytes and seconds of all rounds."""
        return self._total

    @property
    def num_empty(self) -> int:
        """Number of rounds in which no update arrived."""
        return sum(record.num_entered == 0 for record in self._rounds)

    @property
    def num_lost(self) -> int:
        """Number of updates that did not arrive, over all rounds."""
        return sum(
            int(np.count_nonzero(~record.delivered)) if record.late is None else record.late.lost
            for record in self._rounds
        )

    @property
    def num_dropped(self) -> int:
        """Number of updates dropped because they are not finite, over all rounds."""
        return sum(record.num_dropped for record in self._rounds)

    @property
    def num_rejected(self) -> int:
        """Number of rounds with clients in which the model stayed unchanged."""
        return sum(record.rejected and record.num_entered > 0 for record in self._rounds)

    def arrays(self) -> dict[str, np.ndarray]:
        """Returns the record.

        Returns:
            `num_available`, `num_selected`, `num_delivered`, `num_dropped`: `int64 [T]`;
            `rejected`: `bool [T]`; `selected`: `int64 [T, widest cohort]`, client ids, padded by
            -1; `delivered`: whether each update arrived, `bool`, same shape; `weights`: `float64`,
            same shape, padded by 0; `weight_sum`: sum of the delivered clients' weights,
            `float64 [T]`; `round_seconds`: duration, NaN without a clock, `float64 [T]`;
            `bytes_down`, `bytes_up`: bytes that the server sent and received, `int64 [T]`. If
            updates may be late, `delivered` and `weights` cover updates that entered in the round
            they were asked in; `_late_arrays` has the late updates. The numbers count both.
        """
        rounds = self._rounds
        sizes = np.array([len(record.asked) for record in rounds], np.int64)
        filled = np.arange(sizes.max(initial=0)) < sizes[:, None]
        delivered = [record.delivered for record in rounds]
        weights = [record.weights for record in rounds]
        sums = [record.weights[record.delivered].sum() for record in rounds]
        late = [record.late for record in rounds if record.late is not None]
        if late:
            sums = [here + there.weights.sum() for here, there in zip(sums, late)]
        return {
            "num_available": np.array([record.num_available for record in rounds], np.int64),
            "num_selected": sizes,
            "num_delivered": np.array([record.num_entered for record in rounds], np.int64),
            "num_dropped": np.array([record.num_dropped for record in rounds], np.int64),
            "rejected": np.array([record.rejected for record in rounds], bool),
            "selected": _table(
                [r.asked for r in rounds], filled=filled, nothing=-1, dtype=np.dtype(np.int64)
            ),
            "delivered": _table(delivered, filled=filled, nothing=False, dtype=np.dtype(bool)),
            "weights": _table(weights, filled=filled, nothing=0, dtype=np.dtype(np.float64)),
            "weight_sum": np.array(sums, np.float64),
            "round_seconds": np.array([record.seconds for record in rounds], np.float64),
            "bytes_down": np.array([record.bytes_down for record in rounds], np.int64),
            "bytes_up": np.array([record.bytes_up for record in rounds], np.int64),
            **(_late_arrays(late) if late else {}),
        }

    def restore(self, arrays: dict[str, np.ndarray]) -> None:
        """Restores the arrays of `arrays` into an empty record."""
        for t, size in enumerate(arrays["num_selected"].tolist()):
            self._add(
                RoundRecord(
                    num_available=int(arrays["num_available"][t]),
                    asked=arrays["selected"][t][:size],
                    delivered=arrays["delivered"][t][:size],
                    weights=arrays["weights"][t][:size],
                    num_dropped=int(arrays["num_dropped"][t]),
                    rejected=bool(arrays["rejected"][t]),
                    seconds=float(arrays["round_seconds"][t]),
                    bytes_down=int(arrays["bytes_down"][t]),
                    bytes_up=int(arrays["bytes_up"][t]),
                    late=_late_record(arrays, t, size) if "in_flight" in arrays else None,
                )
            )


def _late_arrays(rounds: Sequence[LateRecord]) -> dict[str, np.ndarray]:
    """Returns the record of late updates.

    Returns:
        `late_clients`: clients whose update entered late, `int64 [T, most]`, padded by -1;
        `late_asked_in`: round in which each client was asked, same shape; `late_weights`:
        `float64`, same shape, padded by 0; `late_lost`, `in_flight`: `int64 [T]`.
    """
    sizes = np.array([len(record.ids) for record in rounds], np.int64)
    filled = np.arange(sizes.max(initial=0)) < sizes[:, None]
    whole, real = np.dtype(np.int64), np.dtype(np.float64)
    return {
        "late_clients": _table(
            [record.ids for record in rounds], filled=filled, nothing=-1, dtype=whole
        ),
        "late_asked_in": _table(
            [record.asked_in for record in rounds], filled=filled, nothing=-1, dtype=whole
        ),
        "late_weights": _table(
            [record.weights for record in rounds], filled=filled, nothing=0, dtype=real
        ),
        "late_lost": np.array([record.lost for record in rounds], np.int64),
        "in_flight": np.array([record.in_flight for record in rounds], np.int64),
    }


def _late_record(arrays: dict[str, np.ndarray], t: int, num_selected: int) -> LateRecord:
    entered = int(arrays["num_delivered"][t])
    size = entered - int(np.count_nonzero(arrays["delivered"][t][:num_selected]))
    return LateRecord(
        arrays["late_clients"][t][:size],
        arrays["late_asked_in"][t][:size],
        arrays["late_weights"][t][:size],
        lost=int(arrays["late_lost"][t]),
        in_flight=int(arrays["in_flight"][t]),
    )


def _table(
    rows: Sequence[np.ndarray], filled: np.ndarray, nothing: int | bool, dtype: np.dtype
) -> np.ndarray:
    table = np.full(filled.shape, nothing, dtype)
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
