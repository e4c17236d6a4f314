"""Verdicts on a table of scores as a picture and as LaTeX."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path

from matplotlib.figure import Figure

from f3ast_tff.analysis.compare.render import COLOURS, latex, point
from f3ast_tff.analysis.compare.table_claims import Judged
from f3ast_tff.analysis.curves import literal, plain, save
from f3ast_tff.analysis.texts import p_value_text

# Inches.
_WIDTH, _ROW, _EXTRA = 7.5, 0.28, 0.9
_SPECIAL = {c: f"\\{c}" for c in "&%$#_{}"} | {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
}


def draw_verdicts(results: Sequence[Judged], path: Path) -> None:
    """Draws A - B with its interval for each verdict, in the colour of its word.

    Raises:
        OSError: If the file cannot be written.
    """
    figure = Figure(figsize=(_WIDTH, _EXTRA + _ROW * len(results)), layout="constrained")
    axes = figure.subplots()
    for y, each in enumerate(results):
        found = point(each.verdict)
        if not math.isnan(found.low):
            axes.plot([found.low, found.high], [y, y], color=found.colour, linewidth=1.8)
        axes.plot(found.mean, y, "o", color=found.colour)
    with_score = len({each.score for each in results}) > 1
    labels = [literal(_label(each, with_score)) for each in results]
    axes.set_yticks(range(len(results)), labels, fontsize=8)
    axes.set_ylim(len(results) - 0.4, -0.6)
    axes.axvline(0, color="#444444", linewidth=0.8)
    axes.set_xlabel("difference, with its interval at the corrected level", fontsize=9)
    words = dict.fromkeys(str(each.verdict.word) for each in results)
    lines = [axes.plot([], [], "o-", color=COLOURS[word])[0] for word in words]
    figure.legend(lines, list(words), loc="outside upper center", ncols=4, frameon=False)
    plain(axes)
    save(figure, path)


def latex_table(results: Sequence[Judged]) -> str:
    """Returns a LaTeX table (`booktabs`), a row per verdict."""
    lines = [r"\begin{tabular}{lllrl}", r"\toprule"]
    lines += [r"A $-$ B & where & score & difference & verdict \\", r"\midrule"]
    for each in results:
        p = p_value_text(each.verdict.p).replace("<", "$<$").replace("–", "--")
        cells = [f"{each.asked.a} - {each.asked.b}", each.where or "all", each.score]
        shown = ["".join(_SPECIAL.get(c, c) for c in cell) for cell in cells]
        verdict = f"{each.verdict.word} ($p$ {p})"
        lines.append(" & ".join([*shown, latex(each.verdict), verdict]) + r" \\")
    return "\n".join([*lines, r"\bottomrule", r"\end{tabular}", ""])


def _label(each: Judged, with_score: bool) -> str:
    pair = f"{each.asked.a} − {each.asked.b}"
    return ", ".join(filter(None, [pair, each.where, each.score if with_score else ""]))
