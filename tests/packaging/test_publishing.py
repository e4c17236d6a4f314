"""What is published: its address in the package and Colab, the workflows' actions, one license."""

from __future__ import annotations

import configparser
import json
import re
import shutil
import tomllib
from pathlib import Path

import pytest

from tools.docs_site.notebooks import page
from tools.public_address import RELATIVE, name_address, name_in_readme

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


def test_the_front_page_of_the_index_has_no_relative_link(tree: Path) -> None:
    """Each of them leads to a file of the repository; the release makes them absolute."""
    text = (ROOT / "README.md").read_text()
    paths = {found[2].partition("#")[0] for found in RELATIVE.finditer(text)}
    assert len(paths) > 10 and all((ROOT / path).exists() for path in paths)
    shutil.copy(ROOT / "README.md", tree)
    name_in_readme(ADDRESS, tree)
    named = (tree / "README.md").read_text()
    assert RELATIVE.search(named) is None
    raw = "https://raw.githubusercontent.com/someone/f3ast-tff/main/docs/pictures/presence.svg"
    assert f'src="{raw}"' in named and f"]({ADDRESS}/blob/main/docs/methods.md)" in named
    assert f"`pip install .` in a clone of {ADDRESS}:" in named
    assert all(f"/main/{path}" in named for path in paths)


def test_it_is_named_once_and_a_repository(tree: Path) -> None:
    with pytest.raises(ValueError, match="must be https://github.com/OWNER/NAME"):
        name_address("https://example.org/f3ast-tff", tree)
    name_address(ADDRESS, tree)
    with pytest.raises(ValueError, match="has an address already"):
        name_address(ADDRESS, tree)


WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))


def jobs(text: str) -> list[str]:
    """The text of each job."""
    return re.split(r"(?m)^  (?=\w+:$)", text.partition("\njobs:\n")[2])[1:]


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_actions_are_pinned_and_tokens_are_apart(path: Path) -> None:
    text = path.read_text()
    used = re.findall(r"uses: (.*)", text)
    assert used and jobs(text)
    for action in used:
        assert re.fullmatch(r"[\w./-]+@[0-9a-f]{40} # v[\d.]+", action), action
    top = text.partition("\njobs:\n")[0]
    assert ": write" not in top
    for job in jobs(text):
        if ": write" in job:
            assert "run:" not in job and "actions/checkout" not in job, job


def test_a_release_is_built_with_hashes_and_uploaded_from_another_job() -> None:
    build, upload = jobs((ROOT / ".github" / "workflows" / "release.yml").read_text())
    for command in re.findall(r"run: (python -m pip .*)", build):
        assert "--require-hashes" in command and "--no-deps" in command
    assert "build --no-isolation" in build and "id-token: write" not in build
    assert "needs: build" in upload and "id-token: write" in upload


def test_the_license_is_said_once_for_all_files() -> None:
    (said,) = tomllib.loads((ROOT / "REUSE.toml").read_text())["annotations"]
    assert said["path"] == "**"
    license_name = said["SPDX-License-Identifier"]
    package = configparser.ConfigParser()
    package.read(ROOT / "setup.cfg")
    assert package["metadata"]["license"] == license_name
    assert f"license: {license_name}\n" in (ROOT / "CITATION.cff").read_text()
    text = ROOT / "LICENSES" / f"{license_name}.txt"
    assert text.resolve() == ROOT / "LICENSE"
