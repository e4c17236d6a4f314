"""Processes by name."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from f3ast_tff.availability import FourClasses, Mix, Product, Scarce, Smartphones, Table
from f3ast_tff.availability.catalogue import ENTRIES, build, parameters_of
from f3ast_tff.errors import DataError, SettingError

N = 12
P = np.arange(1, N + 1) / 78


@pytest.fixture
def values(tmp_path: Path) -> dict[str, Any]:
    """What the processes that need something given are given."""
    np.save(tmp_path / "table.npy", np.random.default_rng(0).random((50, N)) < 0.5)
    entries = [[hour * 3600, ("AVL_TRAIN", "UN_AVL")[hour % 2]] for hour in range(130)]
    (tmp_path / "trace.json").write_text(json.dumps({"devices": {"a": entries}}))
    return {
        "table_file": str(tmp_path / "table.npy"),
        "trace_file": str(tmp_path / "trace.json"),
        "availability_parts": "markov,smartphones",
    }


@pytest.mark.parametrize("name", ENTRIES)
def test_each_process_by_its_name(name: str, values: Mapping[str, Any]) -> None:
    """What all have in common: masks by (seed, round), and the stationary availability.

    Over 2400 rounds (100 days) frequencies of chains of memory 0.9 deviate by at most
    sqrt(0.25 x 19 / 2400) = 0.045.
    """
    process = build(name, P, 3, values)
    assert isinstance(process, ENTRIES[name].process)
    assert process.positively_correlated == ENTRIES[name].process.positively_correlated
    assert process.num_clients == N
    seen = np.array([process.mask(t) for t in range(1, 2401)])
    assert seen.dtype == bool
    again = build(name, P, 3, values)
    for t in (2000, 7, 8, 2400):
        assert np.array_equal(again.mask(t), seen[t - 1])
    stationary = process.stationary
    assert stationary is not None
    assert stationary.shape == (N,)
    assert np.abs(seen.mean(axis=0) - stationary).max() < 5 * 0.045


def test_parameters_reach_the_process() -> None:
    given = {"scarce_q": 0.7, "markov_g": 0.1, "markov_order": None, "cluster_pi": "ignored"}
    scarce = build("scarce", P, 0, given)
    assert isinstance(scarce, Scarce)
    assert scarce.q.tolist() == [0.7] * N
    four = build("markov", P, 0, given)
    assert isinstance(four, FourClasses)
    assert set(four.pi.round(6)) == {0.4, 0.6}
    clusters = build("markov_clusters", P, 0, {"cluster_pi": "1,0", "cluster_eigenvalues": "0,0"})
    assert clusters.mask(1).tolist() == [True] * 6 + [False] * 6


def test_parts_have_their_own_seeds_and_parameters() -> None:
    both = build("product", P, 1, {"availability_parts": "scarce,scarce", "scarce_q": 0.5})
    assert isinstance(both, Product)
    assert not np.array_equal(both.parts[0].mask(1), both.parts[1].mask(1))
    given = {"availability_parts": "scarce,table", "mix_shares": "1,0", "table_file": "none"}
    assert set(parameters_of("mix", given)) >= {"mix_shares", "scarce_q", "table_file"}
    given["availability_parts"] = "scarce,smartphones"
    mixed = build("mix", P, 1, given)
    assert isinstance(mixed, Mix)
    assert isinstance(mixed.parts[1], Smartphones)
    assert not mixed.members.any()


BAD: dict[str, tuple[str, dict[str, Any], str]] = {
    "no_such_process": ("never", {}, "--availability=never: must be one of always, "),
    "no_such_choice": (
        "smartphones",
        {"smartphones_grid": "daily"},
        "--smartphones_grid=daily: must be one of hourly, endpoints",
    ),
    "q_above_1": ("scarce", {"scarce_q": 1.5}, r"--scarce_q=1.5: must be in \[0, 1\]"),
    "q_nan": ("scarce", {"scarce_q": float("nan")}, "--scarce_q=nan"),
    "no_file": ("trace", {}, "--trace_file=None: must be given"),
    "no_parts": ("mix", {}, "--availability_parts=None: must be given"),
    "nested": (
        "mix",
        {"availability_parts": "scarce,product"},
        "--availability_parts=scarce,product: must be names among always",
    ),
    "shares_differ": (
        "mix",
        {"availability_parts": "scarce,always", "mix_shares": "1"},
        "--mix_shares=1: must be one number for each of the 2",
    ),
    "no_number": (
        "markov_clusters",
        {"cluster_pi": "0.5,half"},
        "--cluster_pi=0.5,half: must be numbers",
    ),
}


@pytest.mark.parametrize(("name", "given", "message"), BAD.values(), ids=BAD)
def test_what_is_not_allowed_is_refused(name: str, given: dict[str, Any], message: str) -> None:
    with pytest.raises(SettingError, match=message):
        build(name, P, 0, given)


def test_a_table_of_other_clients_is_refused(values: Mapping[str, Any]) -> None:
    with pytest.raises(SettingError, match="--table_file=.*has 12 columns, .* each of 11 clients"):
        build("table", P[1:], 0, values)
    with pytest.raises(DataError, match="there is no such file"):
        build("table", P, 0, {"table_file": "gone.npy"})
    assert isinstance(build("table", P, 0, values), Table)
