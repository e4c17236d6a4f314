"""Names the repository's public address in what is published, in the working tree.

    python -m tools.public_address https://github.com/OWNER/NAME

The workflows that publish call it, so that no address is kept here: it writes `[project.urls]`
into pyproject.toml, and a link to Colab below the title of each notebook in `examples/`.
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
_ADDRESS = re.compile(r"https://github\.com/[\w.-]+/[\w.-]+")
_URLS = """[project.urls]
Source = "{0}"
Issues = "{0}/issues"
Changelog = "{0}/blob/main/CHANGELOG.md"

[project.scripts]
"""
_COLAB = """

[Open it in Colab]({}); begin with a cell `%pip install 'f3ast-tff[fused]'` (needs the release).
"""


def name_address(address: str, root: Path) -> None:
    """Writes the address into the files of a tree.

    Raises:
        ValueError: If it is no repository of GitHub, or the project has an address already.
    """
    if not _ADDRESS.fullmatch(address):
        raise ValueError(f"{address!r}: must be https://github.com/OWNER/NAME")
    project = root / "pyproject.toml"
    text = project.read_text(encoding="utf-8")
    if "[project.urls]" in text:
        raise ValueError(f"{project} has an address already")
    project.write_text(text.replace("[project.scripts]\n", _URLS.format(address)), encoding="utf-8")
    notebooks = address.replace("https://github.com", "https://colab.research.google.com/github")
    for path in (root / "examples").glob("*.ipynb"):
        content = json.loads(path.read_text(encoding="utf-8"))
        title = "".join(content["cells"][0]["source"])
        link = _COLAB.format(f"{notebooks}/blob/main/examples/{path.name}")
        content["cells"][0]["source"] = title + link
        path.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    name_address(sys.argv[1], ROOT)
