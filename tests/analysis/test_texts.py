"""Texts that name the population an interval covers."""

from __future__ import annotations

import io
from pathlib import Path

import pandas as pd
import pytest

from f3ast_tff.analysis.compare.paired_difference import PairedDifference
from f3ast_tff.analysis.compare.scored import Score
from f3ast_tff.analysis.run_groups import collect
from f3ast_tff.analysis.texts import (
    broken,
    csv_text,
    file_stem,
    markdown_table,
    markdown_text,
    of_intervals,
    of_spread,
    over,
    read_csv,
    wrapped,
)
from tests.analysis.conftest import MakeRun


def difference(num_pairs: int, num_draws: int) -> PairedDifference:
    return PairedDifference(0.1, 0.1, num_pairs, num_draws)


def test_over() -> None:
    assert over(difference(24, 12)) == "12 draws"
    assert over(difference(3, 1)) == "3 seeds"
    assert over(Score(0.5, 0.1, 1, 1)) == "1 seed"
    assert over(None) == "–"


def test_intervals_over_draws_and_over_seeds_are_told_apart() -> None:
    seeds, six, nine = difference(3, 1), difference(6, 6), difference(18, 9)
    assert of_intervals([seeds, None]) == "intervals cover seeds of one draw of the data"
    assert of_intervals([six, nine]) == ("intervals cover draws of the data, 6 to 9 of them")
    assert of_intervals([six, seeds]) == (
        "intervals cover draws of the data, 6 of them, or (rows that count seeds) seeds of one "
        "draw of the data"
    )
    assert of_intervals([None]) == ""


def test_spread_names_the_shared_availability(make_run: MakeRun, tmp_path: Path) -> None:
    make_run("a", seed=0)
    make_run("b", seed=1)
    make_run("c", algorithm="poc", data_seed=0)
    make_run("d", algorithm="poc", data_seed=1)
    groups = collect(tmp_path).groups
    assert of_spread(groups) == "± over 2 draws of the data or 2 seeds of one draw of the data"
    make_run("e", algorithm="fedavg", availability_draws="by_round_only")
    assert "share one draw of the availability" in of_spread(collect(tmp_path).groups)


def test_no_cell_is_a_formula_and_all_are_read_back() -> None:
    """Numbers stay as they are, also negative ones and numbers in texts."""
    texts = ["=1+1", "+1+cmd|x", "-2+3", "@SUM(A1)", "'a", "''", "'=1", "a=1", "-0.5", "", "é, \n"]
    table = pd.DataFrame({"=HYPERLINK(1)": texts, "n": [-0.25 * k for k in range(len(texts))]})
    written = csv_text(table)
    live = ("=", "+", "@")
    cells = pd.read_csv(io.StringIO(written), dtype=str, keep_default_na=False)
    assert not any(cell.startswith(live) for cell in [*cells.iloc[:, 0], *cells.columns])
    assert [cell for cell in cells.iloc[:, 0] if cell.startswith("-")] == ["-0.5"]
    assert cells["n"].tolist() == [str(value) for value in table["n"]]
    back = read_csv(written)
    assert list(back) == list(table)
    assert back["=HYPERLINK(1)"].tolist() == texts
    plain = pd.DataFrame({"method": ["F3AST", None], "score": [0.5, -1.0]})
    assert csv_text(plain) == plain.to_csv(index=False, lineterminator="\n")
    # A 5 beside None of a column of objects stays 5.
    assert csv_text(pd.DataFrame({"quorum": [5, None]}, dtype=object)) == 'quorum\n5\n""\n'


def test_long_lines_of_text_and_commands_are_broken_and_tables_are_not() -> None:
    text, table = " ".join(["word"] * 30), f"| {'cell ' * 30}|"
    code = f"```text\n{text}\n```"
    page = f"{text}\n\n{table}\n\n{code}\n"
    lines = wrapped(page).split("\n")
    assert lines[:2] == [" ".join(["word"] * 20), " ".join(["word"] * 10)]
    assert lines[2:] == page.split("\n")[1:]
    assert broken(f"run {'--flag=value ' * 8}").split("\n") == [
        f"run {'--flag=value ' * 7}\\",
        "  --flag=value",
    ]


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("<img src=x onerror=a>", "&lt;img src=x onerror=a>"),
        ("![a](http://x)", r"!\[a\](http://x)"),
        ("# a\n|b|", r"\# a<br>\|b\|"),
        ("`a` *b* _c_ ~~d~~ &lt;", r"\`a\` \*b\* \_c\_ \~\~d\~\~ &amp;lt;"),
        ("a\u202eb\x1b", "a?b?"),
    ],
)
def test_a_plain_text_has_no_markup(text: str, shown: str) -> None:
    assert markdown_text(text) == shown


def test_a_cell_in_markdown_has_no_tag_link_or_column() -> None:
    cells = ["`--flag=a` 0.1 [0.0, 0.2]", "<img onerror=a>", "![a](b) | c"]
    assert markdown_table(cells, []).splitlines()[0] == (
        r"| `--flag=a` 0.1 [0.0, 0.2] | \<img onerror=a> | ![a\](b) \| c |"
    )


def test_every_text_names_a_file() -> None:
    texts = ["cifar10", "a/b", "a_b", "../x", "x" * 300, "\x00", "Zoë", "日本", "本日"]
    stems = [file_stem(text) for text in texts]
    assert stems[0] == "cifar10" and len({*stems}) == len(texts)
    assert all("/" not in stem and stem.isascii() and len(stem) < 120 for stem in stems)
