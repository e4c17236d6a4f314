"""Numbers, differences and their draws, written as in all tables."""

from __future__ import annotations

import hashlib
import io
import math
import re
import textwrap
from collections.abc import Collection, Iterable, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from f3ast_tff.analysis.compare.independent_difference import IndependentDifference
from f3ast_tff.analysis.compare.paired_difference import PairedDifference
from f3ast_tff.analysis.compare.scored import Pair, Score
from f3ast_tff.analysis.run_groups import RunGroup
from f3ast_tff.files.atomic import atomic_write
from f3ast_tff.files.messages import printable
from f3ast_tff.records.metrics import users_said

NOTHING = "–"
NOT_RUN = "not run"
# Width of a page's text and commands, in columns.
_COLUMNS = 100
_FEWEST_FOR_SIGNS = 8
# Larger numbers have fewer decimals, because four would make tables too wide.
_LARGE = 100.0
_LONGEST_STEM = 100
# A bar, the start of a tag, and the middle of a link or a picture.
_MARKUP = re.compile(r"\||<(?=[A-Za-z/!?])|\](?=[(\[:])")


def number(value: float | None) -> str:
    """Returns a score with four decimals, or the reason why there is none."""
    if value is None:
        return NOT_RUN
    if math.isnan(value):
        return "diverged"
    return f"{value:.1e}" if abs(value) >= _LARGE else f"{value:.4f}"


def spread_text(score: Score) -> str:
    """Returns mean ± standard deviation."""
    spread = "" if math.isnan(score.deviation) else f" ± {number(score.deviation)}"
    return f"{number(score.mean)}{spread}"


def interval(found: PairedDifference | None, decimals: int = 4) -> str:
    """Returns mean [low, high] of a difference."""
    if found is None:
        return NOTHING
    if found.num_diverged:
        return f"diverged in {found.num_diverged} of {found.num_pairs}"
    mean, low, high = (
        f"{value:+.1e}" if abs(value) >= _LARGE else f"{value:+.{decimals}f}"
        for value in (found.mean, found.low, found.high)
    )
    return f"{mean} [{low}, {high}]"


def open_interval(found: PairedDifference, decimals: int = 4) -> str:
    """Returns `interval`; with 8 draws or more and 0 in it also median and signs."""
    text = interval(found, decimals)
    if (
        found.num_diverged
        or found.num_draws < _FEWEST_FOR_SIGNS
        or not found.low <= 0 <= found.high
    ):
        return text
    counted = f"{found.num_above} of {found.num_draws} above 0"
    return f"{text}, median {found.median:+.{decimals}f}, {counted}"


def median_and_signs(found: PairedDifference, decimals: int = 4) -> str:
    """Returns median, signs and outliers of a difference over draws (seeds with one draw).

    They stand beside a mean whose interval contains 0; `""` for fewer than 8 draws, or no median.
    """
    if found.num_units < _FEWEST_FOR_SIGNS or math.isnan(found.median):
        return ""
    what = "draws" if found.num_draws > 1 else "seeds"
    above = f"{found.num_above} of {found.num_units} {what} above 0"
    text = f"median {found.median:+.{decimals}f}, {above} (sign test p = {found.sign_p_value:.2g})"
    if found.outliers:
        far = ", ".join(f"{name} ({value:+.{decimals}f})" for name, value in found.outliers)
        text += f", outliers: {what[:-1]} {far}"
    return text


def p_text(found: PairedDifference | None) -> str:
    """Returns a p value."""
    return p_value_text(math.nan if found is None else found.p_value)


def p_value_text(value: float) -> str:
    """Returns a p value with four decimals; NaN for none."""
    if math.isnan(value):
        return NOTHING
    return "< 0.0001" if value < 1e-4 else f"{value:.4f}"


def over(found: PairedDifference | Score | None) -> str:
    """Returns the population of a number, such as `12 draws` or `3 seeds`; `–` without a number."""
    if found is None:
        return NOTHING
    if isinstance(found, IndependentDifference):
        return f"{found.num_a} and {found.num_b} runs, not paired"
    if found.num_draws > 1:
        return f"{found.num_draws} draws"
    runs = found.num_pairs if isinstance(found, PairedDifference) else found.num_runs
    return f"{runs} seed{'s' * (runs != 1)}"


def counted(cells: Iterable[Collection[Pair]]) -> str:
    """Returns the population of the means of cells, such as `12 draws of the data`.

    A cell with several draws counts draws, a cell with one draw counts its seeds.
    """
    draws: list[int] = []
    seeds: list[int] = []
    own_seeds = True
    for pairs in cells:
        num_draws = len({pair.draw for pair in pairs})
        if num_draws > 1:
            draws.append(num_draws)
            own_seeds &= len({pair.seed for pair in pairs}) == len(pairs) == num_draws
        else:
            seeds.append(len(pairs))
    parts = []
    if draws:
        own = ", each with its own seed" if own_seeds else ""
        parts.append(f"{_range(draws)} draws of the data{own}")
    if seeds:
        parts.append(f"{_range(seeds)} seed{'s' * (max(seeds) > 1)} of one draw of the data")
    return " or ".join(parts)


def of_intervals(found: Iterable[PairedDifference | None], shared: bool = False) -> str:
    """Returns the population that the intervals of a table cover, `""` if it has none.

    `shared` tells whether runs share one draw of the availability (`one_availability`).
    """
    there = [each for each in found if each is not None]
    draws = [each.num_draws for each in there if each.num_draws > 1]
    parts = [f"draws of the data, {_range(draws)} of them"] if draws else []
    if len(draws) < len(there):
        parts.append("seeds of one draw of the data")
    if not parts:
        return ""
    text = f"intervals cover {', or (rows that count seeds) '.join(parts)}"
    return f"{text}; {ONE_AVAILABILITY}" if shared else text


def of_spread(groups: Sequence[RunGroup]) -> str:
    """Returns the population of ± in a table of these groups, of which there is at least one."""
    text = f"± over {counted(group.runs for group in groups)}"
    return f"{text}; {ONE_AVAILABILITY}" if one_availability(groups) else text


def scored_on(groups: Iterable[RunGroup]) -> str:
    """Returns the data that scores of these groups are of: test data, or held-out clients."""
    held_out = {group.setting("held_out_clients") is not None for group in groups}
    if len(held_out) > 1:
        return "test data (with held_out_clients: on held-out training clients)"
    return "held-out training clients" if held_out == {True} else "test data"


ONE_AVAILABILITY = (
    "runs under R13's by_round_only share one draw of the availability, which is not covered"
)


def one_availability(groups: Iterable[RunGroup]) -> bool:
    """Whether runs of all seeds share one draw of the availability (R13)."""
    return any(group.setting("availability_draws") == "by_round_only" for group in groups)


def users_scored(groups: Iterable[RunGroup], *, if_not_all: bool = False) -> str:
    """Returns whom user scores of these groups are over, in a sentence; `""` if no run says it.

    With `if_not_all` only a warning that clients without a test example are left out, else `""`.
    """
    said = users_said(run.summary or {} for group in groups for run in group.runs.values())
    return f"User scores are over {said}." if " of " in said or said and not if_not_all else ""


def several_versions(groups: Iterable[RunGroup]) -> str:
    """Names the versions of this library that made the runs if they are several, else `""`."""
    found = {run.version for group in groups for run in group.runs.values() if run.version}
    if len(found) < 2:
        return ""
    return (
        f"Versions {', '.join(sorted(found))} of this library made the runs; results of one "
        "experiment may differ between versions, see CHANGELOG.md."
    )


def write_csv(table: pd.DataFrame, path: Path | str) -> None:
    """Writes a table as UTF-8, see `csv_text`; on an error an existing file stays."""
    with atomic_write(Path(path), encoding="utf-8", newline="") as file:
        file.write(csv_text(table))


def csv_text(table: pd.DataFrame) -> str:
    """Returns a table as CSV without formulas for spreadsheets; `read_csv` reads it back.

    A text gets a leading apostrophe if a spreadsheet would take it for a formula, or if it already
    has one. Numbers stay the same.
    """
    texts = [str(name) for name, dtype in table.dtypes.items() if dtype.kind == "O"]
    # No `map`, which makes 5.0 of a 5 beside None.
    cells = {name: [_no_formula(cell) for cell in table[name]] for name in texts}
    plain = table.assign(**{n: pd.Series(each, table.index, object) for n, each in cells.items()})
    plain.columns = plain.columns.map(_no_formula)
    return plain.to_csv(index=False, lineterminator="\n")


def read_csv(text: str) -> pd.DataFrame:
    """Returns the cells of a `csv_text` as texts; gaps are empty texts."""
    table = pd.read_csv(io.StringIO(text), dtype=str, keep_default_na=False)
    if "'" not in text:
        return table
    table.columns = table.columns.map(_as_it_was)
    return table.apply(lambda column: column.map(_as_it_was))


# First characters of formulas; an apostrophe marks texts.
_LIVE = ("=", "+", "-", "@", "\t", "\r", "'")


def _no_formula(cell: Any) -> Any:
    if not isinstance(cell, str) or not cell.startswith(_LIVE):
        return cell
    try:
        float(cell)
    except ValueError:
        return f"'{cell}"
    return cell


def _as_it_was(cell: str) -> str:
    return cell[1:] if cell.startswith("'") else cell


def markdown_text(text: str) -> str:
    """Returns a plain text as Markdown that shows it: in cells, headings and paragraphs.

    No name in it makes a tag, a link, a picture, a heading or a column. A newline is a line break.
    """
    text = printable(text).replace("&", "&amp;").replace("<", "&lt;")
    return "".join(f"\\{c}" if c in "\\|*_[]`#~" else c for c in text).replace("\n", "<br>")


def file_stem(text: str) -> str:
    """Returns a file's name without ending for any text: of letters, digits, `_`, `-` and dots.

    Texts that differ have names that differ.
    """
    plain = re.sub(r"[^A-Za-z0-9_.-]", "_", text)[:_LONGEST_STEM]
    return (
        plain
        if plain == text
        else f"{plain}_{hashlib.sha256(text.encode(errors='surrogatepass')).hexdigest()[:8]}"
    )


def markdown_table(headings: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Returns a Markdown table of cells in Markdown; bars, tags and links show as texts."""
    cells = [[_MARKUP.sub(r"\\\g<0>", cell) for cell in row] for row in (headings, *rows)]
    lines = ["|" + "|".join(f" {cell} " if cell else " " for cell in row) + "|" for row in cells]
    return "\n".join([lines[0], "|" + "---|" * len(headings), *lines[1:]])


def wrapped(page: str) -> str:
    """Returns Markdown with its long lines of text wrapped; tables, HTML and code stay."""
    lines = []
    in_code = False
    for line in page.split("\n"):
        in_code ^= line.startswith("```")
        is_text = len(line) > _COLUMNS and not in_code and not line.startswith(("|", "<", "#"))
        lines.append(_broken(line, _COLUMNS) if is_text else line)
    return "\n".join(lines)


def broken(command: str) -> str:
    """Returns a command broken into as many lines as needed."""
    return _broken(command, _COLUMNS - len(" \\"), indent="  ").replace("\n", " \\\n")


def _broken(line: str, width: int, indent: str = "") -> str:
    return textwrap.fill(
        line, width, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False
    )


def _range(counts: Sequence[int]) -> str:
    fewest, most = min(counts), max(counts)
    return f"{fewest} to {most}" if fewest < most else f"{most}"
