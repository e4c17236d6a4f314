"""Names of runs contain the settings that differ from the defaults."""

from __future__ import annotations

from typing import Any

import pytest

from f3ast_tff.settings.resolve import resolve


def settings(**given: Any) -> Any:
    return resolve(given).settings


def test_run_name_says_what_runs() -> None:
    name = settings(algorithm="poc", availability="uneven", seed=3)["run_name"]
    assert name == "synthetic-poc-uneven-paper-seed3"
    assert settings(run_name="mine")["run_name"] == "mine"


@pytest.mark.parametrize(
    ("given", "part"),
    [
        ({"rate_beta": 0.01}, "rate_beta0.01"),
        ({"rate_beta": 0.001}, ""),
        ({"client_lr": 0.0316227766}, "client_lr0.0316227766"),
        ({"engine": "tff", "clients_per_round": 5}, "tff-clients_per_round5"),
        ({"model": "softmax_regression"}, ""),
        ({"checkpoint_every": 3, "output_dir": "x", "logger": "csv"}, ""),
        ({"rounds": 7}, ""),
        ({"rounds": 7, "algorithm": "f3ast_fixed"}, "rounds7"),
        ({"rounds": 7, "algorithm": "fedavg_then_fedlaavg"}, "rounds7"),
        ({"rounds": 7, "algorithm": "fedavg_then_fedlaavg", "switch_round": 3}, "switch_round3"),
        ({"rounds": 7, "availability": "arrival_departure"}, "rounds7"),
    ],
)
def test_run_name_carries_what_is_not_default(given: dict[str, Any], part: str) -> None:
    """Rounds are only included if a longer run is no continuation."""
    name = settings(**given)["run_name"]
    chosen = (given.get("algorithm", "f3ast"), given.get("availability", "home_devices"))
    parts = ["synthetic", *chosen, "paper", *([part] if part else []), "seed0"]
    assert name == "-".join(parts)


def test_run_names_are_names_of_folders() -> None:
    names = {settings(constraint=text)["run_name"] for text in ("cycle:5,10", "cycle:5,11")}
    assert len(names) == 2 and all("/" not in name and ":" not in name for name in names)
