"""Reads a table of scores: CSV, parquet, JSON lines or JSON, by its ending, else as CSV."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

import pandas as pd

from f3ast_tff.analysis.compare.scored import RunsError
from f3ast_tff.analysis.compare.table_cells import INDEX, as_number, is_measured, is_text, labelled
from f3ast_tff.analysis.compare.table_directions import is_bare_measure
from f3ast_tff.analysis.compare.table_objects import how_to_read
from f3ast_tff.analysis.compare.table_shapes import NO_MEANS
from f3ast_tff.availability.logs.json_tables import frame_of_objects
from f3ast_tff.files.csv_text import csv_text
from f3ast_tff.files.data_files import MAX_TEXT_BYTES, json_in, read_text
from f3ast_tff.files.messages import one_line
from f3ast_tff.files.packed_files import form_of, read_packed
from f3ast_tff.files.table_files import csv_table, read_parquet

_JSON = (".json", ".jsonl", ".ndjson")
_BINARY = re.compile(r"\.(xlsx?|ods|dta|sav|sas7bdat|rds|rdata|feather|arrow|pkl|h5)")
# Digits of the largest float.
_FLOAT_DIGITS = sys.float_info.max_10_exp
_ROWS = "it must hold an object per row, in an array or one per line"
_IMPORTS = "In pandas (import json, pandas as pd; from pathlib import Path)"
_NO_NAMES = "its first line is not the names of its columns: begin it with #"
# Between cells of LaTeX, and from the end of a row on.
_OF_LATEX = re.compile(r"(?<!\\)&|\\\\(?!\w).*")
# Below the names of Markdown's tables, and of psql's; lines of a file in which it is looked for.
_RULE, _LOOKED_AT = re.compile(r"\s*(?=.*-)[-|:+ ]{3,}\s*"), 50
# A cell of Markdown or LaTeX in bold, in italics or the like.
_MARKED = re.compile(r"(\*\*|__|`|\*|\$)(?P<inner>.*)\1|\\\w+\{(?P<of_latex>.*)\}")
_SPACED = r"[-+\u2212]?(?:\d{1,3}(?:\s?\d{3})*)?(?:[.,]\d+)?(?:\s*%)?"
_NO_ASCII = r"[\u2212\s]"
_DECIMAL_COMMA = r"[-+]?\d*,\d+(?:[eE][-+]?\d+)?\s*%?"


def read_table(path: Path) -> pd.DataFrame:
    """Returns the table of a file; its index names lines (rows from 1 in parquet and JSON arrays).

    In CSV, commas, semicolons or tabs separate cells; without commas between cells, numbers may
    have decimal commas. A column of percentages holds their numbers. An empty cell is a score that
    was not measured, `nan` one of a run that diverged.

    Raises:
        RunsError: If the file cannot be read, or is no table.
    """
    kind = form_of(path)
    if path.is_dir():
        other = "f3ast-tff compare reads folders of runs, docs/judge.md says how to read others"
        raise RunsError(f"{path} is a folder, not a table; {other}")
    try:
        if _BINARY.fullmatch(kind):
            raise ValueError("save it as CSV")
        if kind == ".parquet":
            return _numbered(labelled(read_parquet(path)), 1)
        if kind in _JSON:
            return _of_json(read_text(path), str(path))
        return _of_csv(read_packed(path, MAX_TEXT_BYTES), str(path))
    except OSError as error:
        raise RunsError(f"cannot read {path}: {error.strerror or error}") from error
    except ValueError as error:
        raise RunsError(f"{path} is no table: {one_line(error)}") from error


def _of_csv(content: bytes, file: str) -> pd.DataFrame:
    """The cells as texts."""
    text = csv_text(content)
    content, separator, skipped = text.content, text.separator, text.first - 1
    content, separator, more = _of_rows(content, separator)
    skipped += more
    if (said := _other_form(content, separator, file)) is not None:
        raise ValueError(said)
    # Blank lines stay, so that rows are counted as lines.
    table = csv_table(
        content,
        sep=separator,
        dtype=str,
        keep_default_na=False,
        skipinitialspace=True,
        skip_blank_lines=False,
    )
    # The first line holds the names.
    table = _numbered(table.rename(columns=_unmarked), 2 + skipped)
    table = table.fillna("").apply(lambda column: column.map(_unmarked))
    table = _with_labels(table[(table != "").any(axis=1)])
    return table.apply(_plain_numbers, between_commas=separator == ",")


def _of_rows(content: bytes, separator: str) -> tuple[bytes, str, int]:
    """The rows of a Markdown or LaTeX table between tabs, and the lines before; else as it is."""
    head = content[: 2**16].decode(errors="replace").split("\n", _LOOKED_AT)[:_LOOKED_AT]
    ruled = any("|" in line and _RULE.fullmatch(rule) for line, rule in zip(head, head[1:]))
    marks = [line.count("&") for line in head[:2]]
    of_latex = head[0].startswith(("\\", "%")) or (marks[0] > 0 and marks[-1] == marks[0])
    if not ruled and not of_latex and not ("&" in head[0] and "\\\\" in head[0]):
        return content, separator, 0
    lines = content.decode().splitlines()
    if ruled:
        rows = [[] if _RULE.fullmatch(line) else line.strip().strip("|").split("|")
                for line in lines]  # fmt: skip
        first = next(place for place, row in enumerate(rows) if not row) - 1
    else:
        rows = [_OF_LATEX.split(line) if _OF_LATEX.search(line) else [] for line in lines]
        first = next((place for place, row in enumerate(rows) if row), 0)
    cells = ("\t".join(cell.replace("\t", " ").strip() for cell in row) for row in rows[first:])
    return "\n".join(cells).encode(), "\t", first


def _other_form(content: bytes, separator: str, file: str) -> str | None:
    """What a table is that is no CSV with a line of names, and how to read it, or `None`."""
    lines = [line.decode(errors="replace").strip() for line in content.split(b"\n", 3)[:3]]
    head, second = [*lines, "", ""][:2]
    if separator not in head:
        # A single column says nothing of methods.
        to_csv = ".to_csv('scores.csv', index=False)"
        if len(head.split()) > 1 and len(second.split()) - len(head.split()) in (0, 1):
            # R writes row names without a name.
            return f"blanks separate it, in pandas: pd.read_csv({file!r}, sep=r'\\s+'){to_csv}"
        if any(separator in line for line in lines[1:] for separator in ",;\t"):
            return _NO_NAMES
        return None
    if (
        len([name for name in head.split(separator) if name.strip(' "')])
        == 1
        < head.count(separator)
    ):
        return _NO_NAMES
    names, below = ([cell.strip(' "\r') for cell in each.split(separator)] for each in lines[:2])
    twice = any(name and names.count(name) > 1 for name in names)
    if not twice or any(as_number(cell) is not None for cell in below if cell):
        return None
    if {"mean", "std"} & {cell.lower() for cell in below}:
        return f"its columns have two lines of names; {NO_MEANS}"
    if any(is_bare_measure(cell) for cell in below):
        read = f"pd.read_csv({file!r}, header=[0, 1], index_col=0).stack(0, future_stack=True)"
        rows = f"{read}.rename_axis(['seed', 'method']).reset_index()"
        return f"its columns have two lines of names; if by seed and method, in pandas: {rows}"
    name = next(name for name in names if names.count(name) > 1)
    read = f"pd.read_csv({file!r}, header=[0, 1], index_col=0)[{name!r}]"
    melt = f".melt('seed', var_name='method', value_name={name!r})"
    rows = f"{read}.rename_axis(index='seed').reset_index(){melt}"
    return f"its columns have two lines of names; if by method and seed, in pandas: {rows}"


def _unmarked(text: str) -> str:
    """A cell without blanks around it, and not in bold."""
    text = text.strip()
    if text[-1:] in ("*", "_", "`", "$", "}") and (found := _MARKED.fullmatch(text)):
        return _unmarked(found["inner"] or found["of_latex"] or "")
    return text


def _with_labels(table: pd.DataFrame) -> pd.DataFrame:
    """The row labels, as pandas writes them, as a column if they do not number the rows.

    Labels that begin anew for each method may be its seeds or its rounds, texts its methods.
    """
    unnamed = "Unnamed: 0"
    if unnamed not in table:
        return table
    if (table[unnamed].is_unique and not is_text(table[unnamed])) or INDEX in table:
        return table.drop(columns=unnamed)
    return table.rename(columns={unnamed: INDEX})


def _plain_numbers(column: pd.Series[str], between_commas: bool) -> pd.Series[str]:
    """Percentages and decimal commas as Python's numbers, if a whole column has them."""
    there = column[column.map(is_measured)]
    if len(there) and there.str.fullmatch(_SPACED).all() and there.str.contains(_NO_ASCII).any():
        # A minus of typesetters, and blanks between thousands or before %.
        column = column.str.replace("\u2212", "-").str.replace(r"\s", "", regex=True)
        there = column[there.index]
    with_comma = there.str.fullmatch(_DECIMAL_COMMA)
    # Beside whole numbers, and between commas, 1,012 may be a thousand and twelve.
    like_thousands = there[with_comma].str.fullmatch(r"[-+]?[1-9]\d{0,2},\d{3}")
    thousands = like_thousands.all() and there[~with_comma].str.fullmatch(r"[-+]?\d+").any()
    thousands |= between_commas and like_thousands.any()
    others = there[~with_comma].str.contains(",").any()
    if with_comma.any() and not others and not thousands:
        column = column.str.replace(",", ".")
    if len(there) and there.str.fullmatch(r"[-+\d.,eE]+\s*%").all():
        column = column.str.replace(r"\s*%$", "", regex=True)
    return column


def _of_json(text: str, file: str) -> pd.DataFrame:
    """Rows of an array of objects, or an object per line."""
    if (found := _one_object(text)) is not None:
        said = how_to_read(found, file)
        raise ValueError(f"from line 1: one object; {_ROWS}{said and f'. {_IMPORTS}, {said}'}")
    if text.lstrip().startswith("["):
        rows = json_in(text, parse_constant=str, parse_int=_integer)
    else:
        rows = [_object(n, line) for n, line in enumerate(text.splitlines(), 1) if line.strip()]
    if not rows or not all(isinstance(row, dict) for row in rows):
        raise ValueError(_ROWS)
    table = frame_of_objects(rows)
    return _numbered(table.where(table.notna(), ""), 1)


def _one_object(text: str) -> dict[str, Any] | None:
    """The object that a text is as a whole, with its line breaks; `None` of rows, and of one."""
    if not text.lstrip().startswith("{"):
        return None
    try:
        found = json_in(text, parse_constant=str, parse_int=_integer)
    except ValueError:
        # Lines of objects, or no JSON, which is said with its line.
        return None
    return found if isinstance(found, dict) else None


def _object(number: int, line: str) -> Any:
    try:
        return json_in(line, parse_constant=str, parse_int=_integer)
    except ValueError as error:
        raise ValueError(f"line {number}: {error}; {_ROWS}") from error


def _integer(digits: str) -> int | str:
    """An integer; as a text if no float, and so no pandas, holds it."""
    value = int(digits)
    return value if len(digits) <= _FLOAT_DIGITS else digits


def _numbered(table: pd.DataFrame, first: int) -> pd.DataFrame:
    if table.empty:
        raise ValueError("it has no rows")
    if not table.columns.is_unique:
        raise ValueError("two columns have the same name")
    return table.set_axis(pd.RangeIndex(first, first + len(table)), axis="index")
