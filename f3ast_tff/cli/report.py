"""Tells which methods are better: differences with verdicts, curves, and the papers' tables.

f3ast-tff report runs --out=report --format=pdf,svg
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from f3ast_tff.analysis.command_line import command, may_differ_flag, names_in, runs_flag
from f3ast_tff.analysis.compare.times import PERIODS
from f3ast_tff.analysis.report.build import build
from f3ast_tff.analysis.report.render import FORMATS, write
from f3ast_tff.analysis.run_groups import Collected, collect
from f3ast_tff.core.errors import ParameterError
from f3ast_tff.files.messages import show
from f3ast_tff.settings import parameter


@dataclass(frozen=True)
class Flags:
    """Flags of this command."""

    runs: str = runs_flag()
    out: str = parameter(
        "report", "folder to write the report into; made if it is not there", is_path=True
    )
    may_differ: str = may_differ_flag()
    baseline: str | None = parameter(
        None, "method that all others are compared with; default: each with each, or FedAvg if many"
    )
    score: str | None = parameter(
        None,
        "score that methods are compared by, such as sample_loss; default: the accuracy of the "
        "runs' objective (the loss, if labels are values), over users for p_k = 1 / N, else over "
        "samples",
    )
    period: str = parameter(
        PERIODS[0], "a run's score: at the end, or the mean of its evaluations", choices=PERIODS
    )
    format: str = parameter(
        "svg", f"formats of the figures' files, a comma list of {', '.join(FORMATS)}"
    )


@command(Flags, __doc__)
def main(flags: Flags) -> None:
    """Writes the report."""
    formats = list(dict.fromkeys(kind.strip().lower() for kind in flags.format.split(",")))
    if not set(formats) <= set(FORMATS):
        raise ParameterError("format", flags.format, f"must be of {', '.join(FORMATS)}")
    collected, out = collect(flags.runs), Path(flags.out)
    write(
        build(collected, flags.period, flags.score, flags.baseline, names_in(flags.may_differ)),
        out,
        formats,
    )
    show(_said(collected))
    show(f"report: {out / 'report.md'}, {out / 'report.html'}")


def _said(collected: Collected) -> str:
    counts = {
        "finished": collected.num_finished,
        "unfinished": len(collected.unfinished),
        "damaged": len(collected.damaged),
        "there twice": len(collected.repeated),
    }
    parts = [f"{count} {name}" for name, count in counts.items() if count or name == "finished"]
    return f"runs: {', '.join(parts)}"
