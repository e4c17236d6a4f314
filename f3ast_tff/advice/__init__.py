"""Advice on method, K and objective, from a log of available clients."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from f3ast_tff.advice.page import Advice
from f3ast_tff.advice.plan import plan, trained_by_fedavg
from f3ast_tff.availability.logs.availability_log import AvailabilityLog, log_of_frame
from f3ast_tff.availability.logs.device_traces import DAY
from f3ast_tff.availability.logs.log_measures import measure_log
from f3ast_tff.availability.logs.mask_files import packed_masks
from f3ast_tff.core.errors import DataError, ParameterError, whole_number
from f3ast_tff.core.local_training import vector_of

_USUAL_KS = (5, 10, 20)


def advise(
    masks: Any,
    p: np.ndarray | None = None,
    ks: Sequence[int] | None = None,
    *,
    rounds_per_day: int | None = None,
) -> Advice:
    """Returns advice for federated learning under a log: objective, K and a method.

    Args:
        masks: Available clients by round, `bool [T, N]`, an `AvailabilityLog`, or a table of
            masks, events or spans (`availability.logs`): pandas', polars', Arrow's.
        p: Client shares p_k, `float [N]`, above 0; by default 1 / N. They are normalised to sum 1.
        ks: Numbers of clients per round, each in 1..N; by default those of 5, 10, 20, or else N.
        rounds_per_day: Rounds per day; by default from the log's clock, 24 without a clock. A day
            that is no whole number of rounds is not measured.

    Returns:
        The advice: print it, or read its attributes.

    Raises:
        DataError: If the log cannot be read, or no client is ever online.
        ParameterError: If p does not fit the log, a K is no integer in 1..N, or `rounds_per_day` is
            below 1.

    Examples:
        >>> import numpy as np
        >>> from f3ast_tff import advise
        >>> masks = np.random.default_rng(0).random((240, 30)) < 0.3
        >>> advise(masks, ks=[3]).objective
        'p_squared'
    """
    log = _log(masks)
    n = log.masks.shape[1]
    table = log.masks.table()
    shares = np.full(n, 1 / n) if p is None else vector_of("shares", p)
    usable = shares.shape == (n,) and np.isfinite(shares).all() and (shares > 0).all()
    # A share far below another is 0 beside it.
    if not usable or not (shares / shares.max() > 0).all():
        allowed = f"must be {n} numbers above 0, one for each client of the log"
        raise ParameterError("shares", f"shape {shares.shape}", allowed)
    if ks is None:
        ks = [k for k in _USUAL_KS if k <= n] or [n]
    try:
        wanted = np.unique(ks)
    except (TypeError, ValueError):  # Values of several types or lengths.
        wanted = np.zeros(0)
    if wanted.dtype.kind not in "iu" or not len(wanted) or wanted[0] < 1 or wanted[-1] > n:
        allowed = f"must be in 1..{n}, the clients of the log, as whole numbers"
        raise ParameterError("clients_per_round", _shown(ks), allowed)
    if rounds_per_day is not None:
        rounds_per_day = whole_number("rounds_per_day", rounds_per_day, least=1)
    there = table.any(axis=0)
    if not there.any():
        raise DataError("the log: nobody is online in any round")
    shares = shares / shares.max()
    shares /= shares.sum()
    day = rounds_per_day or _rounds_per_day(log.round_seconds)
    first = int((log.start or 0) // (log.round_seconds or 1))
    measures = measure_log(table, day, first)
    reachable, of_these = table[:, there], shares[there] / shares[there].sum()
    plans = tuple(plan(reachable, of_these, int(k), measures.together.objective) for k in wanted)
    return Advice(
        measures,
        p=shares,
        clients=log.clients or tuple(map(str, range(n))),
        unreachable=np.flatnonzero(~there),
        fedavg=trained_by_fedavg(table, shares),
        plans=plans,
        round_seconds=log.round_seconds,
        first_round=log.first_round,
    )


def _shown(ks: Any) -> str:
    return ",".join(map(str, ks)) if isinstance(ks, Iterable) else str(ks)


def _rounds_per_day(round_seconds: int | None) -> int:
    """Rounds of a day; 1, of which nothing is measured, where they are no whole number."""
    if round_seconds is None:
        return 24
    return 1 if DAY % round_seconds else DAY // round_seconds


def _log(masks: Any) -> AvailabilityLog:
    if isinstance(masks, AvailabilityLog):
        return masks
    if hasattr(masks, "columns") or hasattr(masks, "to_pandas"):
        return log_of_frame(masks)
    return AvailabilityLog(packed_masks(np.asarray(masks), "masks"))
