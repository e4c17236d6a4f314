"""Tables as LaTeX with the package booktabs."""

from __future__ import annotations

from collections.abc import Sequence

from f3ast_tff.analysis.report.document import Grid

_SIGNS = {
    **{c: f"\\{c}" for c in "&%$#_{}"},
    **{"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}"},
    **{"<": "$<$", ">": "$>$", "|": "$|$", "±": r"$\pm$", "−": "$-$", "≥": r"$\geq$", "–": "--"},
}


def to_latex(grid: Grid) -> str:
    r"""Returns a `table` environment, to be read by a document with `\usepackage{booktabs}`.

    A cell of several lines takes several rows. Headings of groups span the table.
    """
    width = len(grid.head)
    lines = [r"\begin{table}", r"\centering", rf"\caption{{{_escape(grid.caption)}}}"]
    lines += [rf"\label{{tab:{grid.name}}}", rf"\begin{{tabular}}{{{'l' * width}}}", r"\toprule"]
    lines += [_row(grid.head), r"\midrule"]
    shown = None
    for number, row in enumerate(grid.rows):
        if grid.groups and grid.groups[number] != shown:
            lines += [r"\midrule"] if shown is not None else []
            shown = grid.groups[number]
            lines.append(rf"\multicolumn{{{width}}}{{l}}{{\emph{{{_escape(shown)}}}}} \\")
        parts = [cell.split("\n") for cell in row]
        for place in range(max(map(len, parts))):
            lines.append(_row(["".join(part[place : place + 1]) for part in parts]))
    return "\n".join([*lines, r"\bottomrule", r"\end{tabular}", r"\end{table}", ""])


def _row(cells: Sequence[str]) -> str:
    return " & ".join(map(_escape, cells)) + r" \\"


def _escape(text: str) -> str:
    return "".join(_SIGNS.get(c, c) for c in text)
