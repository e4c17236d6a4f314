"""The code that advice prints starts a federation in Flower."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from f3ast_tff import advise
from f3ast_tff.advice.deploy import snippets, write_files
from f3ast_tff.advice.trial import Trial, candidates_of
from f3ast_tff.availability import Table
from tests.f3ast_tff.advice.test_trial import kept
from tests.f3ast_tff.flower.in_process_grid import InProcessGrid
from tests.f3ast_tff.flower.test_availability_strategy import app_of, run, unit

METHODS = ("f3ast", "fedavg+baseline_sampling=without_replacement", "fedavg_all+mean", "fedavg")


@pytest.mark.parametrize("method", METHODS)
def test_the_printed_code_starts_a_federation(method: str, tmp_path: Any) -> None:
    """Fifty rounds: in round 3 nobody is there, client 3 never answers, others come back."""
    masks = np.random.default_rng(0).random((50, 4)) < [0.3, 0.5, 0.7, 0.9]
    masks[2] = False
    candidates = candidates_of([method, "scaffold"])
    scores = {each.name: kept([float(each.text == method)] * 5) for each in candidates}
    trial = Trial(candidates, {"a": scores}, "user_accuracy", 2, 4, 9)
    advice = replace(advise(masks, ks=[2]), trial=trial)
    write_files(advice, tmp_path, "")
    found = snippets(advice, tmp_path)
    names: dict[str, Any] = {}
    exec(found["own"], names)
    exec(found["flower"].replace("server.npz", str(tmp_path / "server.npz")), names)
    names["flower"]._availability = Table(masks)
    grid = InProcessGrid(app_of(lambda k, t: 0.1 * unit(k, t)), 4, {})
    grid.silent["train"] = {3}
    moved = run(grid, names["flower"], 50)
    assert (moved[:3] > 0.1).all() and moved[3] == 0
    asked = {t for kind, client, t in grid.sent if (kind, client) == ("train", 3)}
    assert max(asked) > 4 and not any(t == 3 for _, _, t in grid.sent)
