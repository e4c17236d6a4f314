"""What the site has beside docs/: other pages, parameter tables, pictures, notebooks, equations.

MkDocs calls the functions named `on_...`; `mkdocs.yml` names this file.
"""

from __future__ import annotations

import ast
import os
import posixpath
import re
import tempfile
from pathlib import Path
from typing import Any

import latex2mathml.converter
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files

from f3ast_tff.settings import builtin_registry
from f3ast_tff.settings.describe import parameter_text
from tools.docs_site import availability_pictures, notebooks

ROOT = Path(__file__).resolve().parents[2]
# Pages from outside docs/: file in the repository, page of the site.
PAGES = {
    "README.md": "index.md",
    "CONTRIBUTING.md": "contributing.md",
    "CHANGELOG.md": "changes.md",
    "analysis/results": "kept",
    "examples/plugins": "examples/plugins.md",
}
_LINK = re.compile(r"\]\((?![a-z]+:)([^)#\s]+)(#[^)]*)?\)")
_PARAMETERS = re.compile(r"<!-- parameters: (\w+) ([\w ]+) -->")
_PICTURES = "<!-- pictures of all availability processes -->"


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Renders the fence `math` as MathML, which a browser shows without a script."""
    fence = {"name": "math", "class": "math", "format": _mathml}
    config.mdx_configs.setdefault("pymdownx.superfences", {})["custom_fences"] = [fence]
    return config


def _mathml(source: str, *_: Any, **__: Any) -> str:
    formula = latex2mathml.converter.convert(" ".join(source.split()), display="block")
    return f'<div class="equation">{formula}</div>'


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Adds the pages and pictures that do not lie in docs/."""
    whole = {path: page for path, page in PAGES.items() if path.endswith(".md")}
    added = {page: (ROOT / path).read_text() for path, page in whole.items()}
    added["index.md"] = "---\nhide: [navigation]\n---\n" + added["index.md"]
    added["examples/plugins.md"] = _plugin_page(ROOT / "examples/plugins")
    execute = os.environ.get("DOCS_EXECUTE", "1") != "0"
    for path in sorted((ROOT / "examples").glob("*.ipynb")):
        with tempfile.TemporaryDirectory() as folder:
            page = notebooks.page(path, Path(folder) if execute else None)
        added[f"examples/{path.stem}.md"] = page.markdown
        for name, png in page.pictures.items():
            files.append(File.generated(config, f"examples/{name}", content=png))
    for path in sorted((ROOT / "analysis/results").iterdir()):
        if path.suffix in (".md", ".png"):
            files.append(File.generated(config, f"kept/{path.name}", abs_src_path=str(path)))
    for uri, content in added.items():
        files.append(File.generated(config, uri, content=content))
    for name, picture in availability_pictures.pictures().items():
        uri = f"pictures/availability/{name}.png"
        files.append(File.generated(config, uri, content=picture.png))
    return files


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Fills in tables and pictures, and turns links between files into links between pages."""
    uri = page.file.src_uri
    markdown = _PARAMETERS.sub(lambda found: _table(found[1], found[2].split()), markdown)
    if _PICTURES in markdown:
        markdown = markdown.replace(_PICTURES, availability_pictures.markdown())
    here = posixpath.dirname(_file_of(uri))

    def link(found: re.Match[str]) -> str:
        target = _page_of(posixpath.normpath(posixpath.join(here, found[1])))
        return f"]({posixpath.relpath(target, posixpath.dirname(uri) or '.')}{found[2] or ''})"

    return _LINK.sub(link, markdown)


def _page_of(path: str) -> str:
    """The page of a file of the repository."""
    for file, page in PAGES.items():
        if path == file or path.startswith(f"{file}/"):
            return page if page.endswith(".md") else page + path[len(file) :]
    if path.endswith(".ipynb"):
        return path[: -len("ipynb")] + "md"
    return path[len("docs/") :] if path.startswith("docs/") else path


def _file_of(page: str) -> str:
    """The file of the repository that a page comes from."""
    for file, start in PAGES.items():
        if page == start or page.startswith(f"{start}/"):
            return file + page[len(start) :]
    return page if page.startswith("examples/") else f"docs/{page}"


def _table(kind: str, names: list[str]) -> str:
    """The parameters of some components of a kind, as a table."""
    registry = builtin_registry()
    rows: dict[str, tuple[list[str], str]] = {}
    for name in names:
        for parameter in registry.find(kind, name).parameters:
            text = parameter_text(parameter, registry)
            rows.setdefault(parameter.name, ([], text))[0].append(f"`{name}`")
    if not rows:
        return ""
    lines = ["| parameter | of | meaning |", "|---|---|---|"]
    lines += [f"| `--{name}` | {', '.join(of)} | {text} |" for name, (of, text) in rows.items()]
    return "\n".join(lines)


def _plugin_page(folder: Path) -> str:
    """The sources of a folder of plug-ins as a page, each below its first line."""
    lines = [
        "# Plug-ins",
        "",
        "Components in one file each. [Adding a component](../docs/extending.md) explains them.",
    ]
    for path in sorted(folder.glob("*.py")):
        source = path.read_text()
        first = (ast.get_docstring(ast.parse(source)) or path.stem).splitlines()[0]
        lines += ["", f"## `{path.name}`", "", first, "", "```python", source.rstrip(), "```"]
    return "\n".join(lines) + "\n"
