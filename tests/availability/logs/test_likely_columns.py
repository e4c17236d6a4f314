"""The refusal of a log says what to type; each flag is read, and says what it said."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from f3ast_tff.availability.logs.availability_log import log_of_frame, read_log
from f3ast_tff.core.errors import DataError

# Two devices, each there twice: seconds since 1970, on 2024-06-01.
START = 1_717_200_000
VISITS = [(k, START + 9000 * j + 1000 * k, START + 9000 * j + 8500) for j in (0, 1) for k in (7, 2)]
CHANGES = sorted((t, k, on) for k, begin, end in VISITS for t, on in ((begin, 1), (end, 0)))

# Shares of the 16 rounds of 1000 s, from 2000 to 17,000 s, in which the clients 2 and 7 are there:
# at 2000 to 8000 and 11,000 to 17,000 s, and at 7000, 8000, 16,000 and 17,000 s.
SHARES = [0.88, 0.25]


def texts(seconds: object, form: str) -> pd.Series:
    return pd.to_datetime(pd.Series(seconds), unit="s").dt.strftime(form)


def visits(device: str = "handset", begin: str = "plugged_at", end: str = "unplugged_at"):
    frame = pd.DataFrame(VISITS, columns=["k", "a", "b"])
    iso = "%Y-%m-%dT%H:%M:%SZ"
    return pd.DataFrame({device: frame.k, begin: texts(frame.a, iso), end: texts(frame.b, iso)})


def changes(on: object = 1, off: object = 0) -> pd.DataFrame:
    frame = pd.DataFrame(CHANGES, columns=["ts", "imei", "event"])
    frame["ts"] = texts(frame.ts, "%Y-%m-%d %H:%M:%S")
    return frame.assign(event=frame.event.map({1: on, 0: off}))


def uuids(frame: pd.DataFrame) -> pd.DataFrame:
    return frame.assign(handset=[f"0000{k}000-1d8d-4a6e-0f7c-a02c2ab1" for k in frame.handset])


VISIT = "device=handset,start=plugged_at,end=unplugged_at"
CHANGE = "device=imei,time=ts,state=event"
LOGS = {
    "visits": (visits(), VISIT),
    "numbers": (visits().assign(handset=[7.0, 2.0] * 2), VISIT),
    "uuids": (uuids(visits()), VISIT),
    "ends first": (visits()[["unplugged_at", "handset", "plugged_at"]], VISIT),
    "seconds": (pd.DataFrame(VISITS, columns=visits().columns), VISIT),
    "another language": (visits("Gerät", "Beginn", "Ende"), "device=Gerät,start=Beginn,end=Ende"),
    "an index": (visits().reset_index(names="nr"), VISIT),
    "beside others": (visits().assign(battery=[5, 5, 9, 9]), VISIT),
    "changes": (changes(), CHANGE),
    "words": (changes("CONNECTED", "DISCONNECTED"), CHANGE),
    "a known device": (changes().rename(columns={"imei": "device"}), "time=ts,state=event"),
    "blanks": (
        visits(begin="came at").rename(columns={"handset": "device"}),
        "start=came at,end=unplugged_at",
    ),
}


@pytest.mark.parametrize(
    ("case", "form"),
    [
        pytest.param(
            case, form, marks=() if form == "csv" or case == "visits" else pytest.mark.long
        )
        for case in LOGS
        for form in ("csv", "semicolons", "tsv", "jsonl", "json", "parquet", "frame")
    ],
)
def test_the_refusal_names_the_columns_and_what_to_type(
    case: str, form: str, tmp_path: Path
) -> None:
    frame, wanted = LOGS[case]
    path = tmp_path / f"x.{'csv' if form == 'semicolons' else form}"
    if form in ("csv", "tsv", "semicolons"):
        frame.to_csv(path, sep={"csv": ",", "tsv": "\t"}.get(form, ";"), index=False)
    elif form in ("json", "jsonl"):
        frame.to_json(path, orient="records", lines=form == "jsonl", force_ascii=False)
    elif form == "parquet":
        frame.to_parquet(path)

    def read(columns: str):
        return (
            log_of_frame(frame, 1000, columns=columns)
            if form == "frame"
            else read_log(path, 1000, columns=columns)
        )

    with pytest.raises(DataError) as raised:
        read("")
    said = str(raised.value)
    assert f"it has {', '.join(frame.columns)}: say which they are by" in said
    given = re.search(r"by '?--columns=(.*?)'? \(of a run --table_columns\)", said)
    assert given and given[1] == wanted
    log = read(given[1])
    assert len(log.clients) == 2 and log.masks.mean().round(2).tolist() == SHARES


@pytest.mark.parametrize(
    ("columns", "says"),
    [
        ("", "--columns=device=who,start=in,end=out "),
        ("device=who,start=in,end=out", "must be a time: a number, or a date as 2024-06"),
    ],
)
@pytest.mark.parametrize(
    "form",
    [
        "%d/%m/%Y %H:%M",
        "%m/%d/%Y %I:%M %p",
        "%d-%b-%Y",
        "%a, %d %b %Y %H:%M GMT",
        "%b %d, %Y %H:%M",
    ],
)
def test_days_in_other_forms_are_times_all_the_same(form: str, columns: str, says: str) -> None:
    begin, end = (texts([v[place] for v in VISITS], form) for place in (1, 2))
    frame = pd.DataFrame({"who": [v[0] for v in VISITS], "in": begin, "out": end})
    with pytest.raises(DataError, match=says):
        log_of_frame(frame, columns=columns)


def test_a_log_without_names_of_columns(tmp_path: Path) -> None:
    pd.DataFrame(VISITS).to_csv(tmp_path / "x.csv", header=False, index=False)
    with pytest.raises(DataError, match="its first line must name the columns, as in device,time"):
        read_log(tmp_path / "x.csv")


MASKS = pd.DataFrame({"a": [0, 1, 1], "b": [1, 0, 2], "c": [1, 1, 0]})
LATE = MASKS.assign(time=["2024-06-01", "2024-06-03", "2024-06-04"])[["time", "a", "c"]]
OF_MASKS = "must be 0 or 1, true or false, online or offline"


@pytest.mark.parametrize(
    ("frame", "columns", "says"),
    [
        # What is given stays in what to type.
        (
            changes().drop(columns="ts"),
            "state=event,device=imei",
            "--columns=time=NAME,state=event,device=imei ",
        ),
        (changes(), "time=ts,state=event", "--columns=device=imei,time=ts,state=event "),
        # A wrong entry, a wrong time, or a column too many are those of tables of clients.
        (MASKS, "", OF_MASKS),
        (MASKS.assign(c=["x", "y", "y"]), "", OF_MASKS),
        (MASKS.assign(total=[5, 6, 5]), "", OF_MASKS),
        (LATE, "", "must be the row before plus"),
        (LATE, "", "rows are not: if it is of changes, .*: table.melt.'time', var_name="),
    ],
    ids=["no time", "no device", "entry", "words", "total", "late", "changes"],
)
def test_the_refusal_is_that_of_the_form(frame: pd.DataFrame, columns: str, says: str) -> None:
    with pytest.raises(DataError, match=says):
        log_of_frame(frame, columns=columns)


def proposals(error: pytest.ExceptionInfo[DataError]) -> dict[str, str]:
    """The flags that a refusal shows, without those given before, and their outcomes."""
    shown = re.findall(r"--columns=([^()]*?)'? \((\d+ devices, [\d.]+% online)\)", str(error.value))
    one = re.search(r"by '?--columns=(.*?)'? \(of a run --table_columns\): (.*)", str(error.value))
    return dict([*shown, *([(one[1], one[2])] if one else [])])


@pytest.mark.parametrize(
    ("on", "off", "given"),
    [
        ("here", "gone", {"on=here,off=gone", "on=gone,off=here"}),
        # Words of phones, and texts of programs, are proposed in their likely meaning alone.
        ("plugged", "unplugged", {"on=plugged,off=unplugged"}),
        ("charging", "idle", {"on=charging,off=idle"}),
        ("Full", "Not charging", {"on=Full,off=Not charging"}),
        ("reply", "timeout", {"on=reply,off=timeout"}),
        (
            "EVT_WU_Connected",
            "EVT_WU_Disconnected",
            {"on=EVT_WU_Connected,off=EVT_WU_Disconnected"},
        ),
        ("agent started.", "agent stopped.", {"on=agent started.,off=agent stopped."}),
        (2, 1, {"on=2,off=1", "on=1,off=2"}),
        # Without another word for offline, `gone` can only be it.
        ("online", "gone", {"off=gone"}),
        ("here", "unknown", {"on=here"}),
    ],
)
def test_words_for_states_are_given_as_columns_are(
    on: object, off: object, given: set[str]
) -> None:
    """Each likely meaning is shown with its outcome; the right one is among them."""
    plain = log_of_frame(changes(), 1000, columns=CHANGE)
    frame = changes(on, off)
    with pytest.raises(DataError) as raised:
        log_of_frame(frame, 1000, columns=CHANGE)
    said = str(raised.value)
    assert "must be a state, on: 1, 1.0, true" in said and "or off: 0, 0.0, false" in said
    shown = proposals(raised)
    assert {flag.replace(f",{CHANGE}", "") for flag in shown} == given
    read = {flag: log_of_frame(frame, 1000, columns=flag) for flag in shown}
    for flag, log in read.items():
        assert shown[flag] == f"2 devices, {log.masks.mean().mean():.1%} online"
    assert plain.masks.table().tolist() in [log.masks.table().tolist() for log in read.values()]


@pytest.mark.parametrize("word", ["unknown", "null", "", "unavailable", "NaN", "None", "No data"])
def test_words_of_no_answer_are_never_proposed_as_online(word: str) -> None:
    frame = changes("here", "there")
    frame.loc[1, "event"] = word
    with pytest.raises(DataError) as raised:
        log_of_frame(frame, 1000, columns=CHANGE)
    shown = proposals(raised)
    assert len(shown) == 2
    for flag in shown:
        assert word.lower() not in dict(p.split("=") for p in flag.split(","))["on"].lower().split(
            "/"
        )
        log_of_frame(frame, 1000, columns=flag)


def test_several_words_for_a_state() -> None:
    frame = changes("plugged", "unplugged")
    frame.loc[1, "event"] = "Full"
    with pytest.raises(DataError, match="It has plugged, Full, unplugged: say what they mean"):
        log_of_frame(frame, columns=CHANGE)
    log = log_of_frame(frame, 1000, columns=f"{CHANGE},on=plugged/full,off=unplugged")
    assert log.masks.mean().round(2).tolist() == SHARES
    frame.loc[1, "event"] = None
    with pytest.raises(DataError, match="must be a state, on: .*logout: say .*off=unplugged/null,"):
        log_of_frame(frame, columns=f"{CHANGE},on=plugged,off=unplugged")
    frame["event"] = ["a", "b", "c", "d", "e", "a", "b", "c"][: len(frame)]
    with pytest.raises(
        DataError, match="It has a, b, c, d, e: say .* by --columns=on=WORD/WORD,off"
    ):
        log_of_frame(frame, columns=CHANGE)


def test_words_in_a_table_of_clients() -> None:
    frame = pd.DataFrame({"ann": ["here", "away"], "bob": ["away", "here"]})
    log = log_of_frame(frame, columns="on=here,off=away")
    assert log.masks.table().tolist() == [[True, False], [False, True]]


def test_words_that_all_columns_of_a_table_share_are_asked_for() -> None:
    days = pd.date_range("2024-06-01", periods=4, freq="h", tz="UTC")
    words = pd.DataFrame({"Time": days, "a": ["0%", "100%"] * 2, "b": ["0%"] * 3 + ["100%"]})
    way = "--columns=on=100%,off=0% (2 clients, 37.5% online)"
    with pytest.raises(DataError, match=re.escape(way)):
        log_of_frame(words)
    log = log_of_frame(words, columns="on=100%,off=0%")
    assert log.masks.mean().tolist() == [0.5, 0.25]
    assert "masks, 2 clients (a, b), " in log.read_as


HOUR = 3600
# Device a is online from 0 to 2 h and from 4 to 8 h, b from 1 to 3 h: of 8 rounds 75% and 25%.
SPANS = [("a", 0, 2), ("b", 1, 3), ("a", 4, 8)]
EVENTS = sorted(
    (t, on, k, number) for number, (k, *ab) in enumerate(SPANS) for t, on in zip(ab, (1, 0))
)
WORDS = ("LEAVE", "JOIN")
DATES = ["2024-06-01", "2024-06-02", "2024-06-03"]
# In its first visit a takes over from itself, which ends later; so does it four times in its last.
TAKEN = [("a", 0, 1, 1), ("a", 1, 2, 2), ("b", 1, 3, 3), ("a", 4, 6, 4), ("a", 5, 8, 5)]


def days(hours: Any) -> Any:
    return pd.to_datetime(hours, unit="h", origin="2024-06-01", utc=True)


def own_spans(**more: list[Any]) -> pd.DataFrame:
    names = ("user", "acctstarttime", "acctstoptime")
    frame = pd.DataFrame(dict(zip(names, zip(*SPANS))))
    return frame.assign(**{name: days(frame[name]) for name in names[1:]}, **more)


def sessions(column: str) -> pd.DataFrame:
    rows = sorted((t, on, k, n) for k, *ab, n in TAKEN for t, on in zip(ab, (1, 0)))
    rows = [(t, on, k, n) for t, on, k, n in rows]
    frame = pd.DataFrame(rows, columns=["time", "word", "device", column])
    return frame.assign(time=days(frame["time"]), word=[WORDS[on] for on in frame["word"]])


def flags_in(text: str) -> dict[str, str]:
    """Each flag of a message, and the share that it says."""
    found = re.findall(r"--columns=([^ ']+)'?(?: \(of a run --table_columns\):)? \(?(.*?% o)", text)
    return {flag: said[:-2] for flag, said in found}


@pytest.mark.parametrize(
    ("frame", "flags"),
    [
        (own_spans(cause=["lost", "user", "user"]), {"ignore=cause": "50.0%"}),
        (own_spans(ok=[1, 0, 0]), {"ignore=ok": "50.0%", "state=ok": "12.5%"}),
        # A length that is given replaces an end of a known name.
        (
            own_spans(minutes_on=[60, 60, 120]).rename(
                columns={"acctstarttime": "start", "acctstoptime": "end"}
            ),
            {"duration=minutes_on": "33.3%", "ignore=minutes_on": "50.0%"},
        ),
        (sessions("conn_id"), {"session=conn_id": "50.0%", "ignore=conn_id": "37.5%"}),
    ],
)
def test_each_flag_that_is_offered_is_read_as_it_says(
    frame: pd.DataFrame, flags: dict[str, str]
) -> None:
    with pytest.raises(DataError) as error:
        log_of_frame(frame)
    found = flags_in(str(error.value))
    for flag, said in found.items():
        log = log_of_frame(frame, columns=flag)
        assert said == f"{len(log.clients)} devices, {log.masks.mean().mean():.1%}"
    for part, share in flags.items():
        assert [said for flag, said in found.items() if part in flag] == [f"2 devices, {share}"]


@pytest.mark.parametrize(
    ("more", "says"),
    [
        ({"timezone": ["Asia/Tokyo", "Europe/Paris", "Asia/Tokyo"]}, "'timezone' has zones of"),
        ({"where": ["UTC+09:00", "UTC+02:00", "UTC+09:00"]}, "'where' has zones of the times"),
        ({"tz_offset_min": [540, 120, 540]}, "'tz_offset_min' has zones of the times"),
        (
            {
                "start": [480, 500, 480],
                "end": [1020, 900, 990],
                "date": [f"2024-06-0{n}" for n in (1, 2, 3)],
            },
            "'date'",
        ),
    ],
)
def test_zones_and_days_of_the_times_are_not_passed_over(more: Any, says: str) -> None:
    """Local times of several zones were read as UTC, and minutes of a day from the log's start."""
    frame = pd.DataFrame(SPANS, columns=["device", "start", "end"])
    frame = frame.assign(start=days(frame["start"]), end=days(frame["end"]))
    local = frame.assign(**{name: frame[name].dt.tz_localize(None) for name in ("start", "end")})
    with pytest.raises(DataError, match=says):
        log_of_frame(local.assign(**more))


def test_a_column_of_what_rows_measure_is_named() -> None:
    rows = [(k, t, kind, on) for t, on, k, _ in EVENTS for kind in ("up", "load")]
    frame = pd.DataFrame(rows, columns=["device", "time", "metric", "state"])
    frame.loc[frame["metric"] == "load", "state"] ^= 1
    with pytest.raises(DataError, match="'metric' tells apart rows of a device at one time"):
        log_of_frame(frame.assign(time=days(frame["time"])))
    up = frame[frame["metric"] == "up"]
    log = log_of_frame(up.assign(time=days(up["time"])))
    assert log.masks.mean().tolist() == [0.75, 0.25]


@pytest.mark.parametrize(
    ("lengths", "shown"),
    [(["2 h", "120 mins", "3 hrs 60 mins"], "--columns=duration=duration"), (["?"] * 3, "no len")],
)
def test_rows_of_one_state_need_an_end_or_a_length(lengths: list[str], shown: str) -> None:
    rows = [(k, a, 1) for k, a, _ in SPANS]
    frame = pd.DataFrame(rows, columns=["device", "time", "online"])
    frame = frame.assign(time=days(frame["time"]))
    with pytest.raises(DataError, match="by column 'online' all rows are online"):
        log_of_frame(frame)
    with pytest.raises(DataError, match="all rows are offline: since when"):
        log_of_frame(frame.assign(online=0))
    assert log_of_frame(frame, max_visit=HOUR).masks.mean().tolist() == [0.25, 0.25]
    with pytest.raises(DataError) as error:
        log_of_frame(frame.assign(duration=lengths))
    assert shown in str(error.value) or "all rows are online" in str(error.value)
    if shown.startswith("--"):
        log = log_of_frame(frame.assign(duration=lengths), columns="duration=duration")
        assert log.masks.mean().tolist() == [0.75, 0.25]


def test_outages_are_not_offered_as_times_online() -> None:
    frame = pd.DataFrame(SPANS, columns=["device", "start", "end"])
    frame = frame.assign(start=days(frame["start"]), end=days(frame["end"]))
    with pytest.raises(DataError, match="if no row is online by 'state', it is a list of outages"):
        log_of_frame(frame.assign(state=["DOWN*", "DRAIN", "DOWN*"]))
    with pytest.raises(DataError) as error:
        log_of_frame(frame.assign(state=["down", "up", "repair"]))
    assert "ignore" not in str(error.value)
