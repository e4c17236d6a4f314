"""Logs, masks, signals and command lines of any text, drawn by hypothesis: read, or one line.

A failing example is printed, and shrunk. The slow tests draw a thousand examples each.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from f3ast_tff.availability.logs.availability_log import read_log
from f3ast_tff.availability.logs.mask_files import read_masks
from f3ast_tff.availability.logs.signal_files import read_signal
from f3ast_tff.availability.logs.trace_files import read_traces
from f3ast_tff.core.errors import DataError, ParameterError
from f3ast_tff.settings import builtin_registry
from f3ast_tff.settings.flags import UsageError, parse_flags
from f3ast_tff.settings.resolve import resolve

_MANY = pytest.param(1000, marks=pytest.mark.slow)
# fmt: off
_TIMES = st.one_of(
    st.integers(-10, 10**6).map(str),
    st.floats().map(repr),
    st.datetimes().map(str),
    st.datetimes().map(lambda each: f"{each.isoformat()}Z"),
    st.sampled_from(["", "0001-01-01", "9999-12-31", "0x10", "1_0", "\u0661", "1e400", "inf", "-"]),
)
# fmt: on
_NAMES = st.one_of(st.sampled_from(["a", "b", "1", "1.0", "01"]), st.text(max_size=8))
_HEADS = st.sampled_from(
    ["device,start,end", "device,time,state", "time,value", "date,a,b", "client,online,offline"]
    + ["a,b,c"]
)
_STATES = st.sampled_from(["AVL_TRAIN", "UN_AVL", "online", "offline", "1", "0", ""])


@st.composite
def logs(draw: Any) -> str:
    """A table with a head, names, times and states; or any text."""
    if draw(st.integers(0, 9)) == 0:
        return str(draw(st.text(max_size=200)))
    cells = st.one_of(_TIMES, _STATES)
    rows = draw(st.lists(st.tuples(_NAMES, _TIMES, cells), max_size=8))
    return "\n".join([draw(_HEADS), *(",".join(row) for row in rows)])


_READERS: dict[str, tuple[Callable[[Path], object], str]] = {
    "log": (lambda path: read_log(path, 3600.0), "log.csv"),
    "masks": (read_masks, "masks.csv"),
    "signal": (read_signal, "signal.csv"),
    "trace": (read_traces, "trace.csv"),
    "json": (read_traces, "trace.json"),
}


def try_reader(name: str, number: int) -> None:
    read, file = _READERS[name]

    @settings(max_examples=number, deadline=None, suppress_health_check=[*HealthCheck])
    @given(logs())
    def check(text: str) -> None:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / file
            path.write_bytes(text.encode(errors="surrogatepass"))
            try:
                read(path)
            except (DataError, ParameterError) as error:
                assert 0 < len(str(error)) < 3000 and "\n" not in str(error)

    check()


def try_flags(number: int) -> None:
    registry = builtin_registry()
    parameters = {p.name: p for c in registry.all() for p in c.parameters}
    names = st.sampled_from(sorted(parameters))
    values = st.one_of(_TIMES, _NAMES, st.sampled_from(["f3ast", "cycle:1,2", "1,2", "true"]))

    @settings(max_examples=number, deadline=None, suppress_health_check=[*HealthCheck])
    @given(st.lists(st.tuples(names, values), max_size=3))
    def check(given_flags: list[tuple[str, str]]) -> None:
        try:
            found = parse_flags([f"--{name}={value}" for name, value in given_flags], parameters)
            resolve(found, registry)
        except (DataError, ParameterError, UsageError) as error:
            assert str(error)

    check()


@pytest.mark.parametrize("name", _READERS)
@pytest.mark.parametrize("number", [pytest.param(30, marks=pytest.mark.long), _MANY])
def test_any_text_is_read_or_refused_in_one_line(name: str, number: int) -> None:
    try_reader(name, number)


@pytest.mark.parametrize("number", [30, _MANY])
def test_any_flags_are_taken_or_refused(number: int) -> None:
    try_flags(number)
