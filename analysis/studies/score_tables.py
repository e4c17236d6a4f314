"""Prints kept scores as Markdown tables: means, paired differences, unstable runs.

python -m f3ast_tff.analysis.studies.score_tables --scores scores.csv
    --score sample_accuracy,user_accuracy --columns availability --by reading --minus f3ast:fedavg
"""

from __future__ import annotations

import math
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path

import pandas as pd

from f3ast_tff.analysis.command_line import command, require_ending
from f3ast_tff.analysis.compare.cells import When, chosen, only_group, ordered_keys
from f3ast_tff.analysis.compare.leads import times_of
from f3ast_tff.analysis.compare.paired_difference import PairedDifference
from f3ast_tff.analysis.compare.pairs import paired
from f3ast_tff.analysis.compare.plan import EACH, read_plan, reading_note
from f3ast_tff.analysis.compare.plan_picture import draw_differences
from f3ast_tff.analysis.compare.scored import Kept, Pair, summarised
from f3ast_tff.analysis.compare.times import BEST, CHANGE, KEPT_PERIODS, SECOND_HALF, Time, at
from f3ast_tff.analysis.method_names import display_of
from f3ast_tff.analysis.report.readings import readings
from f3ast_tff.analysis.run_groups import describe, partition
from f3ast_tff.analysis.texts import (
    NOTHING,
    ONE_AVAILABILITY,
    counted,
    markdown_table,
    of_intervals,
    open_interval,
    spread_text,
)
from f3ast_tff.analysis.tidy_scores import (
    Key,
    kept_groups,
    label,
    read_scores,
    require_score,
    require_setting,
    runs_where,
)
from f3ast_tff.campaigns.study_folders import name_of
from f3ast_tff.core.errors import ParameterError
from f3ast_tff.files.messages import show
from f3ast_tff.records.metrics import count_of_last_10_percent
from f3ast_tff.settings import REQUIRED, parameter
from f3ast_tff.settings.kinds import KINDS
from f3ast_tff.settings.parameter import PRESETS

# ln 10: the loss of a uniform guess among 10 classes.
UNIFORM_LOSS = 2.302585
Scores = Mapping[Pair, float]


@dataclass(frozen=True)
class Flags:
    """Flags of this command; lists are separated by commas."""

    scores: str = parameter(REQUIRED, "CSV file of tidy_scores", is_path=True)
    score: str = parameter("sample_accuracy", "scores to show, of the file's")
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
        "each:B for every other row minus B; at a quarter and half of the time too, if kept",
    )
    round: int | None = parameter(None, "round to show, in place of a period", minimum=1)
    period: str = parameter(
        "final",
        "each run's last round, the mean of the last 10% of the evaluations in the file, the best "
        "of them, the mean of their second half, or there the mean size of the change from one to "
        "the next",
        choices=KEPT_PERIODS,
    )
    unstable: bool = parameter(False, "also show the share of unstable runs")
    plan: str | None = parameter(
        None, "campaign whose plan asks the differences; the tables say when it did"
    )
    picture: str | None = parameter(
        None, "picture of the differences to draw in place of tables: .svg or .png", is_path=True
    )
    loss_above: float = parameter(
        UNIFORM_LOSS, "sample loss above which a run is unstable; the default is ln 10", above=0
    )


@dataclass(frozen=True)
class Layout:
    """The scores that the tables show.

    Attributes:
        scores: Scores, of `SCORES`.
        rows: Settings whose values are the rows.
        columns: Settings whose values are the columns; empty for a column a score.
        by: Settings with a separate table for each value.
        minus: Pairs of rows, the first minus the second; `EACH` for every other row.
        when: A round, or one of `KEPT_PERIODS`.
        loss_above: Sample loss above which a run is unstable; `None` for no such table.
        asked: Sentence on when the differences were asked for.
    """

    scores: Sequence[str]
    rows: Sequence[str]
    columns: Sequence[str] = ()
    by: Sequence[str] = ()
    minus: Sequence[tuple[str, str]] = ()
    when: When = "final"
    loss_above: float | None = None
    asked: str = ""


@command(Flags, __doc__)
def main(flags: Flags) -> None:
    """Prints the tables."""
    if flags.round is not None and flags.period != "final":
        raise ParameterError("period", flags.period, "cannot be together with --round")
    runs = runs_where(read_scores(Path(flags.scores)), flags.where)
    when = flags.period if flags.round is None else flags.round
    layout = Layout(
        scores=_list(flags.score),
        rows=_list(flags.rows),
        columns=_list(flags.columns),
        by=_list(flags.by),
        minus=[_pair(flags.minus, each) for each in _list(flags.minus)],
        when=when,
        loss_above=flags.loss_above if flags.unstable else None,
        asked=reading_note(
            plan=read_plan(flags.plan) if flags.plan else (),
            scores=name_of(Path(flags.scores)),
            of_scores=_list(flags.score),
            time=at(when),
            pairs=_list(flags.minus),
        ),
    )
    for score in layout.scores:
        require_score(score, runs)
    for flag in ("rows", "columns", "by"):
        for name in getattr(layout, flag):
            require_setting(flag, name, runs)
    if flags.picture is None:
        show(score_tables(runs, layout))
        return
    require_ending("picture", flags.picture, ".svg", ".png")
    differences = differences_of(runs, layout)
    if differences.empty:
        raise ParameterError("picture", flags.picture, "needs differences: give --minus")
    draw_differences(differences, Path(flags.picture))
    show(f"written: {flags.picture}")


def score_tables(runs: pd.DataFrame, layout: Layout) -> str:
    """Returns the tables of at least one run as Markdown.

    A score is shown as mean ± standard deviation over draws of the data (of each draw's mean over
    its seeds); with one draw, over its seeds. A cell with scores that are not finite gives the
    number of such runs, and no mean.

    Raises:
        ParameterError: If there is no row for a part of `layout.minus`.
        RunsError: If the runs of a cell differ in a setting, or a round was not kept.
    """
    groups = kept_groups(runs)
    rows, columns, values = (
        ordered_keys((_key(group, names) for group in groups), names)
        for names in (layout.rows, layout.columns, layout.by)
    )
    minus = _minus(rows, layout.minus)
    tables = []
    for value in values:
        block = chosen(groups, dict(zip(layout.by, value)))
        own_rows = _present(rows, layout.rows, block)
        own_columns = _present(columns, layout.columns, block)
        tables.append(_tables(block, value, layout, own_rows, own_columns, minus))
    return "\n\n".join(tables)


def differences_of(runs: pd.DataFrame, layout: Layout) -> pd.DataFrame:
    """Returns a row per finite difference of `layout.minus`, cell and score.

    The columns: `name`, of the second row only what differs; `score`; `cell`, the values of
    `layout.columns` and `layout.by` in words; `mean`, `low`, `high`, of the 95% interval.

    Raises:
        ParameterError: If there is no row for a part of `layout.minus`.
        RunsError: See `score_tables`.
    """
    groups, names = kept_groups(runs), [*layout.by, *layout.columns]
    rows = ordered_keys((_key(group, layout.rows) for group in groups), layout.rows)
    found = []
    for cell in ordered_keys((_key(group, names) for group in groups), names):
        block = chosen(groups, dict(zip(names, cell)))
        for a, b in _minus(rows, layout.minus):
            one, other = (chosen(block, dict(zip(layout.rows, each))) for each in (a, b))
            if not one or not other:
                continue
            first, second = (only_group(x, "cell", "name it in --columns") for x in (one, other))
            for score in layout.scores:
                difference = paired(first, second, score, layout.when).found
                if difference is not None and not difference.num_diverged:
                    found.append(
                        {
                            "name": _difference_in_words(layout.rows, a, b),
                            "score": score.replace("_", " "),
                            "cell": label(names, cell) if names else "",
                            "mean": difference.mean,
                            "low": difference.low,
                            "high": difference.high,
                        }
                    )
    return pd.DataFrame(found)


def _difference_in_words(rows: Sequence[str], a: Key, b: Key) -> str:
    """A minus B; of B the method, and settings in which it differs."""
    told = {name: other for name, one, other in zip(rows, a, b) if name in KINDS or one != other}
    return f"{label(rows, a)} − {label([*told], tuple(told.values()))}"


def _key(group: Kept, names: Sequence[str]) -> Key:
    return tuple(group.settings[name] for name in names)


def _present(keys: Sequence[Key], names: Sequence[str], groups: Sequence[Kept]) -> list[Key]:
    there = {_key(group, names) for group in groups}
    return [key for key in keys if key in there]


def _minus(rows: Sequence[Key], pairs: Sequence[tuple[str, str]]) -> list[tuple[Key, Key]]:
    """The keys of the rows to subtract; a command line has `/` between the values of a key."""
    by_text = {"/".join(value for value in key if value): key for key in rows}
    found = []
    for a, b in pairs:
        firsts = [text for text in by_text if text != b] if a == EACH else [a]
        for text in (*firsts, b):
            if text not in by_text:
                allowed = f"must be rows of {', '.join(by_text)}"
                raise ParameterError("minus", f"{a}:{b}", allowed)
        found += [(by_text[first], by_text[b]) for first in firsts]
    return found


def _tables(
    block: Sequence[Kept],
    value: Key,
    layout: Layout,
    rows: Sequence[Key],
    columns: Sequence[Key],
    minus: Sequence[tuple[Key, Key]],
) -> str:
    """The tables of one value of `layout.by`, and a line on the population of ±."""
    advice = "name it in --rows, --columns, --by or --where"
    cells = {
        _key(members[0], [*layout.rows, *layout.columns]): only_group(members, "cell", advice)
        for members in partition(block, [*layout.rows, *layout.columns])
    }
    found: list[PairedDifference | None] = []

    def texts(score: str) -> list[list[str]]:
        """The cells of a score by row: scores, then differences."""
        scores = {key: cell.at(score, layout.when) for key, cell in cells.items()}
        lines = [[_spread(scores.get(row + column, {})) for column in columns] for row in rows]
        for (a, b), time in product(minus, times):
            pairs = [
                _difference(cells.get(a + column), cells.get(b + column), score, time)
                for column in columns
            ]
            found.extend(difference for _, difference in pairs)
            lines.append([text for text, _ in pairs])
        return lines

    # The time of the tables first.
    *earlier, last = times_of(block, at(layout.when)) if minus else [at(layout.when)]
    times = [last, *earlier]
    names = [label(layout.rows, row) for row in rows]
    names += [
        f"{label(layout.rows, a)} − {label(layout.rows, b)}"
        + (f", {time.said}" if time is not last else "")
        for (a, b), time in product(minus, times)
    ]
    tables = {score.replace("_", " "): texts(score) for score in layout.scores}
    above = layout.loss_above
    if above is not None:
        tables[f"runs with a sample loss above {above:.4g} or not finite"] = [
            [_unstable(cells.get(row + column), layout) for column in columns] for row in rows
        ]
    condition = {n: display_of(n, v) if n in KINDS else v for n, v in zip(layout.by, value) if v}
    where = ", ".join(filter(None, [_when(block, layout.when), describe(condition, condition)]))
    if layout.columns:
        headings = ["", *(label(layout.columns, column) for column in columns)]
        shown = [
            f"{title[0].upper()}{title[1:]} {where}:\n\n"
            + markdown_table(headings, [(name, *line) for name, line in zip(names, lines)])
            for title, lines in tables.items()
        ]
    else:
        # A column a score; there are no differences of unstable runs.
        height = max(map(len, tables.values()))
        records = [
            [name, *(t[place][0] if place < len(t) else "" for t in tables.values())]
            for place, name in enumerate(names[:height])
        ]
        shown = [f"{where[0].upper()}{where[1:]}:\n\n{markdown_table(['', *tables], records)}"]
    return "\n\n".join([*shown, " ".join(filter(None, [_population(block, found), layout.asked]))])


def _spread(scores: Scores) -> str:
    if not scores:
        return NOTHING
    return _diverged(scores.values()) or spread_text(summarised(scores))


def _difference(
    a: Kept | None, b: Kept | None, score: str, when: Time
) -> tuple[str, PairedDifference | None]:
    """A minus B over common pairs with its 95% interval, and the difference behind it."""
    both = None if a is None or b is None else paired(a, b, score, when)
    if both is None or both.found is None:
        return NOTHING, None
    found, common = both.found, both.common
    if found.num_diverged:
        return f"diverged {found.num_diverged} of {len(common)}", None
    some = f" ({len(common)} common pairs)" if len(common) < max(len(both.a), len(both.b)) else ""
    return f"{open_interval(found, 3)}{some}", found


def _diverged(values: Iterable[float]) -> str:
    finite = [math.isfinite(value) for value in values]
    return "" if all(finite) else f"diverged {finite.count(False)} of {len(finite)}"


def _unstable(cell: Kept | None, layout: Layout) -> str:
    if cell is None or layout.loss_above is None:
        return NOTHING
    losses = cell.at("sample_loss", layout.when).values()
    return f"{sum(not loss <= layout.loss_above for loss in losses)} of {len(losses)}"


def _population(groups: Sequence[Kept], found: Sequence[PairedDifference | None]) -> str:
    """A line on the populations of ± and of the intervals."""
    counts = counted(group.courses for group in groups)
    said = [f"± over {counts}" if any(len(group.courses) > 1 for group in groups) else counts]
    if intervals := of_intervals(found):
        several = sum(each is not None for each in found) > 1
        nominal = ", not corrected for their number" if several else ""
        said.append(f"95% {intervals}{nominal}")
    if any(_one_availability(group) for group in groups):
        said.append(ONE_AVAILABILITY)
    return f"{'; '.join(said)}."


def _one_availability(group: Kept) -> bool:
    """Whether runs of all seeds share one draw of the availability (R13)."""
    name, reading = "availability_draws", group.setting("reading")
    value = group.setting(name)
    if not value and reading in PRESETS:
        value = readings()[name].reading.value(reading)
    return value == "by_round_only"


def _when(groups: Sequence[Kept], when: When) -> str:
    every = {tuple(each["round"]) for group in groups for each in group.courses.values()}
    if when == BEST:
        return f"at the best of {max(map(len, every))} evaluations"
    if when == CHANGE:
        return "by mean size of change between evaluations, over their second half"
    if when == SECOND_HALF:
        half = {rounds[len(rounds) // 2 :] for rounds in every}
        if len(half) > 1:
            return "in the mean of the second half of the kept evaluations"
        first, *others = half.pop()
        return f"in the mean of the {1 + len(others)} evaluations from round {first} on"
    if when == "mean_of_last_10_percent":
        last = {rounds[-count_of_last_10_percent(len(rounds)) :] for rounds in every}
        if len(last) > 1:
            return "in the mean of the last 10% of the kept evaluations"
        rounds = list(map(str, last.pop()))
        return f"in the mean of round{'s' * (len(rounds) > 1)} {', '.join(rounds)}"
    ends = {when if isinstance(when, int) else rounds[-1] for rounds in every}
    return f"at round {ends.pop()}" if len(ends) == 1 else "at the last round of each run"


def _list(text: str | None) -> list[str]:
    return [each.strip() for each in text.split(",")] if text else []


def _pair(text: str | None, pair: str) -> tuple[str, str]:
    a, colon, b = pair.partition(":")
    if not (a and colon and b):
        raise ParameterError("minus", text, "must be pairs such as f3ast:fedavg")
    return a, b


if __name__ == "__main__":
    sys.exit(main(sys.argv))
