"""The terms of docs/symbols.md: on each page their first use says what they mean."""

from __future__ import annotations

import html
import posixpath
import re
from collections.abc import Mapping
from dataclasses import dataclass

_ROW = re.compile(r"^\| (?P<term>[^|\n]+?) \| (?P<meaning>[^|\n]+?) \|", re.MULTILINE)
_SYMBOL = re.compile(r"[A-Za-z]+_[a-z0-9]{1,2}")
# How each word of the page stands in a text; "draw" and "rate" alone have other meanings too.
_FORMS = {
    "available": "available",
    "asked, selected": "selected",
    "delivered": "delivered",
    "cohort": "cohorts?",
    "rate": "participation rates?|tuned rates",
    "objective": "objectives?",
    "baseline": "baselines?",
    "draw": r"(?<=\d )draws|(?<=over )draws|(?<=further )draws|(?<=per )draw|(?<=each )draw",
    "regime": "regimes?",
    "reading": "readings",
    "sample accuracy": "sample accuracy",
    "user accuracy": "user accuracy",
}
# Code, headings, links with their text, comments, summaries and tags are left alone.
_KEPT = (
    r"^```.*?^```|`[^`\n]+`|^#[^\n]*|!?\[[^\]]*\]\([^)\n]*\)|^:::[^\n]*|<!--.*?-->"
    r"|<summary>.*?</summary>|<[^>\n]*>"
)
# Pages without explained words.
_WITHOUT = ("symbols.md", "changes.md", "components.md")


@dataclass(frozen=True)
class Glossary:
    """Meanings of symbols, such as `p_k`, and of words, as plain text."""

    symbols: Mapping[str, str]
    words: Mapping[str, str]


def read(page: str) -> Glossary:
    """Returns the terms of docs/symbols.md; symbols of several meanings are left out.

    Raises:
        KeyError: If a word of the page has no form here.
    """
    letters, _, words = page.partition("\n## Words\n")
    meanings: dict[str, list[str]] = {}
    for row in _ROW.finditer(letters):
        names = {name.partition(" ")[0] for name in row["term"].split(", ")}
        for name in filter(_SYMBOL.fullmatch, names):
            meanings.setdefault(name, []).append(_plain(row["meaning"]))
    rows = {row["term"]: row["meaning"] for row in _ROW.finditer(words) if row["term"] != "word"}
    return Glossary(
        {name: said[0] for name, said in meanings.items() if len(said) == 1},
        # A line may end within a term.
        {_FORMS[term].replace(" ", r"\s"): _plain(meaning) for term, meaning in rows.items()},
    )


def explained(markdown: str, uri: str, glossary: Glossary) -> str:
    """Returns a page whose first use of each word is a link, with its meaning on hover."""
    if uri in _WITHOUT:
        return markdown
    target = posixpath.relpath("symbols.html", posixpath.dirname(uri) or ".")
    seen: set[str] = set()
    forms = list(glossary.words)
    pattern = "|".join(rf"(?P<w{i}>\b(?:{form})\b)" for i, form in enumerate(forms))

    def link(found: re.Match[str]) -> str:
        if found["kept"] is not None or (form := forms[int(str(found.lastgroup)[1:])]) in seen:
            return found[0]
        seen.add(form)
        title = html.escape(glossary.words[form])
        return f'<a class="term" href="{target}#words" title="{title}">{found[0]}</a>'

    return re.sub(rf"(?P<kept>{_KEPT})|{pattern}", link, markdown, flags=re.DOTALL | re.MULTILINE)


def _plain(markdown: str) -> str:
    return re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", markdown).replace("`", "").replace("*", "")
