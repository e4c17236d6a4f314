"""How a CSV file is written: separators, lines before the names, encodings, decimal marks."""

from __future__ import annotations

import pytest

from f3ast_tff.files.csv_text import csv_text


@pytest.mark.parametrize(
    ("content", "separator", "first", "decimal"),
    [
        (b"a,b\n1,2\n", ",", 1, "."),
        (b"a;b\n1,5;2\n", ";", 1, ","),
        (b"a;b\n1.5;2\n", ";", 1, "."),
        (b"a\tb\n1,5\t2\n", "\t", 1, ","),
        (b"a|b\n1|2\n", "|", 1, "."),
        (b"| a | b |\n", ",", 1, "."),
        # As often in each line, though another stands more often in the first.
        (b"a, b, c;d\n1;2\n3;4\n", ";", 1, "."),
        (b'"a;b;c",d\n1,2\n', ",", 1, "."),
        # Thousands, unless one is none.
        (b"a;b\n1,012;2\n", ";", 1, "."),
        (b"a;b\n1,012;2,5\n", ";", 1, ","),
        (b"a;b\n0,012;2\n", ";", 1, ","),
        (b"a;b\n1,2,3;4\n", ";", 1, "."),
        # Lines before the names.
        (b"# of May\n\n# run by us, twice\na,b\n1,2\n", ",", 4, "."),
        (b"sep=;\r\na,b;c\r\n1;2\r\n", ";", 2, "."),
        (b"# of May\nsep=;\na;b\n", ";", 3, "."),
        (b'"sep=,"\na,b\n', ",", 2, "."),
        (b"#a,b\n1,2\n", ",", 1, "."),
        (b"Report of May\n\na,b\n1,2\n", ",", 3, "."),
        # Names of one column.
        (b"a\n0,5\n", ",", 1, "."),
        ("a;b\n1;2\n".encode("utf-16"), ";", 1, "."),
        (b"\xef\xbb\xbfa;b\n1;2\n", ";", 1, "."),
        ("a;é\n1;2\n".encode("latin-1"), ";", 1, "."),
        (b"", ",", 1, "."),
    ],
)
def test_separator_first_line_and_decimal_mark(
    content: bytes, separator: str, first: int, decimal: str
) -> None:
    found = csv_text(content)
    assert (found.separator, found.first, found.decimal) == (separator, first, decimal)
    assert found.content.startswith((b"a", b'"a', b"| a")) or not content
