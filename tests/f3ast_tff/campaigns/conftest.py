"""Small campaigns, and workers that execute nothing."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

WriteGrid = Callable[..., Path]


@pytest.fixture
def write_grid(tmp_path: Path) -> WriteGrid:
    """Returns a function that writes `<name>.toml` and returns its path."""

    def write(text: str, name: str = "mine") -> Path:
        path = tmp_path / f"{name}.toml"
        path.write_text(text)
        return path

    return write
