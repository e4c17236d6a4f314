from __future__ import annotations

from f3ast_tff.analysis.report.document import Grid
from f3ast_tff.analysis.report.render import to_latex


def test_a_table() -> None:
    """Lines of a cell become rows, a group's heading spans the table, and signs are escaped."""
    rows = (("A_1", "0.5 ± 0.1\npaper 40%"), ("B", "−"), ("C-1", "-0.5 [-.1, +2]"))
    grid = Grid("t1", "A & B", ("method", "K = 5"), rows, groups=("one", "one", "two"))
    assert to_latex(grid).splitlines() == [
        r"\begin{table}",
        r"\centering",
        r"\caption{A \& B}",
        r"\label{tab:t1}",
        r"\begin{tabular}{ll}",
        r"\toprule",
        r"method & K = 5 \\",
        r"\midrule",
        r"\multicolumn{2}{l}{\emph{one}} \\",
        r"A\_1 & 0.5 $\pm$ 0.1 \\",
        r" & paper 40\% \\",
        r"B & $-$ \\",
        r"\midrule",
        r"\multicolumn{2}{l}{\emph{two}} \\",
        r"C-1 & $-$0.5 [$-$.1, $+$2] \\",
        r"\bottomrule",
        r"\end{tabular}",
        r"\end{table}",
    ]
