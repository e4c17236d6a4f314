"""The notebooks of `examples/` run, and their output agrees with their text."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("nbclient", reason="needs what `make docs` installs")

from tools.docs_site.notebooks import NotebookPage, page  # noqa: E402

ROOT = Path(__file__).resolve().parents[1]
EXAMPLES = ROOT / "examples"
pytestmark = pytest.mark.slow


def shown(name: str, folder: Path) -> NotebookPage:
    return page(EXAMPLES / f"{name}.ipynb", folder)


def test_first_run(tmp_path: Path) -> None:
    found = shown("first_run", tmp_path)
    assert list(found.pictures) == ["first_run-1.png"]
    assert "F3AST picks per round of the five largest clients" in found.markdown


def test_own_strategy(tmp_path: Path) -> None:
    found = shown("own_strategy", tmp_path)
    assert list(found.pictures) == ["own_strategy-1.png"]
    assert "FewestTurns  turns of a client: 29 to 31, mean 30.0" in found.markdown


def test_a_table_cell_has_its_verdict(tmp_path: Path) -> None:
    """The cell itself compares three draws with the kept scores."""
    found = shown("table_cell", tmp_path)
    assert "F3AST - fedavg: +0.061 [+0.044, +0.078] over 12 draws" in found.markdown
    assert "better than fedavg: holds (better)" in found.markdown
