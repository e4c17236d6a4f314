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


def test_a_window_of_observation_repeats(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A phone watched on day 28 alone, ready in its first hour, is so on each day of the run."""
    start, day = 28 * 86_400, 86_400
    phone = {"isSuccess": True, "trace_start": start, "trace_end": start + day}
    path = tmp_path / "ready.json"
    path.write_text(json.dumps({"0": {**phone, "ready_time": [[start, start + 3600]]}}))
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    monkeypatch.setattr(phones.FlashReady, "sha256", digest)
    process = phones.FlashReady(trace_file=str(path)).build(np.ones(1), 0)
    ready = [t for t in range(1, 7 * 144 + 1) if process.mask(t)[0]]
    assert ready == [144 * d + t for d in range(7) for t in range(1, 7)]


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
