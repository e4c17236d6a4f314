"""How a log is read: by known names if that leaves nothing open, else refused with what to give."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from f3ast_tff.availability.logs import column_traits as traits
from f3ast_tff.availability.logs.left_over import completed, refuse_left_over
from f3ast_tff.availability.logs.likely_columns import (
    has_other_devices,
    has_other_times,
    refuse_columns,
)
from f3ast_tff.availability.logs.log_columns import Given, Reading, devices_of
from f3ast_tff.availability.logs.log_reading import (
    OF_RUN,
    Options,
    Tried,
    carried_out,
    distinct,
    said_of,
    that_fits,
    tried,
    with_parts,
)
from f3ast_tff.availability.logs.log_states import ANY_ANSWER, NO_ANSWER, states_of, unknown_words
from f3ast_tff.availability.logs.log_table import LogTable
from f3ast_tff.availability.logs.log_words import perhaps_outages, says_off, worded
from f3ast_tff.availability.logs.outages import all_off_said, refuse_outages
from f3ast_tff.core.client_names import listed
from f3ast_tff.core.errors import DataError


def decided(table: LogTable, reading: Reading, given: Given, options: Options) -> Tried:
    """Returns the reading of a log of events or spans, and what it says.

    Args:
        table: The table.
        reading: The columns known by name, or given.
        given: What the user says.
        options: What it is read with.

    Raises:
        DataError: If a part of a log is not known, a word, or a column is left over that may
            decide; says what to give, and what each reading would say.
    """
    reading = that_fits(table, reading, given.columns, options.time_unit)
    if "device" not in given.columns and not table.form and has_other_devices(table, reading):
        reading = replace(reading, device=None)
    if "time" not in given.columns and not table.form and has_other_times(table, reading):
        reading = replace(reading, time=None)
    if reading.device is None or not (reading.of_spans or reading.of_events):
        refuse_columns(table, reading, given, options)
    if given.of_outages and not reading.of_spans:
        raise DataError(f"{table.name}: rows=offline is for spans, as in device,start,end")
    if reading.of_spans:
        reading = _with_state_of_spans(table, reading, given)
    if reading.state is not None:
        _refuse_unknown_words(table, reading, given, options)
    found = Tried({}, reading, carried_out(table, reading, options), options)
    if reading.of_spans and not len(found.visits.place):
        word = traits.values_of(table, reading.state)[0]
        raise DataError(f"{table.name}: {all_off_said(word, reading.state)}")
    if not table.form:
        found = refuse_outages(table, found, given)
        refuse_left_over(table, given, options, found)
    if found.visits.lacks:
        raise DataError(f"{table.name}: {found.visits.lacks}")
    return found


def _with_state_of_spans(table: LogTable, reading: Reading, given: Given) -> Reading:
    """Finds the only column of words such as `up` beside spans; drops a known name without any."""
    if "state" in given.columns:
        return reading
    if reading.state is not None:
        codes = traits.is_of_codes(table, reading.state) or traits.is_flag(table, reading.state)
        known = traits.words_in(table, reading.state) <= reading.words.keys()
        if known or codes or says_off(table, reading.state, reading.words):
            return reading
        reading = replace(reading, state=None)
    columns = traits.left(table, reading)
    place = devices_of(table, reading.device)[1] if columns else np.zeros(0, np.int64)
    columns = [
        c
        for c in columns
        if _is_off(table, c, reading)
        or traits.is_of_states(table, c, reading.words)
        and not {*table.coded(c).words} & ANY_ANSWER
        and not traits.is_of_device(table, c, place)
    ]
    if not columns:
        return reading
    states = [states_of(table, column, reading.words) for column in columns]
    if any((each != states[0]).any() for each in states):
        return reading
    return replace(reading, state=columns[0])


def _is_off(table: LogTable, column: object, reading: Reading) -> bool:
    """Whether all rows have words of being offline, as in a list of outages."""
    words = traits.words_in(table, column)
    off = all(reading.words.get(word) is False for word in words)
    return off and bool(words - NO_ANSWER - ANY_ANSWER) and traits.is_filled(table, column)


def _refuse_unknown_words(
    table: LogTable, reading: Reading, given: Given, options: Options
) -> None:
    column = reading.state
    try:
        states_of(table, column, reading.words)
        return
    except DataError as error:
        said = str(error)
    ways = worded(table, reading)
    if "state" not in given.columns:
        # A column may have the name of states, and another their words.
        others = [
            c for c in traits.left(table, reading) if traits.is_of_states(table, c, reading.words)
        ]
        if others and traits.is_of_device(table, column, devices_of(table, reading.device)[1]):
            ways = []  # Such as where each device is.
        ways += [{"state": c} for c in others]
    found = distinct(tried(table, with_parts(reading, more), options, more) for more in ways)
    found = [each for each in found if 0 < each.shares.mean() < 1]
    is_plain = "state" not in given.columns and not says_off(table, column, reading.words)
    if reading.end is not None and is_plain:
        more = {"ignore": column}
        found = distinct([*found, tried(table, with_parts(reading, more), options, more)])
    found = completed(table, given, options, found)
    outages = perhaps_outages(table, [each.reading for each in found] or [reading], given.words)
    if len(found) == 1:
        way = f": say what they mean, as by {given.flag(found[0].more)} {OF_RUN}: "
        raise DataError(f"{said}{way}{found[0].outcome}{outages}")
    if found:
        shown = " or ".join(sorted(said_of(given, each) for each in found))
        raise DataError(f"{said}: say what they mean, by {shown} {OF_RUN}{outages}")
    unknown = unknown_words(table.coded(column), reading.words)
    if unknown:
        words = listed([word for word in unknown if word.lower() not in NO_ANSWER] or unknown)
        raise DataError(
            f"{said}: say what they mean by --columns=on=WORD/WORD,off=WORD {OF_RUN}, of {words}"
            f"{outages}"
        )
    raise DataError(said)
