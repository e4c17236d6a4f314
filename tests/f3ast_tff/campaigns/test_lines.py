"""Lines of a campaign: runs of equal cost."""

from __future__ import annotations

from typing import Any

import pytest

from f3ast_tff.campaigns.runs import PlannedRun
from f3ast_tff.settings.resolve import resolve


def key(**given: Any) -> str:
    return PlannedRun("x", resolve(given)).line


SAME = (
    {"seed": 3},
    {"data_seed": 3},
    {"rounds": 7, "eval_every": 3},
    {"rate_beta": 0.01},
    {"client_lr": 0.5},
    {"output_dir": "elsewhere", "keep_checkpoints": 0},
)
OTHER = (
    {"availability": "scarce"},
    {"algorithm": "fedavg"},
    {"algorithm": "poc"},
    {"clients_per_round": 20},
    {"batch_size": 5},
    {"local_steps": 3},
    {"server_optimizer": "adam"},
    {"num_clients": 50},
    {"task": "leaf_synthetic", "client_lr": 0.1},
    {"client_scores": True},
    {"checkpoint_every": 1},
    {"checkpoint_seconds": 1.0},
    {"write_masks": "csv"},
    {"logger": "csv"},
)


@pytest.mark.parametrize("given", SAME, ids=str)
def test_seeds_and_rates_cost_nothing(given: dict[str, Any]) -> None:
    assert key(**given) == key()


@pytest.mark.parametrize("given", OTHER, ids=str)
def test_another_amount_of_work_is_another_line(given: dict[str, Any]) -> None:
    assert key(**given) != key()


def test_candidates_of_power_of_choice_are_evaluated() -> None:
    assert key(algorithm="poc", poc_candidates=20) != key(algorithm="poc", poc_candidates=30)
