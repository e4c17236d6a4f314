"""Schedules of faults by seed on a real network: SuperLink and SuperNodes on the loopback.

In a round a node is killed, or leaves, and comes back with a new id; a reply is late; the link
restarts; the server is killed. A server that has gone is started again. The records of who was
there and has delivered, played again in this process, give the model and the rates.
"""

from __future__ import annotations

import json
import random
import signal
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from f3ast_tff import F3AST, Round, RoundConstraint, select_clients, weigh_updates
from tests.f3ast_tff.flower.network import APP, Network

pytestmark = pytest.mark.slow
N, K, ROUNDS, BETA, TIMEOUT = 3, 2, 4, 0.1, 30
SCHEDULES = 12
SEED = 20_261_128
KINDS = ("node killed", "node leaves", "late", "link", "server")


@pytest.fixture(scope="module")
def network(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Network]:
    with Network(tmp_path_factory.mktemp("network"), N) as made:
        yield made


def records(folder: Path) -> dict[int, dict[str, Any]]:
    """The last record of each round: a round that was not saved is played again."""
    file = folder / "rounds"
    lines = file.read_text().splitlines() if file.exists() else []
    return {each["t"]: each for each in map(json.loads, lines)}


def played_again(folder: Path) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Model and rates by the package's loop, and the rates by eq. (5)."""
    sys.path.insert(0, str(APP))
    from network_app.client import drift

    sys.path.pop(0)
    strategy = F3AST.start(np.full(N, 1 / N), K, seed=0, rate_beta=BETA)
    model, rates = np.zeros(N), np.array(strategy.participation_rates())
    for t, noted in sorted(records(folder).items()):
        now = Round(t, np.isin(np.arange(N), noted["available"]), RoundConstraint(K))
        ids = select_clients(strategy, now)
        assert ids.tolist() == noted["asked"]
        cohort = weigh_updates(strategy, now, ids, np.isin(ids, noted["delivered"]))
        for k, weight in zip(cohort.ids.tolist(), cohort.weights):
            model = model + weight * drift(k, t)
        rates = (1 - BETA) * rates + BETA * np.isin(np.arange(N), noted["delivered"])
    return model, np.array(strategy.participation_rates()), rates


def play(network: Network, kind: str, k: int) -> bool:
    """Plays a fault that client k meets; returns whether the server has gone."""
    if kind.startswith("node"):
        network.end_node(k, signal.SIGKILL if kind == "node killed" else signal.SIGTERM)
        network.start_node(k)
    elif kind == "late":
        time.sleep(TIMEOUT + 6)
    elif kind == "link":
        network.kill_link()
        time.sleep(3)
        network.start_link()
    else:
        network.kill_servers()
    return kind in ("link", "server")


def saved(folder: Path) -> int:
    file = folder / "server.npz"
    if not file.exists():
        return 0
    with np.load(file) as state:
        return int(state["round"])


@pytest.mark.parametrize("number", range(SCHEDULES))
def test_nothing_is_lost(number: int, network: Network, tmp_path: Path) -> None:
    rng = random.Random(f"{SEED} {number}")
    # Each kind comes first in some schedule.
    kinds = [KINDS[number % len(KINDS)], *rng.sample(KINDS, 1)]
    faults = list(zip(rng.sample(range(1, ROUNDS), 2), kinds))
    for t, kind in faults:
        (tmp_path / f"fault-{t}-{kind}").touch()
    network.start_server(tmp_path, rounds=ROUNDS, timeout=TIMEOUT)
    until, met_in, saves = time.monotonic() + 600, dict[str, int](), [0]
    while not (tmp_path / "model.npy").exists():
        assert time.monotonic() < until, f"schedule {number}: {faults}, saved {saves}"
        time.sleep(0.2)
        saves.append(saved(tmp_path))
        for met in tmp_path.glob("met-*"):
            t, kind, k = met.name.removeprefix("met-").split("-")
            met_in[kind] = int(t)
            gone = play(network, kind, int(k))
            met.unlink()
            if gone:
                network.start_server(tmp_path, rounds=ROUNDS, timeout=TIMEOUT)
    assert saves == sorted(saves) and set(met_in) == set(kinds)
    noted = records(tmp_path)
    assert sorted(noted) == list(range(1, ROUNDS + 1))
    assert sum(len(each["delivered"]) for each in noted.values()) > 0
    model, rates, by_hand = played_again(tmp_path)
    np.testing.assert_allclose(np.load(tmp_path / "model.npy"), model, atol=1e-12)
    np.testing.assert_allclose(rates, by_hand, atol=1e-12)
    with np.load(tmp_path / "server.npz") as state:
        assert state["round"] == ROUNDS
        np.testing.assert_array_equal(state["strategy/rates"], rates)
        np.testing.assert_array_equal(state["model/0"], np.load(tmp_path / "model.npy"))
