"""What `selection.npz` tells: who was picked how often, p_k, and the rates over time."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from f3ast_tff.analysis.run_groups import Pair, RunGroup
from f3ast_tff.analysis.runs import Run, RunsError
from f3ast_tff.messages import one_line
from f3ast_tff.training.results import DamagedResult, read_selection

# Of p before it was kept: no more than a run can have.
_MOST_CLIENTS = 10**7
_TRACE = ("initial_rates", "rate_rounds", "rates")


@dataclass(frozen=True, eq=False)
class Rates:
    """Participation rates in one run.

    Attributes:
        rounds: Rounds t, `int64 [n]`, from 0.
        values: r(t), `float64 [n, N]`.
    """

    rounds: np.ndarray
    values: np.ndarray


@dataclass(frozen=True, eq=False)
class Selections:
    """Selections of a group's runs on its lowest data draw: draws differ in p_k.

    Attributes:
        pair: Data draw and lowest seed there.
        picked: Share of the rounds in which a client was selected, mean over the seeds of that
            draw, `float64 [N]`.
        shares: p_k of that draw, `float64 [N]`; `None` where the run of `pair` does not hold it,
            being of an older version.
        rates: Those of the run of `pair`; `None` where it holds none: nothing is tracked, or there
            are too many clients, or it is of an older version.
    """

    pair: Pair
    picked: np.ndarray
    shares: np.ndarray | None
    rates: Rates | None


def selections_of(group: RunGroup) -> Selections:
    """Reads the selections of a group's runs on its lowest data draw.

    Raises:
        RunsError: If the file of one is missing or damaged.
    """
    picked, shares, rates = [], None, None
    first = min(group.runs)
    for pair in sorted(pair for pair in group.runs if pair.draw == first.draw):
        run = group.runs[pair]
        arrays = _read(run)
        selected = arrays["selected"]
        p = arrays.get("p")
        counts = np.bincount(_each_once(selected), minlength=_num_clients(run, arrays))
        picked.append(counts / max(len(selected), 1))
        if pair == first:
            shares, rates = p, _rates(arrays)
    return Selections(first, np.mean(picked, axis=0), shares, rates)


def _read(run: Run) -> dict[str, np.ndarray]:
    file = run.path / "selection.npz"
    try:
        found = read_selection(run.path, run.summary)
        _check(run, found)
    except DamagedResult as error:
        raise RunsError(f"damaged run: {one_line(error)}") from error
    except (ValueError, KeyError) as error:
        raise RunsError(f"damaged run: {one_line(f'{file}: {error}')}") from error
    return found


def _each_once(selected: np.ndarray) -> np.ndarray:
    """The clients of all rounds, each once a round: FedAvg may draw one several times."""
    ordered = np.sort(selected, axis=1)
    again = np.zeros(ordered.shape, bool)
    again[:, 1:] = ordered[:, 1:] == ordered[:, :-1]
    return ordered[(ordered >= 0) & ~again]


def _num_clients(run: Run, arrays: Mapping[str, np.ndarray]) -> int:
    if "p" in arrays:
        return len(arrays["p"])
    return int(run.settings.get("num_clients") or arrays["selected"].max(initial=0) + 1)


def _check(run: Run, arrays: Mapping[str, np.ndarray]) -> None:
    selected, p = arrays["selected"], arrays.get("p")
    if selected.ndim != 2 or selected.dtype.kind != "i":
        raise ValueError(f"selected is {selected.dtype} {selected.shape}, must be int [T, widest]")
    if p is not None and not (p.ndim == 1 and p.dtype.kind == "f" and np.isfinite(p).all()):
        raise ValueError(f"p is {p.dtype} {p.shape}, must be finite numbers [N]")
    n = run.settings.get("num_clients") if p is None else len(p)
    largest = _MOST_CLIENTS if n is None else min(int(n), _MOST_CLIENTS)
    if selected.size and not -1 <= selected.min() <= selected.max() < largest:
        raise ValueError(f"selected holds another client than 0 .. {largest - 1}")
    if arrays.keys() >= set(_TRACE):
        initial, rounds, values = (arrays[name] for name in _TRACE)
        shapes = (initial.shape, rounds.shape, values.shape)
        if len(shapes[1]) != 1 or shapes[2] != (*shapes[1], *shapes[0]) or p is None:
            raise ValueError(f"rates have shapes {shapes}, must be [N], [n] and [n, N]")
        if shapes[0] != p.shape or {a.dtype.kind for a in (initial, values)} != {"f"}:
            raise ValueError("rates are not numbers, one a client")


def _rates(arrays: dict[str, np.ndarray]) -> Rates | None:
    if not arrays.keys() >= set(_TRACE):
        return None
    initial, rounds, values = (arrays[name] for name in _TRACE)
    return Rates(np.concatenate([[0], rounds]), np.vstack([initial, values]))
