"""The text of a CSV file as programs write it: its encoding, its separator, its first lines."""

from __future__ import annotations

import codecs
import logging
import re
from collections.abc import Callable
from dataclasses import dataclass

_LOG = logging.getLogger(__name__)

# Endings of such files.
CSV_FORMS = (".csv", ".tsv", ".tab")
_SEPARATORS = ",;\t|"
# Lines by which the separator is chosen, and bytes of them that are looked at.
_LOOKED_AT = 20
_HEADER_BYTES = 2**24
_OF_EXCEL = re.compile(rb'^"?sep=([,;|\t])"?\r?$', re.MULTILINE)
_WITH_COMMA = re.compile(rb"(?<![\d,.])\d+,\d+(?![\d,.])")
_NUMBER = re.compile(rb'(?:^|[,;|\t])[ "]*[-+.]?\d')
_SENTENCE = re.compile(rb"[^\W\d]+[ ]+\w+[ ]+\w")
_NOT_EMPTY = re.compile(rb"[^\r\n]")
# Bytes of a line of names behind `#`.
_LONGEST = 2**16
_THOUSANDS = re.compile(rb"[1-9]\d{0,2},\d{3}")


@dataclass(frozen=True)
class CsvText:
    """A table in CSV.

    Attributes:
        content: Its bytes in UTF-8, from the line of names on.
        separator: Character between entries.
        first: Number of the line of names, from 1.
    """

    content: bytes
    separator: str
    first: int = 1

    @property
    def decimal(self) -> str:
        """The decimal mark: a comma where entries have some that mark no thousands."""
        if self.separator == ",":
            return "."
        commas = (found[0] for found in _WITH_COMMA.finditer(self.content))
        return "," if any(not _THOUSANDS.fullmatch(each) for each in commas) else "."


def csv_text(content: bytes) -> CsvText:
    r"""Returns the table in the content of a CSV file, in UTF-8, or in UTF-16 with its mark.

    Other content is read as Windows-1252, which is ANSI and latin-1 of western languages, with a
    warning: numbers are the same in all. Before the line of names there may be Excel's `sep=;`,
    empty lines, a title, and notes that begin with `#`; the `#` of a line of names goes.

    Raises:
        UnicodeDecodeError: If UTF-16 is damaged.

    Examples:
        >>> from f3ast_tff.files.csv_text import csv_text
        >>> csv_text(b"# of May\nsite;share\nA;0,5\n")
        CsvText(content=b'site;share\nA;0,5\n', separator=';', first=2)
        >>> csv_text(b"site;share\nA;0,5\n").decimal
        ','
    """
    if content.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        content = content.decode("utf-16").encode()  # As Excel writes "Unicode text".
    content = _in_utf8(content.removeprefix(codecs.BOM_UTF8))
    place, notes = after_lines(content, lambda begin: _is_note(content, begin))
    given = _OF_EXCEL.search(content, 0, place)
    content = content[place:]
    if content.startswith(b"#"):
        content = content[1:].lstrip(b" \t")
    separator = separator_of(content) if given is None else given[1].decode()
    return CsvText(content, separator, 1 + notes)


def _in_utf8(content: bytes) -> bytes:
    try:
        content.decode()
        return content
    except UnicodeDecodeError as error:
        line = 1 + content.count(b"\n", 0, error.start)
        text = content.decode("cp1252", "replace")
        _LOG.warning("not in UTF-8 (line %d): read as Windows-1252 (latin-1)", line)
        return text.encode()


def separator_of(content: bytes) -> str:
    """Returns the character that stands as often in each line; of several, or none, the most used.

    What stands between quotes does not count, and `|` does not if a line begins with it.
    """
    lines = [
        re.sub(r'"[^"]*"', "", line.decode("utf-8", "replace").strip("\r\n"))
        for line in content[:_HEADER_BYTES].split(b"\n", _LOOKED_AT)[:_LOOKED_AT]
    ]
    lines = [line for line in lines if line] or [""]
    counts = {each: [line.count(each) for line in lines] for each in _SEPARATORS}
    if lines[0].startswith("|"):
        del counts["|"]
    even = [each for each, found in counts.items() if found[0] and len({*found}) == 1]
    return max(even or ",;\t", key=lambda each: counts[each][0])


def after_lines(content: bytes, begins: Callable[[int], bool]) -> tuple[int, int]:
    """Returns the place after a text's first lines of a kind, and their number, in linear time.

    Args:
        content: The text.
        begins: Whether such a line begins at a place.
    """
    place = number = 0
    while place < len(content) and begins(place):
        place, number = content.find(b"\n", place) + 1 or len(content), number + 1
    return place, number


def _is_note(content: bytes, begin: int) -> bool:
    """Whether no names stand in the line at a place, as in a title without separators.

    A line with `#` is of names if the next line has its separators, and an entry that begins as a
    number does, and if it has no three words in a row.
    """
    if content.startswith((b"\n", b"\r\n"), begin) or _OF_EXCEL.match(content, begin):
        return True
    line = _line(content, begin)
    found = _NOT_EMPTY.search(content, begin + len(line))
    below = b"" if found is None else _line(content, found.start())
    counts = [[each.count(mark.encode()) for mark in _SEPARATORS] for each in (line, below)]
    if not content.startswith(b"#", begin):
        return not any(counts[0]) and any(counts[1]) and not _NUMBER.search(below)
    same = counts[0] == counts[1] and any(counts[0])
    return not (same and _NUMBER.search(below)) or _SENTENCE.search(line) is not None


def _line(content: bytes, begin: int) -> bytes:
    """The line at a place, at most `_LONGEST` bytes, without a copy of what follows."""
    most = begin + _LONGEST
    end = content.find(b"\n", begin, most)
    return content[begin : most if end < 0 else end]
