"""Runs of F3AST's selection with a memory of clients' updates."""

from __future__ import annotations

import numpy as np

from f3ast_tff import simulate
from tests.f3ast_tff.run.test_interrupted import MEMORIES, MEMORY


def test_the_correction_changes_the_model_and_not_the_selection() -> None:
    """F3AST with FedVARP's correction, sum_S p_k / r_k (D_k - y_k) + sum_j p_j y_j."""
    given = {**MEMORY, "engine": "host"}
    corrected = simulate(**{**given, **MEMORIES["f3ast+fedvarp"]})
    plain = simulate(**given, algorithm="f3ast")
    for part in ("selected", "weights"):
        np.testing.assert_array_equal(corrected.selection[part], plain.selection[part])
    assert max(np.abs(a - b).max() for a, b in zip(corrected.weights, plain.weights)) > 1e-3
