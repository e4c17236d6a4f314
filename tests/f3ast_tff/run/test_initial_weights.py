"""Warm starts: arrays, or the model of another run."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from f3ast_tff import simulate
from f3ast_tff.core.errors import ParameterError, RunFolderError
from f3ast_tff.run.initial_weights import digest_of

GIVEN: dict[str, Any] = {
    "num_clients": 8,
    "clients_per_round": 2,
    "engine": "host",
    "rounds": 4,
    "eval_every": 2,
}


def same(one: Any, other: Any) -> bool:
    return all(map(np.array_equal, one.weights, other.weights))


def test_a_run_starts_from_another_runs_model(tmp_path: Path) -> None:
    first = simulate(**GIVEN, folder=tmp_path / "first")
    warm = simulate(**GIVEN, folder=tmp_path / "warm", initial_weights=tmp_path / "first")
    arrays = simulate(**GIVEN, initial_weights=first.weights)
    assert same(warm, arrays) and not same(warm, simulate(**GIVEN))
    config = json.loads((tmp_path / "warm" / "config.json").read_text())
    assert config["settings"]["initial_weights"] == str(tmp_path / "first")
    assert len(config["input_files"]["initial_weights"]) == 64
    # Longer, from its checkpoint: the same as in one go.
    longer = {**GIVEN, "rounds": 6}
    resumed = simulate(**longer, folder=tmp_path / "warm", initial_weights=tmp_path / "first")
    assert same(resumed, simulate(**longer, initial_weights=first.weights))
    with pytest.raises(RunFolderError, match="the content of initial_weights is not that"):
        simulate(**longer, folder=tmp_path / "warm", initial_weights=tmp_path / "warm")


def test_arrays_are_recorded_by_their_digest(tmp_path: Path) -> None:
    weights = simulate(**GIVEN).weights
    once = simulate(**GIVEN, folder=tmp_path / "x", initial_weights=weights)
    config = json.loads((tmp_path / "x" / "config.json").read_text())
    assert config["input_files"] == {"initial_weights": digest_of(weights)}
    assert same(once, simulate(**GIVEN, folder=tmp_path / "x", initial_weights=weights))
    with pytest.raises(RunFolderError, match="other settings"):
        simulate(**GIVEN, folder=tmp_path / "x", initial_weights=[2 * w for w in weights])


ZEROS = [np.zeros((60, 10)), np.zeros(10)]


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (ZEROS[:1], "1 arrays: must be 2 arrays, as .* has: they differ from head.bias .10. on"),
        (ZEROS[::-1], r"array 0 of shape \[10\]: must have shape \[60, 10\], as .* head.kernel"),
        ([ZEROS[0], np.full(10, np.inf)], "array 1: must be of finite numbers"),
        ([ZEROS[0], np.array(["a"])], "array 1 of <U1: must be of numbers"),
        ([*ZEROS, np.zeros(1)], "3 arrays: must be 2 arrays, as .*: they differ from its last on"),
        (3, "int: must be a list of arrays, or the folder of a run"),
        ("sha256:abc", "must be a folder: it stands for arrays in Python"),
        ("nowhere", "nowhere holds no run"),
    ],
)
def test_other_weights_are_refused(value: Any, message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        simulate(**GIVEN, initial_weights=value)


def test_the_other_half_of_the_clients_goes_on(tmp_path: Path) -> None:
    """Halves of other draws overlap, and are refused; the same half may go on."""
    start = str(tmp_path / "x")
    alone = {**GIVEN, "clients_per_round": 1, "availability": "always"}
    first = simulate(**alone, client_half="first", algorithm="sequential_sgd", folder=start)
    for more in ({"client_half": "second"}, {"client_half": "first", "data_seed": 1}, {}):
        second = simulate(**GIVEN, **more, initial_weights=start)
        assert not same(first, second)
    allowed = f"^data_seed = 1: must be 0, as in {start}: other halves overlap$"
    with pytest.raises(ParameterError, match=allowed):
        simulate(**GIVEN, client_half="second", data_seed=1, initial_weights=start)


def test_a_folder_without_a_checkpoint_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ParameterError, match="a folder without a checkpoint"):
        simulate(**GIVEN, folder=tmp_path / "x", initial_weights=tmp_path)
