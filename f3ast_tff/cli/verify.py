"""Plays kept runs again from their records, and says whether they are equal bit for bit.

f3ast-tff verify runs/mine
f3ast-tff verify runs/mine --rounds=900-1000
f3ast-tff verify runs/campaign --sample=5

Of a folder of several runs a sample is played. Exit code: 0 equal, 1 a run differs, 2 one cannot
be played again.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from f3ast_tff.analysis.command_line import command
from f3ast_tff.analysis.runs import run_folders
from f3ast_tff.core.errors import Interrupted, ParameterError
from f3ast_tff.files.exit_codes import BAD_INPUT, fail
from f3ast_tff.files.messages import one_line, show
from f3ast_tff.files.signals import Signals
from f3ast_tff.settings import REQUIRED, parameter

_UNEQUAL = 1


@dataclass(frozen=True)
class Flags:
    """Flags of this command."""

    runs: str = parameter(
        REQUIRED, "folder of a run, or of several; --runs= may be left out before it", is_path=True
    )
    rounds: str = parameter(
        "",
        "rounds to compare, such as 1-100 or 900-; play begins at a kept checkpoint before them, "
        "else at round 1. Default: all",
    )
    sample: int = parameter(5, "number of runs to play, of a folder of several", minimum=1)
    seed: int = parameter(0, "seed of the sample", minimum=0)


def main(argv: Sequence[str], signals: Signals | None = None) -> int:
    """Runs the command; `signals` may ask a run to stop."""
    return command(Flags, __doc__)(partial(_verify, signals=signals or Signals()))(argv)


def _verify(flags: Flags, signals: Signals) -> int:
    first, last = _range(flags.rounds)
    folders = run_folders(flags.runs)
    if len(folders) > flags.sample:
        drawn = np.random.default_rng(flags.seed).permutation(len(folders))[: flags.sample]
        show(f"{flags.sample} of {len(folders)} runs (seed {flags.seed})", flush=True)
        folders = [folders[n] for n in sorted(drawn)]
    from f3ast_tff.run.verify import CANNOT, DIFFERS, verify

    verdicts = set()
    try:
        for folder in folders:
            found = verify(folder, first, last, signals)
            show(one_line(f"{found.folder}: {found.verdict}, {found.said}"), flush=True)
            verdicts.add(found.verdict)
    except Interrupted:
        return fail("interrupted", signals.exit_code)
    return _UNEQUAL if DIFFERS in verdicts else BAD_INPUT if CANNOT in verdicts else 0


def _range(text: str) -> tuple[int, int | None]:
    """First and last round of `A-B`, `A-`, `-B` or `A`."""
    found = re.fullmatch(r"([0-9]{1,9})?(-)?([0-9]{1,9})?", text)
    if found is None or text == "-":
        raise ParameterError("rounds", text, "must be a range such as 1-100, 900- or -100")
    first = int(found[1] or 1)
    last = int(found[3]) if found[3] else first if text and not found[2] else None
    if first < 1 or last is not None and last < first:
        raise ParameterError("rounds", text, "must rise, from round 1 on")
    return first, last
