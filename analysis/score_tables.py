"""Prints kept scores as Markdown tables: means, paired differences, unstable runs.

python -m f3ast_tff.analysis.score_tables --scores analysis/results/table3_synthetic.csv
    --score sample_accuracy,user_accuracy --columns availability --by reading --minus f3ast:fedavg
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from f3ast_tff.analysis.command_line import command
from f3ast_tff.analysis.kept_scores import (
    KeptRun,
    When,
    read_scores,
    require_setting,
    runs_where,
)
from f3ast_tff.analysis.markdown import markdown_table
from f3ast_tff.analysis.paired_difference import PairedDifference
from f3ast_tff.analysis.runs import PERIODS, SCORES, Pair
from f3ast_tff.analysis.score_cells import (
    Block,
    Key,
    blocks,
    key_text,
    label,
    minus_text,
    spread,
    unstable_text,
)
from f3ast_tff.components import REQUIRED, parameter
from f3ast_tff.errors import ParameterError

# As the first of a pair of rows.
EACH = "each"
# ln 10: the loss of a uniform guess among 10 classes.
UNIFORM_LOSS = 2.302585


@dataclass(frozen=True)
class Flags:
    """Flags of this command; lists are separated by commas."""

    scores: str = parameter(REQUIRED, "CSV file of tidy_scores", is_path=True)
    score: str = parameter("sample_accuracy", f"scores to show, of {', '.join(SCORES)}")
    rows: str = parameter("algorithm", "settings whose values are the rows")
    columns: str | None = parameter(
        None, "settings whose values are the columns; default: one table, a column a score"
    )
    by: str | None = parameter(None, "settings with tables of their own for each value")
    where: str | None = parameter(
        None, "runs to keep, as SETTING=VALUE; a setting given again allows another value"
    )
    minus: str | None = parameter(
        None,
        "rows to subtract, as A:B for A minus B; values of several settings as A1/A2:B1/B2; "
        "each:B for every other row minus B",
    )
    round: int | None = parameter(None, "round to show, in place of a period", minimum=1)
    period: str = parameter(
        "final",
        "each run's last round, or the mean of the last 10% of the evaluations in the file",
        choices=PERIODS,
    )
    unstable: bool = parameter(False, "also show the share of unstable runs")
    loss_above: float = parameter(
        UNIFORM_LOSS, "sample loss above which a run is unstable; the default is ln 10", above=0
    )


@dataclass(frozen=True)
class Layout:
    """What the tables show.

    Attributes:
        scores: Scores, of `SCORES`.
        rows: Settings whose values are the rows.
        columns: Settings whose values are the columns; empty for a column a score.
        by: Settings with tables of their own for each value.
        minus: Pairs of rows, the first minus the second; `EACH` for every other row.
        when: A round, or one of `PERIODS`.
        loss_above: Sample loss above which a run is unstable; `None` for no such table.
    """

    scores: Sequence[str]
    rows: Sequence[str]
    columns: Sequence[str] = ()
    by: Sequence[str] = ()
    minus: Sequence[tuple[str, str]] = ()
    when: When = "final"
    loss_above: float | None = None


def main(argv: Sequence[str]) -> int:
    """Parses the command line and prints the tables; returns the exit code."""
    return command(argv, __doc__, Flags, _print)


def _print(flags: Flags) -> None:
    if flags.round is not None and flags.period != "final":
        raise ParameterError("period", flags.period, "cannot be together with --round")
    runs = runs_where(read_scores(Path(flags.scores)), flags.where)
    layout = Layout(
        scores=_list(flags.score),
        rows=_list(flags.rows),
        columns=_list(flags.columns),
        by=_list(flags.by),
        minus=[_pair(flags.minus, each) for each in _list(flags.minus)],
        when=flags.period if flags.round is None else flags.round,
        loss_above=flags.loss_above if flags.unstable else None,
    )
    for score in layout.scores:
        if score not in SCORES:
            raise ParameterError("score", score, f"must be of {', '.join(SCORES)}")
    for flag in ("rows", "columns", "by"):
        for name in getattr(layout, flag):
            require_setting(flag, name, runs)
    print(score_tables(runs, layout))


def score_tables(runs: Sequence[KeptRun], layout: Layout) -> str:
    """Returns the tables as Markdown.

    A score is shown as mean ± standard deviation over draws of the data (of each draw's mean over
    its seeds); with one draw, over its seeds. A cell with a score that is not finite says of how
    many runs, and gives no mean.

    Args:
        runs: At least one.
        layout: What to show.

    Raises:
        ParameterError: If there is no row for a part of `layout.minus`.
        RunsError: If the runs of a cell differ in a setting, or a round was not kept.
    """
    found = blocks(runs, layout.rows, layout.columns, layout.by)
    rows = {key_text(key): key for block in found for key in block.rows}
    minus = []
    for a, b in layout.minus:
        firsts = [text for text in rows if text != b] if a == EACH else [a]
        for text in (*firsts, b):
            if text not in rows:
                allowed = f"must be rows of {', '.join(rows)}"
                raise ParameterError("minus", f"{a}:{b}", allowed)
        minus += [(rows[first], rows[b]) for first in firsts]
    return "\n\n".join(_tables(block, layout, minus) for block in found)


@dataclass(frozen=True)
class _Column:
    """A column: the texts of the rows, then of the differences, if it has them."""

    heading: str
    texts: Sequence[str]
    differences: Sequence[PairedDifference | None] = ()


def _tables(block: Block, layout: Layout, minus: Sequence[tuple[Key, Key]]) -> str:
    names = [label(layout.rows, row) for row in block.rows]
    names += [f"{label(layout.rows, a)} − {label(layout.rows, b)}" for a, b in minus]
    by_score = [
        [_column(block, layout, minus, column, score) for column in block.columns]
        for score in layout.scores
    ]
    unstable = [] if layout.loss_above is None else _unstable(block, layout, layout.loss_above)
    where = f"{_when(block, layout.when)}{block.condition}:"
    if layout.columns:
        titled = [(_words(score).capitalize(), c) for score, c in zip(layout.scores, by_score)]
        if layout.loss_above is not None:
            titled.append((f"Runs with a {_unstable_words(layout.loss_above)}", unstable))
        parts = [_markdown(f"{title} {where}", names, columns) for title, columns in titled]
    else:
        headed = [replace(c, heading=_words(s)) for s, (c,) in zip(layout.scores, by_score)]
        if layout.loss_above is not None:
            heading = f"runs with a {_unstable_words(layout.loss_above)}"
            headed += [replace(column, heading=heading) for column in unstable]
        parts = [_markdown(f"{where[0].upper()}{where[1:]}", names, headed)]
    found = [each for columns in by_score for column in columns for each in column.differences]
    return "\n\n".join([*parts, block.population(found)])


def _column(
    block: Block, layout: Layout, minus: Sequence[tuple[Key, Key]], column: Key, score: str
) -> _Column:
    def scores(row: Key) -> dict[Pair, float]:
        return block.scores(row, column, score, layout.when)

    subtracted = [minus_text(scores(a), scores(b)) for a, b in minus]
    texts = [spread(scores(row)) for row in block.rows] + [text for text, _ in subtracted]
    return _Column(label(layout.columns, column), texts, [found for _, found in subtracted])


def _unstable(block: Block, layout: Layout, above: float) -> list[_Column]:
    found = []
    for column in block.columns:
        losses = [block.scores(row, column, "sample_loss", layout.when) for row in block.rows]
        texts = [unstable_text(each, above) for each in losses]
        found.append(_Column(label(layout.columns, column), texts))
    return found


def _unstable_words(above: float) -> str:
    return f"sample loss above {above:.4g} or not finite"


def _markdown(title: str, names: Sequence[str], columns: Sequence[_Column]) -> str:
    height = max(len(column.texts) for column in columns)
    rows = [
        [name, *("".join(column.texts[place : place + 1]) for column in columns)]
        for place, name in enumerate(names[:height])
    ]
    headings = ["", *(column.heading for column in columns)]
    return f"{title}\n\n{markdown_table(headings, rows)}"


def _when(block: Block, when: When) -> str:
    every = {tuple(run.rounds(when)) for run in block.runs}
    if when == "mean_of_last_10_percent":
        if len(every) > 1:
            return "in the mean of the last 10% of the kept evaluations"
        rounds = list(map(str, every.pop()))
        return f"in the mean of round{'s' * (len(rounds) > 1)} {', '.join(rounds)}"
    if len(every) > 1:
        return "at the last round of each run"
    return f"at round {every.pop()[0]}"


def _words(score: str) -> str:
    return score.replace("_", " ")


def _list(text: str | None) -> list[str]:
    return [each.strip() for each in text.split(",")] if text else []


def _pair(text: str | None, pair: str) -> tuple[str, str]:
    a, colon, b = pair.partition(":")
    if not (a and colon and b):
        raise ParameterError("minus", text, "must be pairs such as f3ast:fedavg")
    return a, b


if __name__ == "__main__":
    sys.exit(main(sys.argv))
