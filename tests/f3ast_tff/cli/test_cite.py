"""`f3ast-tff cite`, and the list of papers in the documentation."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from f3ast_tff.cli.cite import bibtex_of, papers, suite, text_of, uses_of
from f3ast_tff.settings import builtin_registry, parameters_of
from f3ast_tff.settings.kinds import KINDS
from tests.commands import Cli
from tools.paper_list import PAGE, with_papers

ROOT = Path(__file__).resolve().parents[3]
CFF = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
F3AST, CA_FED, FEDPROX = "ribero2023f3ast", "rodio2024cafed", "li2020fedprox"


def cited(out: str) -> list[str]:
    """Keys of the entries, without this suite's."""
    first, *keys = re.findall(r"^@\w+\{(\w+),$", out, flags=re.MULTILINE)
    assert first == "f3ast_tff"
    return keys


@pytest.mark.parametrize(
    ("words", "keys"),
    [
        ([], []),
        (["f3ast"], [F3AST]),
        (["F3AST", "smartphones", "four_classes"], [F3AST, CA_FED]),
        (["cifar100"], ["reddi2021adaptive", "krizhevsky2009cifar"]),
        (["scaffold"], ["karimireddy2020scaffold"]),
        (["examples/recorded_tff_run"], [F3AST, FEDPROX]),
        (["table9"], [F3AST, "mcmahan2017fedavg", "li2020convergence", FEDPROX]),
    ],
)
def test_what_is_cited(
    words: list[str], keys: list[str], monkeypatch: pytest.MonkeyPatch, cli: Cli
) -> None:
    monkeypatch.chdir(ROOT)
    assert cited(cli.out("cite", *words)) == keys


def test_text_and_entry_of_a_paper(cli: Cli) -> None:
    text, _, entries = cli.out("cite", "fedstale", "file").partition("\n\n")
    assert "Angelo Rodio, Giovanni Neglia. FedStale: leveraging stale" in text
    assert "without a paper of its own: file" in text
    # What stands before the first entry must not look like one.
    assert "@" not in text
    assert "author = {Rodio, Angelo and Neglia, Giovanni}," in entries
    assert "eprint = {2405.04171}," in entries


def test_authors_that_were_not_checked_are_left_out() -> None:
    found = [paper for paper in papers() if "authors" not in paper]
    assert [paper["key"] for paper in found] == [
        "tan2022adafed",
        "qu2022fedsam",
        "caldarola2022flat",
    ]
    for paper in found:
        assert text_of(paper).startswith(paper["title"])
        assert "author =" not in bibtex_of(paper)


@pytest.mark.parametrize("word", ["f3sat", "nothing.toml", "tests", "-x"])
def test_what_names_nothing_is_refused(
    word: str, monkeypatch: pytest.MonkeyPatch, cli: Cli
) -> None:
    monkeypatch.chdir(ROOT)
    err = cli.err("cite", word)
    assert err.count("\n") == 1 and word in err
    assert word != "f3sat" or "did you mean f3ast?" in err


def test_the_table_names_what_is_there() -> None:
    registry = builtin_registry()
    sampling = next(
        p
        for p in parameters_of(registry.components["algorithm"]["fedavg"].config)
        if p.name == "baseline_sampling"
    )
    allowed = {kind: registry.names(kind) for kind in KINDS} | {
        "baseline_sampling": sampling.choices
    }
    for paper in papers():
        assert [use for use in uses_of(paper) if use[1] not in allowed[use[0]]] == []
    # Methods of no paper are this suite's.
    used = {use for paper in [suite(), *papers()] for use in uses_of(paper)}
    bare = [a for a in registry.names("algorithm") if ("algorithm", a) not in used]
    assert not bare, f"name under a paper or [suite] of cli/papers.toml: {bare}"
    assert len({paper["key"] for paper in papers()}) == len(papers())


def test_the_citation_file_has_the_same_entries() -> None:
    by_title = {paper["title"].lower(): paper for paper in [suite(), *papers()]}
    blocks = re.split(r"^ *-? *(?=title: )", CFF, flags=re.MULTILINE)[1:]
    assert len(blocks) == 3
    for block in blocks:
        title = block.splitlines()[0].removeprefix("title: ").strip('"')
        paper = by_title[title.lower()]
        families = re.findall(r"family-names: (.*)", block)
        assert families == [name.split(", ")[0] for name in paper["authors"] if ", " in name]
        assert str(paper.get("doi", "version: 0")) in block


def test_the_page_lists_the_papers() -> None:
    """If not: `make docs-tables`."""
    page = PAGE.read_text(encoding="utf-8")
    assert page == with_papers(page)
