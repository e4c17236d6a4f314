"""Runs of methods: on both engines, compared with FedAvg, and F3AST with a memory of updates."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from f3ast_tff import simulate
from f3ast_tff.cli import run as run_command
from f3ast_tff.settings import builtin_registry
from tests.f3ast_tff.run.test_interrupted import MEMORIES, MEMORY

SMALL: dict[str, Any] = {"num_clients": 8, "client_lr": 0.05, "seed": 3, "rounds": 5}


def recorded(folder: Path) -> tuple[dict[str, np.ndarray], np.ndarray]:
    """Returns `selection.npz`, and both losses of `metrics.csv`."""
    with np.load(folder / "selection.npz") as archive:
        selection = {name: archive[name] for name in archive.files}
    rows = np.genfromtxt(folder / "metrics.csv", delimiter=",", names=True)
    return selection, np.array([rows["train_loss"], rows["test_sample_loss"]])


@pytest.mark.long
@pytest.mark.tff
def test_both_engines_agree(tmp_path: Path) -> None:
    """Five rounds of `f3ast-tff run`; Oort's clients, 4 of 8, depend on losses of the rounds."""
    found = []
    for engine in ("fused", "tff"):
        where = {"output_dir": str(tmp_path), "run_name": engine, "engine": engine}
        some = {"clients_per_round": 4, "availability": "smartphones", "eval_every": 1}
        code = run_command.run(
            {**SMALL, **some, **where, "algorithm": "oort_loss"}, builtin_registry()
        )
        assert code == 0
        found.append(recorded(tmp_path / engine))
    (selection, losses), (expected, expected_losses) = found
    assert selection.keys() == expected.keys()
    np.testing.assert_array_equal(selection["selected"], expected["selected"])
    np.testing.assert_array_equal(selection["weights"], expected["weights"])
    np.testing.assert_allclose(losses, expected_losses, atol=1e-5)
    for part in selection.keys() - {"selected", "weights"}:
        np.testing.assert_allclose(selection[part], expected[part], rtol=1e-5)
    assert len(set(losses[1].tolist())) == 5


@pytest.mark.long
@pytest.mark.parametrize("name", ["fedavg_all", "fedau"])
def test_with_everybody_there_it_is_fedavg(name: str) -> None:
    """The sum of p_k v_k over all is the mean weighted by n_k."""
    everybody = {**SMALL, "clients_per_round": 8, "availability": "always"}
    everybody["client_share"] = "examples"
    fedavg = {"baseline_sampling": "uniform", "baseline_average": "examples"}
    found = simulate("synthetic", name, **everybody)
    expected = simulate("synthetic", "fedavg", **everybody, **fedavg)
    for a, b in zip(found.weights, expected.weights):
        np.testing.assert_allclose(a, b, atol=1e-6)
    assert max(np.abs(w).max() for w in expected.weights) > 0.01


def test_the_correction_changes_the_model_and_not_the_selection() -> None:
    """F3AST with FedVARP's correction, sum_S p_k / r_k (D_k - y_k) + sum_j p_j y_j."""
    given = {**MEMORY, "engine": "host"}
    corrected = simulate(**{**given, **MEMORIES["f3ast+fedvarp"]})
    plain = simulate(**given, algorithm="f3ast")
    for part in ("selected", "weights"):
        np.testing.assert_array_equal(corrected.selection[part], plain.selection[part])
    assert max(np.abs(a - b).max() for a, b in zip(corrected.weights, plain.weights)) > 1e-3
