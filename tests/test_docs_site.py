"""The site's pages: terms explained on their first use."""

from __future__ import annotations

import re

from tests.test_docs import ROOT
from tools.docs_site import glossary

TERMS = glossary.read((ROOT / "docs/symbols.md").read_text())


def test_symbols_of_one_meaning_and_all_words_are_there() -> None:
    assert TERMS.symbols["p_k"] == "weight of client k in the objective; sums to 1"
    assert "c_k" not in TERMS.symbols
    assert len(TERMS.words) == len(re.findall(r"^\| ", (ROOT / "docs/symbols.md").read_text()
                                              .partition("## Words")[2], re.M)) - 1  # fmt: skip


def test_a_word_is_explained_once_and_neither_in_code_nor_in_links() -> None:
    page = (
        "# A cohort\n\n`cohort` [a cohort](x.md) <!-- cohort --> The cohort, of a cohort.\n"
        "It draws 8\ndraws.\n\n```\ncohort\n```\n"
    )
    shown = glossary.explained(page, "kept/a/page.md", TERMS)
    found = re.findall(r'<a class="term" href="([^"]*)" title="[^"]+">([^<]*)</a>', shown)
    assert found == [("../../symbols.html#words", word) for word in ("cohort", "draws")]
    assert re.sub(r"</?a[^>]*>", "", shown) == page
    assert "The <a" in shown and "8\n<a" in shown
