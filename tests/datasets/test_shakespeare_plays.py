"""The parser on a page in the etext's form, and stage directions."""

from __future__ import annotations

import pytest

from f3ast_tff.datasets.shakespeare_plays import Role, before_gap, parse_roles, without_directions
from tests.datasets.shakespeare_works import END, ERRORS, HEAD, OTHELLO, SONNETS, play, works


@pytest.fixture(scope="module")
def roles() -> dict[tuple[str, str], Role]:
    found = parse_roles(works(OTHELLO, ERRORS))
    return {(role.play.split()[-1], role.name): role for role in found}


def test_roles_of_each_play(roles: dict[tuple[str, str], Role]) -> None:
    """Lists of persons, headings, directions, sonnets and joint speeches give no role."""
    assert list(roles) == [
        ("VENICE", "RODERIGO"),
        ("VENICE", "IAGO"),
        ("VENICE", "SIR TOBY"),
        ("VENICE", "FIRST SERVING-MAN"),
        ("VENICE", "MRS. OVERDONE"),
        ("VENICE", "1. SEN"),
        ("ERRORS", "AEGEON"),
        ("ERRORS", "DUKE"),
        ("ERRORS", "ADRIANA"),
    ]
    assert roles["VENICE", "IAGO"].play == "THE TRAGEDY OF OTHELLO, MOOR OF VENICE"


def test_a_notice_within_a_speech_goes(roles: dict[tuple[str, str], Role]) -> None:
    assert roles["VENICE", "RODERIGO"].speeches[0] == (
        "Tush, never tell me! I take it much unkindly\n"
        "That thou, Iago, who hast had my purse\n"
        "As if the strings were thine, shouldst know of this."
    )


def test_directions_within_a_speech_go(roles: dict[tuple[str, str], Role]) -> None:
    """The speech continues after a direction; a cue far from its words is no direction."""
    assert roles["VENICE", "IAGO"].speeches[:2] == (
        "'Sblood, but you will not hear me.\nIf ever I did dream\nOf such a matter, abhor me.",
        "Despise me if I do not.",
    )
    assert roles["VENICE", "FIRST SERVING-MAN"].speeches == ("Thieves! Thieves!",)


def test_cues_of_odd_forms(roles: dict[tuple[str, str], Role]) -> None:
    assert roles["VENICE", "1. SEN"].speeches == ("My lord.",)
    assert roles["VENICE", "MRS. OVERDONE"].speeches == ("What's a-do here?",)
    assert roles["VENICE", "RODERIGO"].speeches[1:] == (
        "This cue stands in the wrong columns.",
        "No blank after the stop.",
    )
    assert roles["VENICE", "IAGO"].speeches[2:] == ("A cue with no words on its line.",)


def test_cues_in_the_first_column(roles: dict[tuple[str, str], Role]) -> None:
    assert roles["ERRORS", "AEGEON"].speeches == (
        "Proceed, Solinus, to procure my fall,\nAnd by the doom of death end woes and all.",
        "Yet this my comfort.",
    )
    assert roles["ERRORS", "DUKE"].speeches == (
        "Merchant of Syracuse, plead no more;\nSome time. I am not partial to infringe our laws.",
    )


def test_names_are_matched_in_capitals_but_not_completed() -> None:
    """ "SIR Toby" and "SIR TOBY" are one role; "Ham.", "Haml." and "HAMLET." are three."""
    cues = ["SIR Toby", "HAMLET", "Ham", "SIR TOBY", "Haml"]
    found = parse_roles(works(play("HAMLET", [(cue, f"I am {cue}.") for cue in cues])))
    assert [(role.name, len(role.speeches)) for role in found] == [
        ("SIR TOBY", 2),
        ("HAMLET", 1),
        ("HAM", 1),
        ("HAML", 1),
    ]


def test_a_role_that_begins_as_all_does_is_one() -> None:
    """Wall and Allan are roles; All is none."""
    found = parse_roles(works(play("A DREAM", [("WALL", "O."), ("ALLAN", "O."), ("All", "O.")])))
    assert [role.name for role in found] == ["WALL", "ALLAN"]


def test_a_work_with_one_role_is_no_play() -> None:
    alone, two = play("ALONE", [("I", "Me.")]), play("TWO", [("A", "You."), ("B", "Me.")])
    assert {role.play for role in parse_roles(works(alone, two))} == {"TWO"}


def test_client_ids_are_leafs() -> None:
    role = Role("LOVE'S LABOUR'S LOST", "1. LORD", ("One.", "Two two."))
    assert role.client_id == "LOVE_S_LABOUR_S_LOST_1_LORD"
    assert role.num_characters == 4 + 8


@pytest.mark.parametrize(
    "text, why",
    [
        ("", "no line says"),
        ("\0\1\2", "no line says"),
        ("Call me Ishmael.\n" * 100, "no line says"),
        (HEAD + SONNETS + END, "no work in it has two"),
        (HEAD + OTHELLO + ERRORS, "cut off"),
        (works(OTHELLO, ERRORS)[:-600], "cut off"),
        (works(OTHELLO)[: works(OTHELLO).index("Despise me")], "cut off"),
    ],
)
def test_what_is_not_the_works_is_refused(text: str, why: str) -> None:
    with pytest.raises(ValueError, match=why):
        parse_roles(text)


def spoken(*lines: str) -> list[str]:
    """Returns the remaining lines, without indents and blank lines."""
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


@pytest.mark.parametrize(
    ("lines", "kept"),
    [
        # A direction ends at a blank line or a lesser indent; an exit is one line.
        (["         Enter a MESSENGER", "    News, my lord."], ["News, my lord."]),
        (["", "    Enter a lord", "", "    News, my lord."], ["News, my lord."]),
        (["Enter a lord", "  LORD. News."], ["LORD. News."]),
        (["    Exit.", "    News, my lord."], ["News, my lord."]),
        # An indented cue ends a direction too.
        (["", "    Enter HERALD", "    SENTINEL. Arm! arm!"], ["SENTINEL. Arm! arm!"]),
        # Brackets go from within a line, or over lines; one that is not closed ends at its line.
        (
            ["    servants to you!  [To HELENA]  Be comfortable"],
            ["servants to you! Be comfortable"],
        ),
        (["    [Aside]  One that goes with him."], ["One that goes with him."]),
        (["    Alas!      [Thunder]  The storm"], ["Alas! The storm"]),
        (["    Stay. [He draws", "      his sword] Now die."], ["Stay.", "Now die."]),
        (["    Farewell. [Exit", "    Adieu."], ["Farewell.", "Adieu."]),
    ],
)
def test_where_directions_end(lines: list[str], kept: list[str]) -> None:
    assert spoken(*lines) == kept


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
