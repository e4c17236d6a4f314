"""Stage directions in the shapes that the etext has them, each beside speech that stays."""

from __future__ import annotations

import pytest

from f3ast_tff.datasets.shakespeare_plays import before_gap, without_directions


def spoken(*lines: str) -> list[str]:
    """The lines left, without indents and blank lines."""
    return [line.strip() for line in without_directions(lines) if line.strip()]


@pytest.mark.parametrize(
    "lines",
    [
        ["                    Enter PAROLLES"],
        ["                                           Stabs himself."],
        ["      EROS following"],
        ["    Exeunt"],
        ["    Re-enter POSTHUMUS"],
        ["Flourish. Enter the King", "    and others."],
        ["", "    Enter an officer, and three or four", "    Citizens with clubs"],
        ["", "    The trumpets sound, and the KING enters", "    with his nobles"],
        ["          Enter a MESSENGER, with", "            letters and", "          a torch"],
        ["    [They fight]"],
        ["    [They fight, and", "      she dies]"],
        ["    1. A lively flourish of trumpets."],
    ],
)
def test_directions_go(lines: list[str]) -> None:
    assert spoken(*lines, "", "    To be or not to be.") == ["To be or not to be."]


@pytest.mark.parametrize(
    "lines",
    [
        ["    A speech", "    Enter our gates; dispose of us and ours;"],
        ["    A speech", "    Dies in his own too-much."],
        ["             Over hill, over dale,", "               Thorough bush, thorough brier,"],
        ["", "    YOU are all resolv'd rather to die than to famish?"],
        ["  KING. Exeunt omnes is no speech."],
    ],
)
def test_speeches_and_songs_stay(lines: list[str]) -> None:
    assert spoken(*lines) == [line.strip() for line in lines if line]


def test_a_direction_ends_at_a_blank_line_or_a_lesser_indent() -> None:
    assert spoken("         Enter a MESSENGER", "    News, my lord.") == ["News, my lord."]
    assert spoken("", "    Enter a lord", "", "    News, my lord.") == ["News, my lord."]
    assert spoken("Enter a lord", "  LORD. News.") == ["LORD. News."]


def test_an_exit_is_one_line() -> None:
    assert spoken("    Exit.", "    News, my lord.") == ["News, my lord."]


def test_an_indented_cue_ends_a_direction() -> None:
    lines = ("    Enter HERALD", "    SENTINEL. Arm! arm!")
    assert spoken("", *lines) == ["SENTINEL. Arm! arm!"]


def test_brackets_go_from_within_a_line() -> None:
    assert spoken("    servants to you!  [To HELENA]  Be comfortable") == [
        "servants to you! Be comfortable"
    ]
    assert spoken("    [Aside]  One that goes with him.") == ["One that goes with him."]
    assert spoken("    Alas!      [Thunder]  The storm") == ["Alas! The storm"]


def test_a_bracket_over_lines_leaves_the_words_around_it() -> None:
    assert spoken("    Stay. [He draws", "      his sword] Now die.") == ["Stay.", "Now die."]


def test_a_bracket_that_is_not_closed_ends_at_its_line() -> None:
    assert spoken("    Farewell. [Exit", "    Adieu.") == ["Farewell.", "Adieu."]


def test_as_many_lines_as_before() -> None:
    lines = ["  A. Stay. [He", "  draws", "  now] Go.", "", "   Exit"]
    assert len(without_directions(lines)) == 5


@pytest.mark.parametrize(
    "words, kept",
    [
        ("    Heaven bless him!            Exit  ", "Heaven bless him!"),
        ("your   father.", "your"),
        ("sport  enough,  sir", "sport enough, sir"),
        ("", ""),
    ],
)
def test_before_gap(words: str, kept: str) -> None:
    assert before_gap(words) == kept
