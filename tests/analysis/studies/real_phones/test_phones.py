"""The plug-in's regimes and task."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import numpy as np
import pytest

from f3ast_tff.analysis.studies.real_phones import phones
from f3ast_tff.core.errors import DataError


def test_another_file_or_none_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="there is no such file"):
        phones.Flash300(trace_file=str(tmp_path / "none.json")).build(np.ones(2) / 2, 0)
    (tmp_path / "other.json").write_text('{"devices": {"1": [[0, "AVL_TRAIN"]]}}')
    with pytest.raises(DataError, match="must have the SHA-256 87163d22"):
        phones.Flash300(trace_file=str(tmp_path / "other.json")).build(np.ones(2) / 2, 0)


def written(path: Path, devices: object) -> str:
    """Writes traces; returns their SHA-256."""
    path.write_text(json.dumps(devices))
    return hashlib.sha256(path.read_bytes()).hexdigest()


def test_the_run_begins_on_day_28_and_repeats_after_a_week(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A phone watched from day 27 for three days, ready in the first hour, is so every third."""
    day, path = 86_400, tmp_path / "ready.json"
    phone = {"isSuccess": True, "trace_start": 27 * day, "trace_end": 30 * day}
    phone["ready_time"] = [[27 * day, 27 * day + 3600]]
    monkeypatch.setattr(phones.FlashReady, "sha256", written(path, {"0": phone}))
    process = phones.FlashReady(trace_file=str(path)).build(np.ones(1), 0)
    first = [t for t in range(1, 10 * 144 + 1) if process.mask(t)[0] and (t - 1) % 144 == 0]
    assert [(t - 1) // 144 for t in first] == [2, 5, 9]


def test_fedscales_first_round_and_end_are_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Phone 0 is on in the first 228 s alone, phone 1 in round 2, phone 2 after 720 rounds."""
    on, off = "AVL_TRAIN", "UN_AVL"
    spells = {"0": (0, 228), "1": (456, 684), "2": (228 * 721, 228 * 730)}
    devices = {
        name: [[0, on if first == 0 else off], *([[first, on]] if first else []), [last, off]]
        for name, (first, last) in spells.items()
    }
    path = tmp_path / "fedscale.json"
    monkeypatch.setattr(phones.FedScale300, "sha256", written(path, {"devices": devices}))
    process = phones.FedScale300(trace_file=str(path)).build(np.ones(3), 0)
    there = np.array([process.mask(t) for t in range(1, 723)])
    rounds = [(np.flatnonzero(column) + 1).tolist() for column in there.T]
    assert sorted(rounds) == [[], [], [2, 722]]  # Devices are drawn for the clients.


def test_a_window_of_observation_repeats(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A phone watched on day 28 alone, ready in its first hour, is so on each day of the run."""
    start, day = 28 * 86_400, 86_400
    phone = {"isSuccess": True, "trace_start": start, "trace_end": start + day}
    path = tmp_path / "ready.json"
    ready_phone = {**phone, "ready_time": [[start, start + 3600]]}
    monkeypatch.setattr(phones.FlashReady, "sha256", written(path, {"0": ready_phone}))
    process = phones.FlashReady(trace_file=str(path)).build(np.ones(1), 0)
    ready = [t for t in range(1, 7 * 144 + 1) if process.mask(t)[0]]
    assert ready == [144 * d + t for d in range(7) for t in range(1, 7)]


@pytest.mark.long
def test_sizes_and_labels_of_mnist1d() -> None:
    data = phones.Mnist1d(num_clients=20, data_seed=1).build()
    assert len(data.train.sizes) == 20 and data.num_classes == 10
    assert data.train.sizes.min() >= 16 and data.train.sizes.max() <= 800
    again = phones.Mnist1d(num_clients=20, data_seed=1).build()
    assert np.array_equal(data.train.features, again.train.features)


def test_the_network_has_two_layers() -> None:
    """ReLUs of -1 and 2 on an input of 1, then a sum of 0 and 2."""
    model = phones.OneHiddenLayer(hidden_units=2).build((1,), 1)
    assert [w.shape for w in model.initial_weights(0)] == [(1, 2), (2,), (2, 1), (1,)]
    weights = [np.array([[-1.0, 2.0]]), np.zeros(2), np.ones((2, 1)), np.zeros(1)]
    assert model.apply(weights, np.ones((1, 1))).tolist() == [[2.0]]
