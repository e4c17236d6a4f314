"""Studies are found by reading their folders, so deleting a folder deletes the study."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

from f3ast_tff.advice.study import kept_scores
from f3ast_tff.analysis.compare.scored import RunsError
from f3ast_tff.analysis.leaderboard.boards import ranked_studies, read_boards
from f3ast_tff.analysis.studies.claims_picture import declared_groups, rows_of
from f3ast_tff.campaigns import study_folders
from f3ast_tff.campaigns.grid_file import built_in_campaigns, find_grid_file, read_grid_file
from f3ast_tff.campaigns.study_folders import STUDIES, declared, grid_files, name_of
from f3ast_tff.core.errors import ParameterError
from tests import sources

ROOT = Path(__file__).resolve().parents[3]
NAMES = sorted(path.name for path in STUDIES.iterdir() if (path / "page.md").exists())
# Sources that may not know a study.
OUTSIDE = ("f3ast_tff", "analysis", "availability", "datasets", "tools")


def without(name: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Deletes a study in a copy of all, where the suite then looks for them."""
    copy = folder / "studies"
    copy.mkdir()
    for study in STUDIES.iterdir():
        if study.name != name:
            (copy / study.name).symlink_to(study.resolve())
    monkeypatch.setattr(study_folders, "STUDIES", copy)


@pytest.mark.long
@pytest.mark.parametrize("name", NAMES)
def test_a_study_is_deleted_with_its_folder(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    gone = {each for each, path in grid_files().items() if path.parent.name == name}
    others = {*grid_files()} - gone
    shown = [
        [folder.name for folder, _ in declared(part) if folder.name != name]
        for part in ("board", "claims")
    ]
    declares = (STUDIES / name / "study.toml").exists()
    without(name, tmp_path, monkeypatch)
    assert {*built_in_campaigns()} == others
    for grid in gone:
        with pytest.raises(ParameterError, match=grid):
            find_grid_file(grid)
    for grid in others if gone else ():
        assert read_grid_file(find_grid_file(grid)).about
    assert [study.name for study in ranked_studies()] == shown[0]
    assert [group.scores.parent.name for group in declared_groups()] == shown[1]
    assert not declares or all(rows_of(group) for group in declared_groups())


def test_boards_are_read_without_another_study(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    without("table3_synthetic", tmp_path, monkeypatch)
    (study,) = (each for each in ranked_studies() if each.name == "fig4_vary_k")
    assert len(read_boards(study)) == 3


def test_without_its_study_the_advice_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    without(kept_scores().parent.name, tmp_path, monkeypatch)
    with pytest.raises(RunsError, match=r"no study declares \[advice\]"):
        kept_scores()


def test_no_source_outside_imports_a_study() -> None:
    imported = re.compile(rf"\bstudies\.({'|'.join(NAMES)})\b")
    for folder in OUTSIDE:
        for path in (ROOT / folder).rglob("*.py"):
            if "studies" not in path.parts and imported.search(path.read_text(encoding="utf-8")):
                for node in sources.imports(path):
                    assert not imported.search(ast.unparse(node)), path


def test_a_grid_or_scores_go_by_the_name_of_the_study(tmp_path: Path) -> None:
    assert name_of(STUDIES / "table9/grid.toml") == "table9"
    assert name_of(Path("analysis/studies/table9_48_draws/scores.csv")) == "table9_48_draws"
    assert name_of(STUDIES / "table3/table4.toml") == "table4"
    assert name_of(tmp_path / "mine" / "grid.toml") == "grid"
