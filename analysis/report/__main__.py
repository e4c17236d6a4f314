"""The papers' tables and figures from run folders, beside the papers' numbers, with verdicts.

python -m f3ast_tff.analysis.report --runs runs --out report
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from absl import flags

from f3ast_tff.analysis.command_line import fail, parse
from f3ast_tff.analysis.report.build import build
from f3ast_tff.analysis.report.collect import Collected, collect
from f3ast_tff.analysis.report.document import Document
from f3ast_tff.analysis.report.markdown import to_markdown
from f3ast_tff.analysis.report.page import to_html
from f3ast_tff.analysis.report.samples import PERIODS
from f3ast_tff.analysis.runs import RunsError
from f3ast_tff.training.atomic import atomic_write

_HELP = {
    "runs": "folder of runs, searched at any depth",
    "out": "folder to write the report into; made if it is not there",
    "period": "a run's score: final (default), or mean_of_last_10_percent of its evaluations",
}


def main(argv: Sequence[str]) -> int:
    """Parses the command line and writes the report; returns the exit code."""
    values = flags.FlagValues()
    flags.DEFINE_string("runs", None, _HELP["runs"], flag_values=values)
    flags.DEFINE_string("out", None, _HELP["out"], flag_values=values)
    flags.DEFINE_enum("period", PERIODS[0], PERIODS, _HELP["period"], flag_values=values)
    code = parse(argv, values, __doc__ or "", _HELP, ["runs", "out"])
    if code is not None:
        return code
    out = Path(values["out"].value)
    try:
        collected = collect(Path(values["runs"].value))
    except RunsError as error:
        return fail(str(error))
    try:
        write(build(collected, values["period"].value), out)
    except OSError as error:
        return fail(f"--out={out}: cannot write: {error.strerror}")
    print(_said(collected))
    print(f"report: {out / 'report.md'}, {out / 'report.html'}")
    return 0


def write(document: Document, out: Path) -> None:
    """Writes `report.md`, `report.html`, a CSV file a table and a PNG file a figure.

    Raises:
        OSError: If a file cannot be written.
    """
    out.mkdir(parents=True, exist_ok=True)
    for name, table in document.tables.items():
        _write(out / f"{name}.csv", table.to_csv(index=False).encode())
    for picture in document.pictures:
        _write(out / f"{picture.name}.png", picture.png)
    _write(out / "report.md", to_markdown(document).encode())
    _write(out / "report.html", to_html(document).encode())


def _write(path: Path, content: bytes) -> None:
    with atomic_write(path, "wb") as file:
        file.write(content)


def _said(collected: Collected) -> str:
    counts = {
        "finished": collected.num_finished,
        "unfinished": len(collected.unfinished),
        "damaged": len(collected.damaged),
        "there twice": len(collected.repeated),
    }
    parts = [f"{count} {name}" for name, count in counts.items() if count or name == "finished"]
    return f"runs: {', '.join(parts)}"


if __name__ == "__main__":
    sys.exit(main(sys.argv))
