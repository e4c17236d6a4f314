"""Compares the algorithms of a folder of runs: a table, and a picture of the curves.

python -m f3ast_tff.analysis.compare --runs runs/demo --out runs/demo/accuracy.png
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from absl import flags

from f3ast_tff.analysis.command_line import fail, parse
from f3ast_tff.analysis.curves import draw_curves
from f3ast_tff.analysis.runs import RunsError, load_runs
from f3ast_tff.analysis.table import final_table, render

_FLAGS = {
    "runs": "folder of runs, searched at any depth",
    "out": "PNG file to write or replace; its folder must exist",
}


def main(argv: Sequence[str]) -> int:
    """Parses the command line and compares; returns the exit code."""
    values = flags.FlagValues()
    for name, text in _FLAGS.items():
        flags.DEFINE_string(name, None, text, flag_values=values)
    code = parse(argv, values, __doc__ or "", _FLAGS, list(_FLAGS))
    if code is not None:
        return code
    return compare(Path(values["runs"].value), Path(values["out"].value))


def compare(folder: Path, out: Path) -> int:
    """Prints the table and draws the curves.

    Args:
        folder: Where the runs are.
        out: The PNG file to write or replace.

    Returns:
        The exit code: 0, or `BAD_INPUT` after one line on stderr.
    """
    if out.suffix.lower() != ".png":
        return fail(f"--out={out}: must end in .png")
    try:
        runs = load_runs(folder)
        print(render(final_table(runs)))
        draw_curves(runs, out)
    except RunsError as error:
        return fail(str(error))
    except OSError as error:
        return fail(f"--out={out}: cannot write: {error.strerror}")
    print(f"curves: {out}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv))
