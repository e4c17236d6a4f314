"""The scikit-learn example learns digits of clients that hold two each."""

from __future__ import annotations

import runpy
from pathlib import Path

import pytest

pytest.importorskip("sklearn", reason="in the environment of `make test-torch` alone")
EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "sklearn_digits.py"


@pytest.mark.long
def test_it_learns() -> None:
    main = runpy.run_path(str(EXAMPLE))["main"]
    few, many = main(rounds=5), main(rounds=60)
    assert few < many and many > 0.85
