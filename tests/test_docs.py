"""The pages of docs/: their Python runs, their links lead somewhere."""

from __future__ import annotations

import re
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from f3ast_tff.settings.registry import builtin_registry, registry_with
from f3ast_tff.settings.resolve import resolve

ROOT = Path(__file__).resolve().parents[1]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]


def python_of(page: str) -> list[str]:
    return re.findall(r"```python\n(.*?)```", (ROOT / page).read_text(), flags=re.DOTALL)


def test_the_example_of_a_component_is_a_plugin(tmp_path: Path) -> None:
    path = tmp_path / "reachable.py"
    path.write_text(python_of("docs/extending.md")[0])
    registry = registry_with([str(path)])
    settings = {"availability": "alternate", "take_turns": 4, "algorithm": "f3ast"}
    configuration = resolve(settings, registry)
    assert configuration.settings["availability_objective"] == "p"
    process = configuration.configs["availability"].build([0.25] * 4, 0)
    assert process.mask(1).tolist() == [False, True, False, False]


def test_the_server_of_ones_own_prints_what_the_page_says_and_restarts_as_if_it_had_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {}
    exec("".join(python_of("docs/own_server.md")), names)
    page = (ROOT / "docs/own_server.md").read_text()
    assert f"```\n{capsys.readouterr().out}```" in page
    start = partial(names["F3AST"].start, names["p"], names["K"], seed=0, rate_beta=0.01)
    whole = names["train"](start(), np.zeros(2), 1, 1000)
    assert names["last"] == 400
    np.testing.assert_array_equal(whole[400:], names["models"])


def test_every_algorithm_has_its_parameters_on_one_page_of_the_methods() -> None:
    pages = (path.read_text() for path in (ROOT / "docs/methods").glob("*.md"))
    found = [
        name
        for page in pages
        for names in re.findall(r"<!-- parameters: algorithm ([\w ]+) -->", page)
        for name in names.split()
    ]
    assert sorted(found) == sorted(builtin_registry().names("algorithm"))


@pytest.mark.parametrize("page", PAGES, ids=lambda path: path.name)
def test_links_lead_to_files(page: Path) -> None:
    for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", page.read_text()):
        assert (page.parent / target).exists(), f"{page.name}: {target}"


def test_notebooks_are_kept_without_outputs() -> None:
    for path in (ROOT / "examples").glob("*.ipynb"):
        assert '"output_type"' not in path.read_text(), path.name
