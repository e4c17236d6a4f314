"""The notebooks of `examples/` run, and print what they hold."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("nbclient", reason="needs what `make docs` or `make test-torch` installs")

from tools.notebooks import executed  # noqa: E402

EXAMPLES = Path(__file__).resolve().parents[1] / "examples"
pytestmark = pytest.mark.slow


def json_of(path: Path) -> Any:
    return json.loads(path.read_text())


def printed(notebook: Any) -> list[str]:
    """The printed text of each cell's outputs."""
    outputs = [output for cell in notebook["cells"] for output in cell.get("outputs", [])]
    return ["".join(output["text"]) for output in outputs if output.get("name") == "stdout"]


@pytest.mark.parametrize("name", ["first_run", "own_strategy", "table_cell"])
def test_prints_what_it_holds(name: str, tmp_path: Path) -> None:
    path = EXAMPLES / f"{name}.ipynb"
    assert printed(executed(path, tmp_path)) == printed(json_of(path))


def test_pytorch(tmp_path: Path) -> None:
    pytest.importorskip("torch", reason="in the environment of `make test-torch` alone")
    pytest.importorskip("sklearn", reason="in the environment of `make test-torch` alone")
    found = printed(executed(EXAMPLES / "torch_cnn.ipynb", tmp_path))
    assert "over 8 draws" in found[0]
