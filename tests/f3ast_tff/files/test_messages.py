"""One-line messages that a terminal can show."""

from __future__ import annotations

import logging

import pytest

from f3ast_tff.core.errors import ParameterError
from f3ast_tff.files.messages import LineFormatter, is_plain, one_line, printable, show
from f3ast_tff.files.progress import say
from f3ast_tff.settings import Parameter


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a\nb\t c  d", "a b c d"),
        ("\x1b[2Jx\x07", "?[2Jx?"),
        ("\u202eabc\ud800", "?abc?"),
        ("Zoë, 日本", "Zoë, 日本"),
        ("x" * 300, "x" * 300),
        ("9" * 5000, "9" * 150 + "...(5000 characters)"),
    ],
)
def test_one_line(text: str, expected: str) -> None:
    assert one_line(text) == expected


def test_a_long_text_is_cut() -> None:
    assert len(one_line("word " * 10_000)) < 2100


def test_lines_stay_and_nothing_moves_the_cursor_or_reverses_the_text(
    capsys: pytest.CaptureFixture[str],
) -> None:
    show("a\n b\x1b[2J\x9b3m\r\u202ec\u2066\u200f Zoë, 日本", end="|")
    say("d\x1b]0;e\x07")
    assert capsys.readouterr() == ("a\n b?[2J?3m??c?? Zoë, 日本|", "d?]0;e?\n")
    assert printable("") == ""


def test_log_records() -> None:
    record = logging.LogRecord("x", logging.WARNING, "", 0, "a\nb\x1b %s", ("c\r",), None)
    assert LineFormatter("%(levelname)s: %(message)s").format(record) == "WARNING: a b? c"


@pytest.mark.parametrize("value", ["a\nb", "\x1b[2J", "\0", "a\x7f"])
def test_no_text_setting_takes_control_characters(value: str) -> None:
    assert not is_plain(value)
    with pytest.raises(ParameterError, match="must not hold control characters"):
        Parameter("run_name", str, False, "x", "").checked(value)


def test_a_text_of_another_encoding_is_named_as_such() -> None:
    """Python in the locale C reads an é like this."""
    value = b"caf\xc3\xa9".decode("ascii", "surrogateescape")
    with pytest.raises(ParameterError, match="must be UTF-8, in a locale of UTF-8, such as LC_ALL"):
        Parameter("run_name", str, False, "x", "").checked(value)
