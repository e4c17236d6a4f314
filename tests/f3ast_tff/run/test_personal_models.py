"""Models of clients that keep private leaves: `trained.personal`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from f3ast_tff import FederatedData, Simulation, load_run, simulate
from f3ast_tff.core.errors import ParameterError, RunFolderError

NAMES = np.array(["ann", "bob", "cem", "dot"])


def data() -> FederatedData:
    rng = np.random.default_rng(0)
    x = rng.normal(size=(80, 3)).astype(np.float32)
    clients = np.tile(NAMES, 20)
    # Two clients name the classes the other way round.
    y = (x[:, 0] > 0) ^ np.isin(clients, ("bob", "dot"))
    return FederatedData.from_arrays(x, y.astype(int), clients)


def trained(**given: Any) -> Simulation:
    common = {"clients_per_round": 4, "client_lr": 0.5, "rounds": 20}
    return simulate(data(), "fedavg", "always", private=("head",), **common, **given)


@pytest.mark.long
@pytest.mark.parametrize("engine", ["host", "fused"])
def test_a_client_s_own_model_predicts_for_it(engine: str) -> None:
    """All leaves are private, so each client learns its own names of the classes."""
    model = trained(engine=engine).trained
    x = np.array([[3.0, 0, 0], [-3.0, 0, 0]])
    found = {name: model.personal(name).predict(x).tolist() for name in NAMES}
    assert found == {"ann": [1, 0], "bob": [0, 1], "cem": [1, 0], "dot": [0, 1]}
    own = model.personal("ann")
    assert [w.shape for w in own.weights] == [w.shape for w in model.weights]
    assert not np.array_equal(own.weights[0], model.personal("bob").weights[0])


def test_refused_in_a_line(tmp_path: Path) -> None:
    model = trained(engine="host").trained
    for call in (model.predict, model.probabilities, model.outputs):
        with pytest.raises(ParameterError, match=r"personal\(client\) is a client's own"):
            call(np.zeros((1, 3)))
    with pytest.raises(ParameterError, match="client = eve: must be one of ann, bob, cem, dot"):
        model.personal("eve")
    shared = simulate(data(), "fedavg", "always", clients_per_round=4, rounds=1).trained
    with pytest.raises(ParameterError, match="has no private leaves"):
        shared.personal("ann")


def test_a_finished_run_returns_them_again(tmp_path: Path) -> None:
    given = {"engine": "host", "folder": tmp_path / "run"}
    first, again = (trained(**given).trained.personal("dot").weights for _ in range(2))
    assert all(np.array_equal(*pair) for pair in zip(first, again))
    with pytest.raises(RunFolderError, match=r"again returns their models"):
        _ = load_run(tmp_path / "run").trained


def test_evaluations_hand_them_over() -> None:
    seen: list[Any] = []
    run = trained(engine="host", eval_every=10, on_evaluation=lambda row, model: seen.append(model))
    heads = [model.personal("cem").weights[0] for model in seen]
    assert len(heads) == 2 and not np.array_equal(*heads)
    np.testing.assert_array_equal(heads[-1], run.trained.personal("cem").weights[0])
