"""The report as one HTML page that needs no other file and no network."""

from __future__ import annotations

import base64
import html

from f3ast_tff.analysis.report.document import Block, Document, Grid, Listing, Picture, Text

# The page may load what it holds itself and nothing else.
_POLICY = "default-src 'none'; img-src data:; style-src 'unsafe-inline'"
_STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; color: #1a1a1a; background: #fff;
  max-width: 1240px; margin: 2rem auto; padding: 0 1.2rem; }
h1 { font-size: 1.6rem; } h2 { margin-top: 2.6rem; border-bottom: 2px solid #1a1a1a; }
nav ul { columns: 2; padding-left: 1.2rem; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; margin: .4rem 0 1.4rem; font-variant-numeric: tabular-nums; }
caption { text-align: left; padding-bottom: .3rem; font-weight: 600; }
th, td { padding: .25rem .7rem; text-align: left; vertical-align: top; }
thead th { border-bottom: 1px solid #1a1a1a; } tbody tr { border-bottom: 1px solid #ddd; }
td { white-space: pre; } td.long { white-space: pre-line; min-width: 15rem; }
figure { margin: 1.2rem 0 2rem; } img { max-width: 100%; height: auto; }
figcaption, .none { color: #595959; } summary { cursor: pointer; font-weight: 600; }
.holds::first-line, .fails::first-line { font-weight: 700; }
.holds::before { content: "\\2713  "; }
.fails::before { content: "\\2717  "; }
"""
# Longer lines may be broken.
_LONG = 44
_CLASSES = {
    "holds": "holds",
    "does not hold": "fails",
    "not enough runs": "none",
    "not run": "none",
}


def to_html(document: Document) -> str:
    """Returns the report as a page."""
    title = html.escape(document.title)
    links, bodies = [], []
    for number, section in enumerate(document.sections):
        heading = html.escape(section.title)
        links.append(f'<li><a href="#s{number}">{heading}</a></li>')
        bodies.append(f'<section id="s{number}"><h2>{heading}</h2>')
        bodies += [_block(block) for block in section.blocks]
        bodies.append("</section>")
    return "\n".join(
        [
            "<!DOCTYPE html>",
            '<html lang="en"><head><meta charset="utf-8">',
            f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            # Otherwise browsers ask for one.
            '<link rel="icon" href="data:,">',
            f"<title>{title}</title><style>{_STYLE}</style></head><body>",
            f"<h1>{title}</h1><nav><ul>{''.join(links)}</ul></nav>",
            *bodies,
            "</body></html>\n",
        ]
    )


def _block(block: Block) -> str:
    if isinstance(block, Text):
        return f"<p>{html.escape(block.text)}</p>"
    if isinstance(block, Picture):
        data = base64.b64encode(block.png).decode("ascii")
        caption = html.escape(block.caption)
        image = f'<img alt="{caption}" src="data:image/png;base64,{data}">'
        return f"<figure>{image}<figcaption>{caption}</figcaption></figure>"
    if isinstance(block, Listing):
        items = "".join(f"<li>{html.escape(line)}</li>" for line in block.lines)
        title = f"{html.escape(block.title)} ({len(block.lines)})"
        return f"<details><summary>{title}</summary><ul>{items}</ul></details>"
    return _grid(block)


def _grid(grid: Grid) -> str:
    head = "".join(f'<th scope="col">{html.escape(cell)}</th>' for cell in grid.head)
    rows = "".join(f"<tr>{''.join(map(_cell, row))}</tr>" for row in grid.rows)
    caption = html.escape(grid.caption)
    shown = "" if grid.folded else f"<caption>{caption}</caption>"
    table = f"<table>{shown}<thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>"
    if grid.folded:
        summary = f"<summary>{caption} ({len(grid.rows)} rows)</summary>"
        return f'<details>{summary}<div class="wide">{table}</div></details>'
    return f'<div class="wide">{table}</div>'


def _cell(text: str) -> str:
    lines = text.split("\n")
    kinds = [_CLASSES.get(lines[0], ""), "long" if max(map(len, lines)) > _LONG else ""]
    kind = " ".join(filter(None, kinds))
    return (
        f'<td class="{kind}">{html.escape(text)}</td>' if kind else f"<td>{html.escape(text)}</td>"
    )
