"""Names the repository's public address in what is published, in the working tree.

    python -m tools.public_address https://github.com/OWNER/NAME [README.md]

The workflows that publish call it, so that no address is kept here: it writes `[project.urls]`
into pyproject.toml, and a link to Colab below the title of each notebook in `examples/`. With
README.md, for the package index, its links and pictures become absolute, and it says of what a
clone is.
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
# Links and pictures of README.md that are relative to the repository.
RELATIVE = re.compile(r"(\]\(|src(?:set)?=\")(?![a-z]+:|#)([^)\"]+)")
_CLONE = "in a clone"
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


def name_in_readme(address: str, root: Path) -> None:
    """Writes the address into README.md of a tree, where links are relative."""
    readme = root / "README.md"
    text = readme.read_text(encoding="utf-8")
    text = RELATIVE.sub(lambda found: found[1] + _absolute(found[2], address), text)
    readme.write_text(text.replace(_CLONE, f"{_CLONE} of {address}", 1), encoding="utf-8")


def _absolute(path: str, address: str) -> str:
    """Address of a file's page, or of a picture's bytes."""
    if path.endswith((".svg", ".png")):
        raw = address.replace("https://github.com", "https://raw.githubusercontent.com")
        return f"{raw}/main/{path}"
    return f"{address}/blob/main/{path}"


if __name__ == "__main__":
    named, *also = sys.argv[1:]
    name_address(named, ROOT)
    if also == ["README.md"]:
        name_in_readme(named, ROOT)
