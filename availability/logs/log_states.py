"""Words of states: words that mean online, and words that mean offline."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from typing import Any

import numpy as np

from f3ast_tff.availability.logs.log_table import GAPS, Coded, LogTable
from f3ast_tff.core.client_names import listed
from f3ast_tff.core.errors import DataError

_YES = ("1", "1.0", "true", "t", "yes", "y", "on", "online", "up", "available", "connected")
_NO = ("0", "0.0", "false", "f", "no", "n", "off", "offline", "down", "unavailable", "unknown")
_GONE = ("disconnected", "disconnect", "leave", "inactive", "un_avl", "outage")
STATES = {
    **dict.fromkeys((*_YES, "connect", "join", "active", "avl_train", "avl_eval"), True),
    **dict.fromkeys((*_NO, *_GONE), False),
    # Words of RADIUS, Kubernetes, pings, people at computers, log-ins, and Home Assistant.
    **{"start": True, "interim-update": True, "stop": False},
    **dict.fromkeys(("ready", "nodeready", "reachable", "alive", "not-afk", "home", "login"), True),
    **dict.fromkeys(
        ("notready", "nodenotready", "unreachable", "dead", "afk", "not_home", "logout"), False
    ),
}
# Likely meanings of words of phones and programs: proposed, as a phone on battery may be online.
_LIKELY = {
    **dict.fromkeys(("charging", "full", "plugged", "ac", "usb", "wireless", "started"), True),
    **dict.fromkeys(("alloc", "allocated", "mixed", "associated", "authenticated"), True),
    "present": True,
    **dict.fromkeys(("discharging", "unplugged", "stopped", "disconnecting"), False),
    **dict.fromkeys(("disassociated", "deauthenticated", "deauthenticating"), False),
    **dict.fromkeys(("drain", "drained", "draining"), False),
}
# Words that answer any question, not only whether a device is online.
ANY_ANSWER = frozenset(
    {*("1", "1.0", "true", "t", "yes", "y", "on"), *("0", "0.0", "false", "f", "no", "n", "off")}
)
# Words of a system that does not know: never proposed as online.
NO_ANSWER = frozenset({*GAPS, "unknown", "unavailable", "undefined", "no data", "nodata", "stale"})
# Parts of the names of columns that say whether a device is offline.
_OFF_NAMES = frozenset(
    {word for word, is_on in STATES.items() if not is_on}
    - ANY_ANSWER
    - {"unknown", "logout", "stop", "not_home"}
    | {"outages", "downtime", "downtimes", "lost", "disconnection", "failed", "failure"}
    | {"problem", "alarm", "fault", "error", "missing", "timeout", "unhealthy", "disabled"}
    | {"loss", "exit", "errors", "exitcode"}
    | {"away", "asleep", "busy", "airplane", "absent", "absence", "interruption", "maintenance"}
    | {"ausfall", "panne"}
)
_ON_NAMES = frozenset(
    {word for word, is_on in STATES.items() if is_on} - ANY_ANSWER - {"start", "home"}
)
_SHOWN = 4


def name_words(name: Any) -> frozenset[str]:
    """Returns the words of a name in lower case, such as `is` and `down` of `isDown`."""
    return frozenset(_in_order(name))


def _in_order(name: Any) -> list[str]:
    spaced = re.sub("(?<=[a-z])(?=[A-Z])", " ", str(name)).lower()
    return re.findall(r"[^\W\d_]+", spaced)


def is_of_offline(name: Any) -> bool:
    """Returns whether a name says that yes is offline: `is_down`, `not_available`.

    Columns have such names, and so have objects of a monitor: Home Assistant's `phone_problem`.
    """
    words = name_words(name)
    return not (_ON_NAMES if "not" in words else _OFF_NAMES).isdisjoint(words)


def is_of_online(name: Any) -> bool:
    """Returns whether a name says that yes is online: `up`, `is_connected`."""
    return not _ON_NAMES.isdisjoint(name_words(name)) and not is_of_offline(name)


def likely_state(text: str) -> bool | None:
    """Returns the likeliest state of a device by a text; `None` if its words say neither or both.

    Examples:
        >>> from f3ast_tff.availability.logs.log_states import likely_state
        >>> [likely_state(text) for text in ("DeviceConnected", "Not charging", "DOWN+NOT_OK")]
        [True, False, False]
    """
    words = _in_order(text)
    known = {**dict.fromkeys(_ON_NAMES, True), **dict.fromkeys(_OFF_NAMES, False), **_LIKELY}
    # `Not` turns the words after it.
    means = {known[w] != ("not" in words[:k]) for k, w in enumerate(words) if w in known}
    return None if len(means) != 1 else means.pop()


def turned(words: Mapping[str, bool], own: Collection[str] = ()) -> Mapping[str, bool]:
    """Returns the meaning of words where yes is offline; unchanged if the user says yes is on.

    Args:
        words: Meaning of words, in lower case.
        own: Words whose meaning the user gives.
    """
    if any(words[word] == STATES[word] for word in ANY_ANSWER.intersection(own)):
        return words
    return {**words, **{word: not STATES[word] for word in ANY_ANSWER.difference(own)}}


def known_states(found: Coded, words: Mapping[str, bool]) -> list[bool | None]:
    """Returns the meaning of each distinct value; `None` if it is not known.

    `off=null` counts all gaps as offline, whichever word stands for them.
    """
    gap = gap_meant(words)
    return [words.get(word, gap if word in GAPS else _joint(word, words)) for word in found.words]


def _joint(word: str, words: Mapping[str, bool]) -> bool | None:
    """The meaning of several words that mean the same, as PBS's `down,offline`."""
    means = {words.get(part) for part in re.split("[,+] ?", word) if not part.isdigit()}
    return means.pop() if len(means) == 1 else None


def gap_meant(words: Mapping[str, bool]) -> bool | None:
    """Returns the meaning of gaps; `None` if it is not known."""
    return next((words[word] for word in sorted(GAPS) if word in words), None)


def states_of(table: LogTable, column: str, words: Mapping[str, bool]) -> np.ndarray:
    """Returns states as booleans, `bool [n]`.

    Args:
        table: The table.
        column: Column of states.
        words: Meaning of words, in lower case.

    Raises:
        DataError: If an entry is no state; names column and row.
    """
    found = table.coded(column)
    known = known_states(found, words)
    gap = gap_meant(words)
    wrong = found.of_rows([state is None for state in known], gap is None)
    if wrong.any():
        on, off = (", ".join(w for w in STATES if STATES[w] == is_on) for is_on in (True, False))
        odd = unknown_words(found, words)
        has = f". It has {listed(odd)}" if odd else ""
        entry = table.entry(column, int(np.argmax(wrong)))
        raise DataError(f"{entry}: must be a state, on: {on}; or off: {off}{has}")
    return found.of_rows([state is True for state in known], gap is True)


def unknown_words(found: Coded, words: Mapping[str, bool]) -> list[str]:
    """Returns the distinct texts of unknown meaning, without gaps."""
    known = known_states(found, words)
    pairs = zip(found.texts, found.words, known)
    return [text for text, word, state in pairs if state is None and word not in GAPS]


def words_of(found: Coded, words: Mapping[str, bool]) -> str:
    """Returns the meanings of a column's words, such as ` (on: up; off: down, unknown)`."""
    known = known_states(found, words)
    parts = []
    for name, is_on in (("on", True), ("off", False)):
        texts = sorted({text for text, state in zip(found.texts, known) if state is is_on})
        more = f" and {len(texts) - _SHOWN} more" if len(texts) > _SHOWN else ""
        parts += [f"{name}: {', '.join(texts[:_SHOWN])}{more}"] if texts else []
    return f" ({'; '.join(parts)})"
