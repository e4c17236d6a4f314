"""Clients that the server's rule leaves out: by hand, and in a run's record and last line."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from f3ast_tff import FederatedData, simulate
from f3ast_tff.files.data_files import read_json
from f3ast_tff.records.left_out import left_out, said
from f3ast_tff.run.run_experiment import run_experiment
from f3ast_tff.settings.resolve import resolve


def data_of(labels: list[int], clients: list[int]) -> FederatedData:
    return FederatedData.from_arrays(np.zeros((len(labels), 1)), labels, clients, test=None)


# Client 0 has 6 examples of class 0 and 2 of class 1; client 1 has 2 and none; client 2 none and 6.
DATA = data_of([0] * 6 + [1] * 2 + [0] * 2 + [1] * 6, [0] * 8 + [1] * 2 + [2] * 6)


def history(selected: list[list[int]], delivered: list[list[int]]) -> dict[str, np.ndarray]:
    return {"selected": np.array(selected), "delivered": np.array(delivered, bool)}


def test_by_hand() -> None:
    """Client 0 arrives in 2 of 6 rounds, half of the data, 3/4 of class 0, 1/4 of class 1.

    Client 1 arrives in 3 of 6, client 2 in 5 of 5. The seventh round, in which nobody arrives,
    does not count.
    """
    played = history(
        [[0, 1, 2]] * 5 + [[0, 1, -1], [0, 1, 2]],
        [[1, 0, 1], [1, 0, 1], [0, 1, 1], [0, 1, 1], [0, 0, 1], [0, 1, 0], [0, 0, 0]],
    )
    (found,) = left_out(played, DATA, ["A", "B", "C"])
    assert found == {
        "client": "A",
        "asked": 6,
        "delivered": 2,
        "examples": 0.5,
        "classes": {"0": 0.75, "1": 0.25},
    }
    line = said([found])
    assert line == (
        "left out most of the time: A (2 of the 6 rounds that asked it; 50% of the data, "
        "75% of class 0, 25% of class 1)"
    )


def test_a_late_update_is_none_left_out() -> None:
    played = history([[0, 1]] * 6, [[1, 0]] * 6) | {"late_clients": np.full((6, 1), 1)}
    assert left_out(played, DATA) == []


def test_a_client_drawn_twice_counts_once() -> None:
    played = history([[0, 0, 1]] * 5, [[0, 0, 1]] * 5)
    assert [(each["client"], each["asked"]) for each in left_out(played, DATA)] == [("0", 5)]


@pytest.mark.parametrize(("rounds", "named"), [(29, False), (30, True)])
def test_a_client_that_is_never_asked_in_a_long_run(rounds: int, named: bool) -> None:
    """Two of three clients, so that 30 rounds ask 20 per client."""
    found = left_out(history([[0, 1]] * rounds, [[1, 1]] * rounds), DATA)
    assert [each["client"] for each in found] == (["2"] if named else [])


def test_values_have_no_classes() -> None:
    values = FederatedData.from_arrays(np.zeros((4, 1)), np.zeros(4), [0, 0, 1, 1], num_classes=0)
    (found,) = left_out(history([[0, 1]] * 5, [[1, 0]] * 5), values)
    assert "classes" not in found


def test_a_run_says_and_keeps_it(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """The largest client, with 8 times the images of the others, is never among the first two."""
    given: dict[str, Any] = {
        "num_clients": 3,
        "clients_per_round": 3,
        "availability": "always",
        "delivery": "quorum",
        "quorum": 2,
        "device_example_spread": 0.0,
        "device_kbps_spread": 0.0,
        "rounds": 6,
        "engine": "host",
        "seed": 1,
    }
    configuration = resolve(given)
    with caplog.at_level(logging.WARNING):
        found = run_experiment(configuration, tmp_path / "run").summary["left_out"]
    assert read_json(tmp_path / "run" / "summary.json")["left_out"] == found
    assert all(2 * each["delivered"] < each["asked"] for each in found)
    assert caplog.text.count("left out most of the time: ") == 1


def test_a_run_in_which_all_arrive_says_nothing() -> None:
    assert "left_out" not in simulate(rounds=6, clients_per_round=3, engine="host").summary
