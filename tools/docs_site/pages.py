"""Pages of the documentation site, from docs/ and other folders of the repository.

    python -m tools.docs_site FOLDER

writes all pages and pictures into a folder, from which Zensical builds the site. Beside the pages
of docs/ the site has pages of other folders, parameter tables, pictures, notebooks and equations.
"""

from __future__ import annotations

import ast
import contextlib
import html
import io
import posixpath
import re
import tempfile
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import latex2mathml.converter

from f3ast_tff.analysis.studies import kept_pages, page_numbers
from f3ast_tff.cli.help_pages import parameter_text
from f3ast_tff.settings import builtin_registry
from tools import reference_lists
from tools.docs_site import availability_pictures, components, glossary, notebooks

ROOT = Path(__file__).resolve().parents[2]
# Pages from outside docs/: file or folder of the repository, then its page or folder of the site.
PAGES = {
    "README.md": "index.md",
    "CONTRIBUTING.md": "contributing.md",
    "CHANGELOG.md": "changes.md",
    "analysis/studies": "kept",
    "analysis/leaderboard/leaderboard.md": "kept/leaderboard.md",
    "examples/plugins": "examples/plugins.md",
}
_LINK = re.compile(r"\]\((?![a-z]+:)([^)#\s]+)(#[^)]*)?\)")
_PARAMETERS = re.compile(r"<!-- parameters: (\w+) ([\w ]+) -->")
_PICTURES = "<!-- pictures of all availability processes -->"
_THUMBNAILS = "<!-- thumbnails of all availability processes -->"
# A page of wide tables has no list of its headings at the right.
_WIDE = "---\nhide:\n  - toc\n---\n\n"
# A picture with a form for dark pages, as GitHub takes it.
_TWO_FORMS = re.compile(
    r'<picture>\s*<source media="[^"]*dark[^"]*" srcset="([^"]+)">'
    r'\s*<img src="([^"]+)"\s+width="[0-9]+"\s+alt="([^"]*)">\s*</picture>'
)
# The table of questions on the home page.
_DOORS = re.compile(r"^\| your question \| command \| read on \|\n\|[-|]+\|\n((?:\|.*\n)+)", re.M)
_BLOCK = re.compile(r"^```math\n(.*?)^```$", re.DOTALL | re.MULTILINE)
# A letter or a Greek letter's name with an index, such as p_k, outside code, links and headings.
_SYMBOL = re.compile(
    r"(?P<kept>^```.*?^```|`[^`\n]+`|\]\([^)\n]*\)|^#[^\n]*|<[^>\n]*>)"
    r"|(?<![\w/.\-])(?P<letter>[a-zA-Z]|Delta|eta|kappa|lambda|nu|omega|phi|pi|tau)"
    r"(?P<star>(\\\*)?)_(?P<index>[a-z]{1,2}|[0-9])(?!\w)",
    re.DOTALL | re.MULTILINE,
)


def write(folder: Path) -> None:
    """Writes the pages and pictures of the site.

    Args:
        folder: Folder for Markdown files and pictures; made if missing.
    """
    terms = glossary.read((ROOT / "docs/symbols.md").read_text())
    for uri, content in _files():
        path = folder / uri
        path.parent.mkdir(parents=True, exist_ok=True)
        page = _page(uri, content, terms).encode() if isinstance(content, str) else content
        path.write_bytes(page)


def _files() -> Iterator[tuple[str, str | bytes]]:
    """Yields (path in the site, content): pages as unfinished text, pictures as bytes."""
    for root, start in ((ROOT / "docs", ""), (ROOT / "analysis/studies", "kept/")):
        for path in sorted(root.rglob("*")):
            uri = start + path.relative_to(root).as_posix()
            if path.suffix == ".md":
                yield uri, path.read_text()
            elif path.suffix in (".png", ".svg", ".css", ".js") or _is_linked(path):
                yield uri, path.read_bytes()
    for file, page in PAGES.items():
        if file.endswith(".md"):
            yield page, (ROOT / file).read_text()
    yield "components.md", components.markdown()
    yield "examples/plugins.md", _plugin_page(ROOT / "examples/plugins")
    for path in sorted((ROOT / "examples").glob("*.ipynb")):
        shown = notebooks.page(path)
        yield f"examples/{path.stem}.md", shown.markdown
        yield from ((f"examples/{name}", png) for name, png in shown.pictures.items())
    for name, picture in availability_pictures.pictures().items():
        yield f"pictures/availability/{name}.png", picture.png
    yield from _drawn_from_kept_scores()


def _is_linked(path: Path) -> bool:
    """Whether a CSV, TOML or Python file of a study has a link on its page."""
    page = path.with_name("page.md")
    linked = page.exists() and f"]({path.name})" in page.read_text()
    return linked and path.suffix in (".csv", ".py", ".toml")


def _drawn_from_kept_scores() -> Iterator[tuple[str, bytes]]:
    """Redraws the pictures of docs/pictures by the commands on pages that write them."""
    pages = [ROOT / "docs/results.md", *sorted((ROOT / "analysis/studies").glob("*/page.md"))]
    for words in (words for page in pages for words in kept_pages.commands(page.read_text())):
        for place, word in enumerate(words):
            if word.startswith("docs/pictures/"):
                yield word.removeprefix("docs/"), _drawn(words[2:], place - 2)


def _drawn(words: list[str], place: int) -> bytes:
    """The picture that a module draws into the file at a place of its words."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / Path(words[place]).name
        with contextlib.chdir(ROOT), contextlib.redirect_stdout(io.StringIO()):
            code = import_module(words[0]).main([*words[:place], str(path), *words[place + 1 :]])
        if code:
            raise RuntimeError(f"{path.name} was not drawn: exit code {code}")
        return path.read_bytes()


def _page(uri: str, markdown: str, terms: glossary.Glossary) -> str:
    """Fills in tables, pictures and equations; turns links to files into links to pages."""
    markdown = reference_lists.BLOCK.sub("", page_numbers.without_marks(markdown))
    markdown = _PARAMETERS.sub(lambda found: _table(found[1], found[2].split()), markdown)
    if _PICTURES in markdown:
        markdown = markdown.replace(_PICTURES, availability_pictures.markdown())
    if _THUMBNAILS in markdown:
        markdown = markdown.replace(_THUMBNAILS, availability_pictures.thumbnails())
    markdown = _DOORS.sub(lambda found: _cards(found[1]), markdown)
    markdown = glossary.explained(markdown, uri, terms)
    meanings = dict(terms.symbols)
    markdown = _SYMBOL.sub(lambda found: _set(found, meanings), markdown)
    markdown = _BLOCK.sub(lambda found: _mathml(found[1]), markdown)
    here = posixpath.dirname(_file_of(uri))

    def link(found: re.Match[str]) -> str:
        target = _page_of(posixpath.normpath(posixpath.join(here, found[1])))
        return f"]({posixpath.relpath(target, posixpath.dirname(uri) or '.')}{found[2] or ''})"

    markdown = _TWO_FORMS.sub(r"![\3](\2#only-light) ![\3](\1#only-dark)", markdown)
    markdown = _LINK.sub(link, markdown)
    return _WIDE + markdown if uri.startswith("kept/") else markdown


def _cards(rows: str) -> str:
    """The rows of a table of question, command and links as cards."""
    cards = []
    for row in rows.splitlines():
        question, command, links = (cell.strip() for cell in row.strip("|").split(" | "))
        cards.append(f"-   **{question}**\n\n    ---\n\n    {command}\n\n    {links}\n")
    return '<div class="grid cards" markdown>\n\n' + "\n".join(cards) + "\n</div>\n"


def _set(found: re.Match[str], meanings: dict[str, str]) -> str:
    """A symbol with its index as a subscript; takes its meaning out, as the first use shows it."""
    if found["kept"] is not None:
        return found["kept"]
    letter = found["letter"]
    letter = html.unescape(f"&{letter};") if len(letter) > 1 else letter
    star = "<sup>*</sup>" if found["star"] else ""
    meaning = "" if star else meanings.pop(f"{found['letter']}_{found['index']}", "")
    title = f' title="{html.escape(meaning)}"' if meaning else ""
    return f"<var{title}>{letter}{star}<sub>{found['index']}</sub></var>"


def _mathml(source: str) -> str:
    """An equation as MathML, which a browser shows without a script."""
    formula = latex2mathml.converter.convert(" ".join(source.split()), display="block")
    return f'<div class="equation">{formula}</div>'


def _page_of(path: str) -> str:
    """The site's page for a file of the repository."""
    for file, page in PAGES.items():
        if path == file or path.startswith(f"{file}/"):
            return page if page.endswith(".md") else page + path[len(file) :]
    if path.endswith(".ipynb"):
        return path[: -len("ipynb")] + "md"
    return path[len("docs/") :] if path.startswith("docs/") else path


def _file_of(page: str) -> str:
    """The file of the repository behind a page."""
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
    lines = ["| parameter | meaning | of |", "|---|---|---|"]
    lines += [f"| `--{name}` | {text} | {', '.join(of)} |" for name, (of, text) in rows.items()]
    return "\n".join(lines)


def _plugin_page(folder: Path) -> str:
    """A page with the sources of all plug-ins, each below the first line of its docstring."""
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
