"""The example of a private head, on a task that needs no files."""

from __future__ import annotations

import runpy
from pathlib import Path

import pytest

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "private_head.py"


@pytest.mark.long
def test_a_private_head_helps_clients_that_differ() -> None:
    main = runpy.run_path(str(EXAMPLE))["main"]
    small = {"task": "synthetic", "model": "softmax_regression", "rounds": 20, "engine": "host"}
    shared, own = main(**small).values()
    assert own > shared + 0.1
