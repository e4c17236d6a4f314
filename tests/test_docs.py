"""The pages of docs/: their Python runs, their links lead somewhere."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from f3ast_tff.components.registry import registry_with
from f3ast_tff.configuration.resolve import resolve

ROOT = Path(__file__).resolve().parents[1]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]


def python_of(page: str) -> list[str]:
    return re.findall(r"```python\n(.*?)```", (ROOT / page).read_text(), flags=re.DOTALL)


def test_the_example_of_a_component_is_a_plugin(tmp_path: Path) -> None:
    path = tmp_path / "reachable.py"
    path.write_text(python_of("docs/extending.md")[0])
    registry = registry_with([str(path)])
    configuration = resolve({"availability": "alternate", "take_turns": 4}, registry)
    process = configuration.configs["availability"].build([0.25] * 4, 0)
    assert process.mask(1).tolist() == [False, True, False, False]


def test_the_example_of_a_strategy_by_hand_runs() -> None:
    (code,) = python_of("docs/library.md")
    names: dict[str, object] = {}
    exec(code, names)
    assert len(names["cohort"]) == 10


@pytest.mark.parametrize("page", PAGES, ids=lambda path: path.name)
def test_links_lead_to_files(page: Path) -> None:
    for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", page.read_text()):
        assert (page.parent / target).exists(), f"{page.name}: {target}"
