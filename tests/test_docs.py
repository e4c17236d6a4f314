"""The pages of docs/: their Python runs, their links lead somewhere."""

from __future__ import annotations

import re
from pathlib import Path

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


def test_the_example_of_a_strategy_by_hand_runs() -> None:
    (code,) = (each for each in python_of("docs/library.md") if "strategy.select" in each)
    names: dict[str, object] = {}
    exec(code, names)
    assert len(names["cohort"]) == 10


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
