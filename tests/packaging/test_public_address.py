"""The address that the publishing workflows name reaches the package, and Colab."""

from __future__ import annotations

import json
import shutil
import tomllib
from pathlib import Path

import pytest

from tools.docs_site.notebooks import page
from tools.public_address import name_address

ROOT = Path(__file__).resolve().parents[2]
ADDRESS = "https://github.com/someone/f3ast-tff"


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    (tmp_path / "examples").mkdir()
    for path in (ROOT / "examples").glob("*.ipynb"):
        shutil.copy(path, tmp_path / "examples")
    return tmp_path


def test_what_is_published_has_the_address(tree: Path) -> None:
    name_address(ADDRESS, tree)
    project = tomllib.loads((tree / "pyproject.toml").read_text())["project"]
    assert project["urls"]["Source"] == ADDRESS and project["scripts"]
    shown = page(tree / "examples" / "first_run.ipynb").markdown
    github = "https://colab.research.google.com/github/someone/f3ast-tff"
    assert f"]({github}/blob/main/examples/first_run.ipynb)" in shown
    assert shown.startswith("# First run\n")
    for path in (tree / "examples").glob("*.ipynb"):
        before = json.loads((ROOT / "examples" / path.name).read_text())["cells"]
        assert json.loads(path.read_text())["cells"][1:] == before[1:]


def test_it_is_named_once_and_a_repository(tree: Path) -> None:
    with pytest.raises(ValueError, match="must be https://github.com/OWNER/NAME"):
        name_address("https://example.org/f3ast-tff", tree)
    name_address(ADDRESS, tree)
    with pytest.raises(ValueError, match="has an address already"):
        name_address(ADDRESS, tree)
