"""The report as files: Markdown with pictures and tables beside it, and one HTML page."""

from __future__ import annotations

import base64
import hashlib
import io
import json
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import jinja2
import markupsafe
from matplotlib import rc_context
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.backends.backend_pdf import FigureCanvasPdf
from matplotlib.backends.backend_svg import FigureCanvasSVG

from f3ast_tff.analysis.compare.judge import BETTER, NOT_JUDGED, WORSE
from f3ast_tff.analysis.report.document import Block, Document, Grid, Listing, Picture, Text
from f3ast_tff.analysis.report.reading_effects import NOT_ENOUGH
from f3ast_tff.analysis.texts import NOT_RUN, csv_text, markdown_text
from f3ast_tff.files.atomic import write_all
from f3ast_tff.files.data_files import hash_of, read_json
from f3ast_tff.files.messages import printable

FORMATS = ("svg", "png", "pdf")
_PNG_DPI = 150
# Length of a cell's line above which it may be broken.
_LONG = 34
_CLASSES = {
    BETTER: "holds",
    WORSE: "fails",
    NOT_JUDGED: "none",
    NOT_ENOUGH: "none",
    NOT_RUN: "none",
}


def write(
    document: Document, out: Path, formats: Sequence[str] = ("svg",), name: str = "report"
) -> None:
    """Writes `report.md`, `report.html`, a CSV and a LaTeX file per table, and the figures.

    Surplus files of an earlier report, listed in `report_files.json`, are removed.

    Args:
        document: The report.
        out: The folder; made if missing.
        formats: Formats of the figures' files, of `FORMATS`. Markdown shows the first format.
        name: Name of the two pages, instead of `report`.

    Raises:
        OSError: If a file cannot be written.
    """
    out.mkdir(parents=True, exist_ok=True)
    svgs = {picture.name: drawn(picture, "svg") for picture in document.pictures}
    files = {f"{n}.csv": csv_text(t).encode() for n, t in document.tables.items()}
    files.update({f"{grid.name}.tex": to_latex(grid).encode() for grid in document.grids})
    for kind in formats:
        for picture in document.pictures:
            content = svgs[picture.name] if kind == "svg" else drawn(picture, kind)
            files[f"{picture.name}.{kind}"] = content
    files[f"{name}.md"] = to_markdown(document, formats).encode()
    files[f"{name}.html"] = to_html(document, svgs).encode()
    replace_files(out, files)


def drawn(picture: Picture, kind: str) -> bytes:
    """Returns a figure as a file of a kind of `FORMATS`, drawn once (`savefig` draws twice)."""
    buffer = io.BytesIO()
    # Settings that keep text as text and give equal files for equal figures.
    with rc_context({"svg.fonttype": "none", "svg.hashsalt": picture.name}):
        if kind == "svg":
            FigureCanvasSVG(picture.figure).print_svg(buffer, metadata={"Date": None})
        elif kind == "pdf":
            FigureCanvasPdf(picture.figure).print_pdf(buffer, metadata={"CreationDate": None})
        else:
            picture.figure.dpi = _PNG_DPI
            FigureCanvasAgg(picture.figure).print_png(buffer)
    return buffer.getvalue()


def to_html(document: Document, svgs: dict[str, bytes]) -> str:
    """Returns the report, with its figures by name, as a page that needs no file and no network."""
    folder = Path(__file__).parent
    loader = jinja2.FileSystemLoader(folder)
    environment = jinja2.Environment(
        loader=loader,
        autoescape=True,
        finalize=_printable,
        undefined=jinja2.StrictUndefined,
        keep_trailing_newline=True,
    )
    environment.filters.update(
        cell_class=_cell_class,
        kind=lambda block: type(block).__name__,
        latex=to_latex,
        panels=_panels,
        svg=lambda picture: base64.b64encode(svgs[picture.name]).decode("ascii"),
    )
    script = (folder / "page.js").read_text(encoding="utf-8")
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode("ascii")
    return environment.get_template("page.html").render(
        document=document, script=markupsafe.Markup(script), script_hash=f"sha256-{digest}"
    )


def _cell_class(text: str) -> str:
    lines = text.split("\n")
    # A table of claims has the level behind the verdict, such as "holds (at 99.17%)".
    verdict = lines[0].partition(" (at ")[0]
    long = "long" if max(map(len, lines)) > _LONG else ""
    return " ".join(filter(None, (_CLASSES.get(verdict, ""), long)))


def _panels(picture: Picture) -> str:
    """Values of a figure's lines as JSON; null for values that are not finite."""
    panels = [
        {
            "box": _short(panel.box),
            "x": _short(panel.x),
            "y": _short(panel.y),
            "log": panel.log,
            "over": panel.over,
            "traces": [
                {
                    "label": trace.label,
                    "runs": trace.runs,
                    "x": _short(trace.x),
                    "y": _short(trace.y),
                    "spread": None if trace.spread is None else _short(trace.spread),
                }
                for trace in panel.traces
            ],
        }
        for panel in picture.panels
    ]
    return json.dumps(panels, separators=(",", ":"))


def _short(values: Iterable[float]) -> list[float | None]:
    """Numbers with five digits; whole numbers have no point."""
    found: list[float | None] = []
    for value in values:
        number = float(f"{value:.5g}") if math.isfinite(value) else None
        found.append(int(number) if number is not None and number == int(number) else number)
    return found


def to_markdown(document: Document, formats: Sequence[str] = ("svg",)) -> str:
    """Returns the report as Markdown (GitHub's tables), with figures of the first format."""
    kind = next((kind for kind in formats if kind != "pdf"), "pdf")
    parts = [f"# {markdown_text(document.title)}", *filter(None, [document.date])]
    for section in document.sections:
        parts.append(f"## {markdown_text(section.title)}")
        parts += [_block(block, kind) for block in section.blocks]
    files = ", ".join(f"[{name}.csv]({name}.csv)" for name in document.tables)
    sources = ", ".join(f"[{grid.name}.tex]({grid.name}.tex)" for grid in document.grids)
    return "\n\n".join([*parts, f"Tables as CSV: {files}", f"Tables as LaTeX: {sources}"]) + "\n"


def _block(block: Block, kind: str) -> str:
    if isinstance(block, Text):
        return markdown_text(block.text)
    if isinstance(block, Picture):
        mark = "" if kind == "pdf" else "!"
        caption = markdown_text(block.caption)
        return f"{mark}[{caption}]({block.name}.{kind})\n\n{caption}"
    if isinstance(block, Listing):
        return "\n".join(
            [f"{markdown_text(block.title)}:\n", *(f"- {markdown_text(x)}" for x in block.lines)]
        )
    return _grid(block)


def _grid(grid: Grid) -> str:
    width = len(grid.head)
    lines = [_row([*map(markdown_text, grid.head)]), "|" + "---|" * width]
    shown = None
    for number, row in enumerate(grid.rows):
        if grid.groups and grid.groups[number] != shown:
            shown = grid.groups[number]
            lines.append(_row([f"**{markdown_text(shown)}**", *[""] * (width - 1)]))
        cells = [markdown_text(cell) for cell in row]
        if grid.links:
            cells[0] = f"[{cells[0]}](#{grid.links[number]})"
        lines.append(_row([f'<a id="{grid.name}-{number}"></a>{cells[0]}', *cells[1:]]))
    return f"{markdown_text(grid.caption)}\n\n" + "\n".join(lines)


def _row(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cells) + " |"


def _printable(value: Any) -> Any:
    """Replaces characters that change the reading order of the following text by `?`."""
    is_text = isinstance(value, str) and not isinstance(value, markupsafe.Markup)
    return printable(value) if is_text else value


_SIGNS = {
    **{c: f"\\{c}" for c in "&%$#_{}"},
    **{"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}"},
    **{"<": "$<$", ">": "$>$", "|": "$|$", "±": r"$\pm$", "−": "$-$", "≥": r"$\geq$", "–": "--"},
}


# A sign before a number, not in a word, a name or a range.
_SIGN = re.compile(r"(?<![\w.)$-])[-+](?=\.?\d)")


def to_latex(grid: Grid) -> str:
    r"""Returns a `table` environment, to be read by a document with `\usepackage{booktabs}`.

    A cell of several lines takes several rows. Headings of groups span the table.
    """
    width = len(grid.head)
    lines = [r"\begin{table}", r"\centering", rf"\caption{{{_latex_text(grid.caption)}}}"]
    lines += [rf"\label{{tab:{grid.name}}}", rf"\begin{{tabular}}{{{'l' * width}}}", r"\toprule"]
    lines += [_latex_row(grid.head), r"\midrule"]
    shown = None
    for number, row in enumerate(grid.rows):
        if grid.groups and grid.groups[number] != shown:
            lines += [r"\midrule"] if shown is not None else []
            shown = grid.groups[number]
            lines.append(rf"\multicolumn{{{width}}}{{l}}{{\emph{{{_latex_text(shown)}}}}} \\")
        parts = [cell.split("\n") for cell in row]
        for place in range(max(map(len, parts))):
            lines.append(_latex_row(["".join(part[place : place + 1]) for part in parts]))
    return "\n".join([*lines, r"\bottomrule", r"\end{tabular}", r"\end{table}", ""])


def _latex_row(cells: Sequence[str]) -> str:
    return " & ".join(map(_latex_text, cells)) + r" \\"


def _latex_text(text: str) -> str:
    return _SIGN.sub(lambda sign: f"${sign[0]}$", "".join(_SIGNS.get(c, c) for c in text))


# SHA-256 by name of every file of the last report.
LISTING = "report_files.json"


def replace_files(folder: Path, files: Mapping[str, bytes]) -> None:
    """Writes the files of a report, and removes surplus files of the previous report.

    All files are replaced, or on an error none. A file belongs to the previous report if its name
    and SHA-256 are in `LISTING`; a changed file stays.

    Raises:
        OSError: If a file cannot be written or removed.
    """
    earlier = _listed(folder)
    digests = {name: hashlib.sha256(content).hexdigest() for name, content in files.items()}
    # Replaced first; a file that is then missing or old does not match its digest.
    listing = json.dumps(digests, indent=2, sort_keys=True) + "\n"
    write_all(folder, {LISTING: listing.encode(), **files})
    for name, digest in earlier.items():
        if name not in files and _is_ours(folder / name, digest):
            (folder / name).unlink()


def _listed(folder: Path) -> dict[str, str]:
    """The names and digests of an earlier report; empty if there is no valid list."""
    try:
        found = read_json(folder / LISTING)
    except (OSError, ValueError):
        return {}
    if not isinstance(found, dict):
        return {}
    # Names alone: a path could lead out of the folder.
    return {n: str(digest) for n, digest in found.items() if n and n == Path(n).name}


def _is_ours(path: Path, digest: str) -> bool:
    try:
        return path.is_file() and not path.is_symlink() and hash_of(path) == digest
    except (OSError, ValueError):
        return False
