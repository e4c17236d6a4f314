"""What `selection.npz` tells: who was picked how often, p_k, and the rates over time."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from f3ast_tff.analysis.run_groups import RunGroup
from f3ast_tff.analysis.runs import Pair, Run, RunsError
from f3ast_tff.messages import one_line
from f3ast_tff.training.results import DamagedResult, read_selection

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
        shares: p_k of that draw, `float64 [N]`.
        rates: Those of the run of `pair`; `None` where nothing is tracked, or N is too large.
    """

    pair: Pair
    picked: np.ndarray
    shares: np.ndarray
    rates: Rates | None


def selections_of(group: RunGroup) -> Selections:
    """Reads the selections of a group's runs on its lowest data draw.

    Raises:
        RunsError: If the file of one is missing or damaged.
    """
    first = min(group.runs)
    picked = []
    for pair in sorted(pair for pair in group.runs if pair.draw == first.draw):
        arrays = _read(group.runs[pair])
        counts = np.bincount(_each_once(arrays["selected"]), minlength=len(arrays["p"]))
        picked.append(counts / max(len(arrays["selected"]), 1))
        if pair == first:
            shares, rates = arrays["p"], _rates(arrays)
    return Selections(first, np.mean(picked, axis=0), shares, rates)


def _read(run: Run) -> dict[str, np.ndarray]:
    file = run.path / "selection.npz"
    try:
        found = read_selection(run.path, run.summary)
        _check(found)
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


def _check(arrays: Mapping[str, np.ndarray]) -> None:
    selected, p = arrays["selected"], arrays["p"]
    if selected.ndim != 2 or selected.dtype.kind != "i":
        raise ValueError(f"selected is {selected.dtype} {selected.shape}, must be int [T, widest]")
    if not (p.ndim == 1 and p.dtype.kind == "f" and np.isfinite(p).all()):
        raise ValueError(f"p is {p.dtype} {p.shape}, must be finite numbers [N]")
    if selected.size and not -1 <= selected.min() <= selected.max() < len(p):
        raise ValueError(f"selected holds another client than 0 .. {len(p) - 1}")
    if arrays.keys() >= set(_TRACE):
        initial, rounds, values = (arrays[name] for name in _TRACE)
        if initial.shape != p.shape or values.shape != (*rounds.shape, len(p)):
            shapes = (initial.shape, rounds.shape, values.shape)
            raise ValueError(f"rates have shapes {shapes}, must be [N], [n] and [n, N]")
        if {initial.dtype.kind, values.dtype.kind} != {"f"}:
            raise ValueError("rates are not numbers, one a client")


def _rates(arrays: dict[str, np.ndarray]) -> Rates | None:
    if not arrays.keys() >= set(_TRACE):
        return None
    initial, rounds, values = (arrays[name] for name in _TRACE)
    return Rates(np.concatenate([[0], rounds]), np.vstack([initial, values]))
