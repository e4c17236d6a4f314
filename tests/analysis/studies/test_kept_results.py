"""Kept results: each file of scores and each table follows from the commands on its page."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from f3ast_tff.analysis import tidy_scores
from f3ast_tff.analysis.runs import SCORES as COLUMNS
from f3ast_tff.analysis.studies import kept_pages
from f3ast_tff.core.errors import DataError
from f3ast_tff.run.run_experiment import run_experiment
from tests.analysis.kept_results import (
    KeptRun,
    campaign_of,
    forget,
    kept_runs,
    load,
    wrong_runs,
    wrong_scores,
    wrong_tables,
)

ROOT = Path(__file__).resolve().parents[3]
STUDIES = ROOT / "analysis" / "studies"
FILES = sorted(STUDIES.glob("*/*.csv"))
PAGES = sorted([*STUDIES.glob("*/page.md"), ROOT / "analysis/leaderboard/leaderboard.md"])
# Pages of the documentation with numbers of studies.
STATING = [
    path
    for path in sorted([ROOT / "README.md", *(ROOT / "docs").rglob("*.md")])
    if "\n<!-- numbers\n" in path.read_text()
]
# The first line alone, as every worker collects these files.
HEADS = {path: path.read_text().partition("\n")[0].split(",") for path in FILES}
SCORES = [path for path in FILES if {"round", *COLUMNS} <= {*HEADS[path]}]
DERIVED = [path for path in FILES if path not in SCORES]


def study(path: Path) -> str:
    return path.parent.name


TINY = """
[settings]
task = "synthetic"
device = "cpu"
num_clients = 5
clients_per_round = 2
rounds = 3
eval_every = 1

[grid]
algorithm = ["fedavg", "f3ast"]
draw = "0-1"
"""
PAGE = """# Tiny

```sh
f3ast-tff campaign tiny.toml
python -m f3ast_tff.analysis.tidy_scores --runs runs/tiny --every=2 \\
  --out analysis/studies/tiny/scores.csv
```

```sh
python -m f3ast_tff.analysis.studies.score_tables --scores analysis/studies/tiny/scores.csv \\
  --score sample_accuracy,sample_loss --minus f3ast:fedavg
```

To be written.

## What follows

F3AST is a method.
"""


@pytest.fixture
def at_root(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)


@pytest.mark.long
@pytest.mark.parametrize("scores", SCORES, ids=study)
def test_runs_are_those_of_the_commands(scores: Path, at_root: None) -> None:
    assert wrong_runs(scores) == []


@pytest.mark.long
@pytest.mark.parametrize("scores", SCORES, ids=study)
def test_a_reading_that_is_not_the_papers_is_a_column(scores: Path, at_root: None) -> None:
    kept = load(scores)
    if any(run.settings["reading"] != "paper" for run in kept.planned):
        assert "reading" in kept.runs[0].settings


@pytest.mark.long
@pytest.mark.parametrize(
    "page", [*PAGES, *STATING], ids=lambda path: path.relative_to(ROOT).as_posix()
)
def test_tables_and_numbers_are_those_of_the_scores(page: Path, at_root: None) -> None:
    assert wrong_tables(page) == []


@pytest.mark.parametrize("path", DERIVED, ids=lambda path: f"{study(path)}/{path.name}")
def test_a_page_names_each_derived_file(path: Path) -> None:
    assert path.name in path.with_name("page.md").read_text()


@pytest.mark.slow
@pytest.mark.parametrize("scores", SCORES, ids=study)
def test_two_runs_again_give_the_same_scores(scores: Path, at_root: None) -> None:
    try:
        assert wrong_scores(scores) == []
    except DataError as error:
        pytest.skip(f"needs data: {error}")


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder like the repository's root: a finished campaign with its scores and its page."""
    root = tmp_path_factory.mktemp("made")
    folder = root / "analysis" / "studies" / "tiny"
    folder.mkdir(parents=True)
    (root / "tiny.toml").write_text(TINY)
    page = folder / "page.md"
    page.write_text(PAGE)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(root)
        for run in campaign_of(("tiny.toml",)):
            run_experiment(run.configuration, run.folder)
        out = "--out=analysis/studies/tiny/scores.csv"
        assert tidy_scores.main(["x", "--runs=runs/tiny", "--every=2", out]) == 0
        assert kept_pages.main(["x", f"--page={page}"]) == 0
    shutil.rmtree(root / "runs")
    return root


@pytest.fixture
def results(made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A copy of the results, to be damaged, with its root as the working directory."""
    shutil.copytree(made, tmp_path / "root")
    monkeypatch.chdir(tmp_path / "root")
    forget()
    yield Path("analysis", "studies", "tiny").absolute()
    forget()


def damage(path: Path, old: str, new: str) -> None:
    text = path.read_text()
    assert text.count(old) == 1
    path.write_text(text.replace(old, new))


@pytest.mark.long
def test_what_the_commands_make_passes(results: Path) -> None:
    """Two methods, two draws, rounds 2 and 3 of 3: 8 rows."""
    lines = (results / "scores.csv").read_text().splitlines()
    assert [line.split(",")[:5] for line in lines[1:]] == [
        ["synthetic", algorithm, draw, draw, number]
        for algorithm in ("fedavg", "f3ast")
        for draw in "01"
        for number in "23"
    ]
    page = (results / "page.md").read_text()
    assert "To be written" not in page and page.count("| F3AST − FedAvg |") == 1
    assert page.endswith("\n\n## What follows\n\nF3AST is a method.\n")
    assert wrong_runs(results / "scores.csv") == []
    assert wrong_tables(results / "page.md") == []
    assert wrong_scores(results / "scores.csv") == []


def test_a_wrong_number_of_the_file(results: Path) -> None:
    """The first run's sample loss in round 3 is off by 0.001."""
    lines = (results / "scores.csv").read_text().splitlines()
    *before, loss, last = lines[2].split(",")
    lines[2] = ",".join([*before, f"{float(loss) + 0.001:.6f}", last])
    (results / "scores.csv").write_text("\n".join(lines) + "\n")
    (found,) = wrong_scores(results / "scores.csv")
    assert "round 3: sample_loss" in found
    # The mean of two draws is off by half of that.
    assert "| FedAvg |" in wrong_tables(results / "page.md")[0]


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("tiny.toml", "tiny.toml --rounds=4", "rounds [2, 3], the command's [2, 4]"),
        ("tiny.toml", "tiny.toml --draw=0-2", "1 times missing in the file: ('synthetic', 'fed"),
        ("--every=2", "", "rounds [2, 3], the command's [1, 2, 3]"),
        ("--out analysis/studies/tiny/", "--out ", "0 tidy_scores commands write it"),
    ],
)
def test_commands_that_make_another_file(results: Path, old: str, new: str, said: str) -> None:
    damage(results / "page.md", old, new)
    assert said in wrong_runs(results / "scores.csv")[0]


def test_the_runs_of_10_clients_in_fig4_are_those_of_fig2(at_root: None) -> None:
    """As fig4_48_draws/page.md says: 192 runs, equal in every digit of both files at round 1000."""
    ours, of_fig2 = (
        kept_runs(STUDIES / f"{name}_48_draws/scores.csv") for name in ("fig4", "fig2")
    )

    def key(run: KeptRun) -> tuple[object, ...]:
        return (run.settings["algorithm"], run.settings["reading"], run.pair)

    theirs = {key(run): run.scores[1000] for run in of_fig2}
    found = [run for run in ours if run.settings["clients_per_round"] == "10"]
    assert len(found) == 192
    assert all(run.scores[1000] == theirs[key(run)] for run in found)
