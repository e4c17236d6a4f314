"""The names in the first table of docs/methods.md: `python -m tools.method_table`.

A row's algorithms are those whose parameters stand on its page.
"""

from __future__ import annotations

import re
from pathlib import Path

PAGE = Path(__file__).resolve().parents[1] / "docs/methods.md"
_ROW = re.compile(r"^(\| \[[^]]+\]\((methods/\w+\.md)\) \| )[^|]+(?= \|)", re.MULTILINE)
_NAMES = re.compile(r"<!-- parameters: algorithm ([\w ]+) -->")


def with_names(page: str) -> str:
    """Returns a page whose rows name the algorithms of the pages that they link to."""
    return _ROW.sub(lambda row: row[1] + _names_on(PAGE.parent / row[2]), page)


def _names_on(page: Path) -> str:
    found = _NAMES.findall(page.read_text(encoding="utf-8"))
    return ", ".join(f"`{name}`" for names in found for name in names.split())


if __name__ == "__main__":
    PAGE.write_text(with_names(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
