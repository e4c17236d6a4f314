"""The list of papers at the end of docs/credit.md: `python -m tools.paper_list`."""

from __future__ import annotations

import textwrap
from pathlib import Path

from f3ast_tff.cli.cite import papers, text_of, uses_of

PAGE = Path(__file__).resolve().parents[1] / "docs/credit.md"
START = "<!-- papers, by make docs-tables -->\n"
_WIDTH = 100


def with_papers(page: str) -> str:
    """Returns a page with the papers after its mark."""
    before, mark, _ = page.partition(START)
    lines: list[str] = []
    for paper in papers():
        text = text_of(paper)
        if arxiv := paper.get("arxiv"):
            text = text.replace(f"arXiv {arxiv}", f"[{arxiv}](https://arxiv.org/abs/{arxiv})")
        if doi := paper.get("doi"):
            text = text.replace(f"https://doi.org/{doi}", f"[doi](https://doi.org/{doi}),")
        names = ", ".join(dict.fromkeys(f"`{value}`" for _, value in uses_of(paper)))
        lines += textwrap.wrap(
            f"- {text} ({names})" if names else f"- {text}",
            _WIDTH,
            subsequent_indent="  ",
            break_long_words=False,
            break_on_hyphens=False,
        )
    return before + mark + "\n" + "\n".join(lines) + "\n"


if __name__ == "__main__":
    PAGE.write_text(with_papers(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
