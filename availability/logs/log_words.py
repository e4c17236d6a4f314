"""Unknown words of states, and their likely meanings."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import product
from typing import Any

from f3ast_tff.availability.logs.log_columns import Reading
from f3ast_tff.availability.logs.log_states import (
    ANY_ANSWER,
    NO_ANSWER,
    gap_meant,
    known_states,
    likely_state,
    unknown_words,
)
from f3ast_tff.availability.logs.log_table import LogTable

# Most unknown words with proposed meanings; if more than three, one differs from the others.
_MOST, _FREE = 4, 3
GIVE_ONLINE = (
    "a list of outages does not say when a device is online: give the spans online too, or say by "
    "--columns=rows=offline (of a run --table_columns) that it is between them"
)


def worded(table: LogTable, reading: Reading, column: Any = None) -> list[dict[str, Any]]:
    """Returns the parts to give so that all words of a reading's states are known; each likely way.

    Words of no answer are offline. Other words are on or off, in any way with both states.

    Args:
        table: The table.
        reading: The reading, with a state.
        column: Column of states to give as well; `None` for none.
    """
    found = table.coded(reading.state)
    state = {} if column is None else {"state": column}
    unknown = unknown_words(found, reading.words)
    silent = [word for word in unknown if word.lower() in NO_ANSWER]
    free = [word for word in unknown if word.lower() not in NO_ANSWER]
    known = dict(zip(found.texts, known_states(found, reading.meant)))
    if any(map(_is_code, free)):
        # Codes such as 1 and 2 may mean either.
        free = sorted({*free, *(text for text in known if _is_code(text))})
    if not found.filled.all() and None in [*known.values(), gap_meant(reading.words)]:
        silent.append("null")
    others = [text for text, state in known.items() if state is not None and text not in free]
    meant = {known[text] for text in others if text.lower() not in NO_ANSWER}
    if len(free) < 2:
        # Beside a single unknown word, words of no answer count as offline.
        meant |= {False} if silent or len(others) > len(meant) else set()
    leans = {word: means for word in free if (means := likely_state(word)) is not None}
    free = [word for word in free if word not in leans]
    if any("," in word or "/" in word or "=" in word for word in (*free, *silent, *leans)):
        return []
    if len(free) > _MOST:
        return []
    ways = [leans | dict(zip(free, each)) for each in product((True, False), repeat=len(free))]
    if len(free) > _FREE:
        ways = [way for way in ways if sum(way[word] for word in free) in (1, len(free) - 1)]
    given = []
    for way in ways:
        if {*way.values(), *meant} < {True, False}:
            continue
        on = [word for word in way if way[word]]
        off = [word for word in way if not way[word]] + silent
        parts = {"on": "/".join(on), "off": "/".join(off)}
        given.append({**state, **{part: text for part, text in parts.items() if text}})
    if silent == ["null"] and not given and meant == {False}:
        given.append({**state, "on": "null"})  # All known words are offline.
    return given


def says_off(table: LogTable, column: Any, words: Mapping[str, bool]) -> bool:
    """Whether a column has words of being offline, so that not all of its rows are online."""
    found = table.coded(column)
    told = zip(found.texts, known_states(found, words))
    states = {text.lower(): likely_state(text) if state is None else state for text, state in told}
    return any(states[word] is False for word in states.keys() - NO_ANSWER - ANY_ANSWER)


def perhaps_outages(table: LogTable, readings: Iterable[Reading], words: Mapping[str, bool]) -> str:
    """Returns, in words, that spans may all be offline; empty if a word says that some are not.

    Args:
        table: The table.
        readings: Likely readings.
        words: Known meanings of words, without proposed ones.
    """
    for reading in readings:
        if reading.of_spans and reading.state is not None:
            known = {*known_states(table.coded(reading.state), words)}
            if True not in known and says_off(table, reading.state, words):
                return (
                    f"; if no row is online by {reading.state!r}, it is a list of outages, which "
                    "does not say when a device is online"
                )
    return ""


def _is_code(word: str) -> bool:
    return word.isascii() and word.isdigit()
