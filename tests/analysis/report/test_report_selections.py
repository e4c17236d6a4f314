from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from f3ast_tff.analysis.report.collect import collect
from f3ast_tff.analysis.report.selections import selections_of
from f3ast_tff.analysis.runs import RunsError
from f3ast_tff.rates import ParticipationRates

MakeRun = Callable[..., Path]
N, K, BETA = 6, 2, 0.05


def write_selection(folder: Path, rounds: int, initial: np.ndarray, divisor: float) -> np.ndarray:
    """Writes what F3AST would: weights p / r(t) / divisor; returns r(0) .. r(T)."""
    random = np.random.default_rng(0)
    shares = np.arange(1, N + 1) / 21
    rates = ParticipationRates(initial, BETA)
    selected = np.full((rounds, K), -1)
    weights = np.zeros((rounds, K))
    values = [rates.values]
    for t in range(rounds):
        # Client 5 is never there; round 1 selects one client, round 2 none.
        ids = random.choice(N - 1, min(t, K) if t < K else K, replace=False)
        rates.update(ids)
        selected[t, : len(ids)] = ids
        weights[t, : len(ids)] = shares[ids] / rates.values[ids] / divisor
        values.append(rates.values)
    np.savez_compressed(
        folder / "selection.npz", selected=selected, weights=weights, final_rates=rates.values
    )
    return np.array(values)


@pytest.mark.parametrize(("aggregate", "divisor"), [("sum", 1), ("sum_over_k", K)])
def test_rates_and_shares_come_back(
    make_run: MakeRun, tmp_path: Path, aggregate: str, divisor: int
) -> None:
    folder = make_run("a", num_clients=N, rate_beta=BETA, aggregate=aggregate)
    initial = np.linspace(0.1, 0.6, N)
    values = write_selection(folder, 40, initial, divisor)
    (group,) = collect(tmp_path).groups
    rates = selections_of(group).rates
    assert rates is not None
    assert rates.rounds.tolist() == list(range(41))
    np.testing.assert_allclose(rates.values, values, rtol=1e-9)
    np.testing.assert_allclose(rates.shares[:5], np.arange(1, 6) / 21, rtol=1e-9)
    assert np.isnan(rates.shares[5])


def test_shares_of_rounds_are_averaged_over_seeds(make_run: MakeRun, tmp_path: Path) -> None:
    rows = {0: [[0, 1], [0, -1]], 1: [[2, 1], [0, 1]]}
    for seed, selected in rows.items():
        folder = make_run(f"a{seed}", seed=seed, algorithm="fedavg", num_clients=4)
        np.savez(folder / "selection.npz", selected=selected, weights=np.ones((2, 2)))
    (group,) = collect(tmp_path).groups
    found = selections_of(group)
    assert found.picked.tolist() == [0.75, 0.75, 0.25, 0.0]
    assert found.rates is None


def test_rates_lost_in_rounding_are_not_shown(make_run: MakeRun, tmp_path: Path) -> None:
    """(1 - 0.05)^400 is 1e-9: nothing is left of r(0)."""
    folder = make_run("a", num_clients=N, rate_beta=BETA)
    write_selection(folder, 400, np.full(N, 0.3), 1)
    (group,) = collect(tmp_path).groups
    assert selections_of(group).rates is None


def test_a_damaged_file(make_run: MakeRun, tmp_path: Path) -> None:
    folder = make_run("a", num_clients=N)
    (group,) = collect(tmp_path).groups
    with pytest.raises(RunsError, match=r"selection\.npz"):
        selections_of(group)
    (folder / "selection.npz").write_bytes(b"PK nothing")
    with pytest.raises(RunsError, match=r"selection\.npz"):
        selections_of(group)
