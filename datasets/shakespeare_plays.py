"""The complete works (Project Gutenberg etext 100) cut into plays, speaking roles and speeches."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

# LEAF's heuristic: this line follows the title of every work.
AUTHOR_LINE = "by William Shakespeare"

_NOTICE = re.compile(r"<<[^<>]*>>")
_LAST_LINE = re.compile(r"\W*end of (this|the) ", re.IGNORECASE)
_DIVISION = "ACT|SCENE|PROLOGUE|INDUCTION|EPILOGUE|THE END"
_HEADING = re.compile(rf"(?i:{_DIVISION})\b| {{10,}}(THE )?({_DIVISION})\b")

_WORD = r"[A-Z][A-Za-z'`-]*"
_JOIN = r"(?:, | (?:(?:and|AND|&|of|de) )?)"
# "HAMLET. text", "Ham. text", "1. Play. text", "MRS. PAGE. text", "GREY, SCROOP. text",
# "BISHOP of ELY. text"; a few cues have two full stops, or no space after the full stop.
_NAME = rf"(?P<role>(?:(?:\d|M|MRS|Mrs)\. (?={_WORD}\.))?{_WORD}(?:{_JOIN}{_WORD}){{0,4}})"
_CUE = re.compile(rf" {{1,2}}{_NAME}\.+(?: +|(?=[A-Z'])|$)(?P<text>.*)")
_CUE_IN_FIRST_COLUMN = re.compile(rf"{_NAME}\. \S")
# Some thirty cues stand in the columns of the speeches.
_INDENTED_CUE = re.compile(r" {3,5}(?P<role>[A-Z]{3,}(?: [A-Z]{3,})*)\.+ +(?P<text>\S.*)")
_NOT_A_ROLE = re.compile(
    r"(ACT|SCENE|THE|ENTER|RE-ENTER|EXIT|EXEUNT|EXCURSIONS|FLOURISH|ALARUMS?|SENNET|MUSIC|"
    r"RETREAT|DRUMS?|TRUMPETS?)\b"
)
_SEVERAL = re.compile(r"^(ALL|BOTH)\b|, |&| AND ")
# Stage directions.
# Text in brackets, with the spaces around it except a line's indent.
_BRACKETED = re.compile(r"(?:(?<=\S) +)?\[[^\[\]]{0,600}\] *")
_LEAVES = re.compile(r"(Exit|Exeunt)\b")
_ALWAYS = re.compile(r"(Exit|Exeunt|Re-?enter)\b|\d\. ")
# These words start verses too ("Enter our gates").
_OFTEN = re.compile(
    r"(Enter|Flourish|Alarums?|Sennet|Trumpets?|Music|Song|Drums?|Dance|Dies|Thunder|Sound|"
    r"Hautboys|March|Retreat|Excursions|A flourish|SCENE|ACT)\b"
)
_NAME_IN_CAPITALS = re.compile(r"\b[A-Z][A-Z'-]{2,}[A-Z]\b")
_CUE_WORDS = re.compile(r"[A-Z]{3,}(?: [A-Z]{3,})*\.+ +\S")
_WORD_IN_CAPITALS = re.compile(r"\b[A-Z][A-Z'-]*[A-Z]\b(?!')")
# First columns: speeches start at 3 to 5, songs and letters at 6 to 35, directions anywhere.
_SPEECH, _SONG, _RIGHT = 3, 6, 36


@dataclass(frozen=True)
class Role:
    """A speaking role of a play.

    Attributes:
        play: Title of the play, as printed.
        name: Name at the role's cues, in capitals; unique within the play.
        speeches: Speeches of the role in the order of the play. A speech goes from one of the
            role's cues to the next cue of any role; line feeds separate its lines.
    """

    play: str
    name: str
    speeches: tuple[str, ...]

    @property
    def client_id(self) -> str:
        """Title and name joined as LEAF does: `MUCH_ADO_ABOUT_NOTHING_BEAT`."""
        return re.sub(r"\W+", "_", f"{self.play}_{self.name}")

    @property
    def num_characters(self) -> int:
        """Characters in all speeches."""
        return sum(len(speech) for speech in self.speeches)


def parse_roles(text: str) -> list[Role]:
    """Finds the speaking roles of all plays.

    These rules are LEAF's (Caldas et al. 2018):

    - A work starts at the line "by William Shakespeare", below its title.
    - A speech starts at a cue: two spaces and a name with a full stop. It goes on in the lines
      indented further.
    - In a play with cues in the first column (The Comedy of Errors) all text is two columns
      further left.
    - Names are put in capitals ("SIR Toby" is "SIR TOBY") and not matched otherwise ("Ham." and
      "HAMLET." are two roles).
    - A work with fewer than two roles is no play (the sonnets).

    Unlike LEAF, this function finds cues of numbered, hyphenated and titled names ("1. Play.",
    "SERVING-MAN.", "MRS. PAGE."). It drops speeches of several roles at once ("ALL.", "BOTH.",
    "GREY, SCROOP."), copyright notices, lists of persons and stage directions.

    Args:
        text: The complete works, lines ending in line feeds.

    Returns:
        The roles, in the order of the plays and of their first speeches.

    Raises:
        ValueError: If the text is of another edition or incomplete; says why.
    """
    lines = _NOTICE.sub("", text).split("\n")
    starts = [i for i, line in enumerate(lines) if line.strip() == AUTHOR_LINE]
    if not starts:
        raise ValueError(f'no line says "{AUTHOR_LINE}"')
    if not any(_LAST_LINE.match(line) for line in lines[starts[-1] :]):
        raise ValueError('it is cut off: it does not end with "End of this Etext"')
    roles: list[Role] = []
    for start, stop in zip(starts, [*starts[1:], len(lines)]):
        speeches: dict[str, list[str]] = {}
        for name, speech in _speeches(lines[start + 1 : stop]):
            speeches.setdefault(name, []).append(speech)
        if len(speeches) > 1:
            title = next((line.strip() for line in reversed(lines[:start]) if line.strip()), "")
            roles += [Role(title, name, tuple(spoken)) for name, spoken in speeches.items()]
    if not roles:
        raise ValueError("no work in it has two speaking roles")
    return roles


def _speeches(lines: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Yields (role, speech) from the lines below a work's title, in the order of the play."""
    first = next((i for i, line in enumerate(lines) if _HEADING.match(line)), len(lines))
    lines = [*_in_usual_columns(lines[first:]), "THE END"]
    role, spoken = "", [""]
    for printed, line in zip(lines, without_directions(lines)):
        cue = _cue(line)
        if cue or _HEADING.match(printed):
            speech = "\n".join(words for words in spoken if words)
            if role and speech:
                yield role, speech
            role, spoken = cue[0] if cue else "", [before_gap(cue[1])] if cue else []
        elif line.startswith("   "):
            spoken.append(before_gap(line))


def _cue(line: str) -> tuple[str, str] | None:
    """Returns a cue's role (empty for several at once) and the words after it, `None` if no cue."""
    match = _CUE.match(line) or _INDENTED_CUE.match(line)
    name = match["role"].upper().replace("`", "") if match else ""
    if not match or _NOT_A_ROLE.match(name):
        return None
    return "" if _SEVERAL.search(name) else name, match["text"]


def _in_usual_columns(lines: Sequence[str]) -> Sequence[str]:
    if sum(map(bool, map(_CUE_IN_FIRST_COLUMN.match, lines))) <= sum(
        map(bool, map(_CUE.match, lines))
    ):
        return lines
    return [line if _HEADING.match(line) else "  " + line for line in lines]


def without_directions(lines: Sequence[str]) -> list[str]:
    """Blanks the stage directions among a play's lines.

    These are directions:

    - text in brackets, also over several lines;
    - a line that starts in the first column or far to the right, or with an exit or a re-entry;
    - after a blank line, a line that starts with an entry, a flourish and so on, or that names a
      person in capitals;
    - among the indented lines of a song, such a line anywhere;
    - the lines that continue a direction, up to a blank or less indented line.

    `before_gap` removes directions to the right of spoken words.

    Args:
        lines: Lines as printed, cues in columns 1 or 2.

    Returns:
        The same number of lines; directions are empty.
    """
    text = _BRACKETED.sub(_blank, "\n".join(lines))
    never = len(text)
    kept: list[str] = []
    carried_on_from, after_blank = never, True
    for line in text.split("\n"):
        line = line.split("[")[0].rstrip()
        words = line.lstrip()
        column = len(line) - len(words)
        spoken = not words or (column < _SONG and _CUE_WORDS.match(words))
        direction = not spoken and (
            column >= carried_on_from or _is_direction(words, column, after_blank)
        )
        if not direction or (column < _SONG and _LEAVES.match(words)):
            carried_on_from = never
        elif column < carried_on_from:
            carried_on_from = _SPEECH if column < _SONG else max(column - 4, _SONG)
        kept.append("" if direction else line)
        after_blank = not words
    return kept


def _blank(bracketed: re.Match[str]) -> str:
    newlines = bracketed[0].count("\n")
    if newlines:
        return "\n" * newlines + _SPEECH * " "
    return " " if bracketed[0].startswith(" ") else ""


def _is_direction(words: str, column: int, after_blank: bool) -> bool:
    if column < _SPEECH:
        return column == 0
    if _ALWAYS.match(words) or column >= _RIGHT:
        return True
    if column >= _SONG:
        return bool(_OFTEN.match(words) or _WORD_IN_CAPITALS.search(words))
    return after_blank and bool(_OFTEN.match(words) or _NAME_IN_CAPITALS.search(words))


def before_gap(words: str) -> str:
    """Returns the words before a gap of three or more spaces; a direction follows the gap."""
    return " ".join(words.strip().split("   ", 1)[0].split())
