"""Names and units that mislead: what is offered is right, and what cannot be known is asked."""

from __future__ import annotations

import re

import pandas as pd
import pytest

from f3ast_tff.availability.logs.availability_log import log_of_frame
from f3ast_tff.core.errors import DataError

HOUR, MINUTE = 3600, 60
# Device a is online from 0 to 2 h, b from 1 to 4 h, each day of ten; the log ends at 244 h.
SPANS = [
    (device, 24 * day + begin, 24 * day + end)
    for day in range(10)
    for device, begin, end in (("a", 0, 2), ("b", 1, 4), ("b", 4, 4))
]
SHARES = [20 / 220, 30 / 220]
ROWS = sorted((t, on, k) for k, *ab in SPANS if ab[0] < ab[1] for t, on in zip(ab, (1, 0)))


def days(hours: object) -> pd.Series:
    return pd.Series(pd.to_datetime(hours, unit="h", origin="2024-06-01", utc=True))


def spans(scale: float = 0, **names: str) -> pd.DataFrame:
    """Spans in hours times a scale, or as dates, with other names."""
    found = pd.DataFrame([s for s in SPANS if s[1] < s[2]], columns=["device", "start", "end"])
    bounds = {
        name: found[name] * scale if scale else days(found[name]) for name in ("start", "end")
    }
    return found.assign(**bounds).rename(columns=names)


def events(**more: object) -> pd.DataFrame:
    found = pd.DataFrame(ROWS, columns=["time", "online", "device"])
    return found.assign(time=days(found["time"])).assign(**more)


def lengths(column: str, scale: float) -> pd.DataFrame:
    found = spans(1)
    return pd.DataFrame(
        {
            "device": found["device"],
            "time": days(found["start"]),
            column: (found["end"] - found["start"]) * scale,
        }
    )


def test_0_of_a_host_may_be_up() -> None:
    """Nagios writes 0 for up and ok, 1 for down; what others write is read as it is."""
    hosts = events().rename(columns={"device": "host", "online": "state"})
    nagios = hosts.assign(state=1 - hosts["state"])
    with pytest.raises(DataError, match="device=host,on=0,off=1 .* or --columns=device=host,on=1"):
        log_of_frame(nagios)
    for frame, given in ((nagios, "on=0,off=1"), (hosts, "on=1,off=0")):
        log = log_of_frame(frame, columns=f"device=host,{given}")
        assert log.masks.mean().tolist() == pytest.approx(SHARES)
    exits = nagios.rename(columns={"host": "device", "state": "exit_code"})
    shares = log_of_frame(exits, columns="state=exit_code").masks.mean()
    assert shares.tolist() == pytest.approx(SHARES)


def test_words_with_accents_are_words() -> None:
    """Of déconnecté the end was read, as connect."""
    words = events()["online"].map({1: "connecté", 0: "déconnecté"})
    with pytest.raises(DataError, match="on=connecté,off=déconnecté.*on=déconnecté,off=connecté"):
        log_of_frame(events(online=words))


@pytest.mark.parametrize(
    ("frame", "said"),
    [
        (spans(60, start="start_min", end="end_min"), "minutes from the log's start"),
        (spans(1, start="start (h)", end="end (h)"), "hours from the log's start"),
        (spans(1 / 24, start="start_days", end="end_days"), "days from the log's start"),
        (spans(3_600_000, start="start_ms", end="end_ms"), "milliseconds from the log's start"),
        (lengths("durationMinutes", 60), "durationMinutes in minutes"),
        (lengths("duration_us", 3_600_000_000), "duration_us in microseconds"),
        (lengths("duration_h", 1), "duration_h in hours"),
    ],
)
def test_a_unit_in_a_name(frame: pd.DataFrame, said: str) -> None:
    flag = "duration=duration_us" if "duration_us" in frame else ""
    log = log_of_frame(frame, columns=flag)
    assert said in log.read_as
    assert log.masks.mean().tolist() == pytest.approx(SHARES)


def test_a_unit_that_nothing_tells_is_asked_for() -> None:
    """Two hours are 120, which could be seconds: neither overlaps."""
    frame = lengths("duration", 60)
    with pytest.raises(DataError, match="may be in seconds or minutes: .*=s or --time_unit=min"):
        log_of_frame(frame)
    assert log_of_frame(frame, time_unit="min").masks.mean().tolist() == pytest.approx(SHARES)
    log = log_of_frame(lengths("duration", HOUR))
    assert "duration in seconds" in log.read_as
    assert log.masks.mean().tolist() == pytest.approx(SHARES)


def test_minutes_that_look_like_seconds_are_warned_of(caplog: pytest.LogCaptureFixture) -> None:
    log_of_frame(spans(60))
    assert "are the times minutes (--time_unit=min; of a run --table_time_unit)?" in caplog.text
    caplog.clear()
    assert log_of_frame(spans(60), time_unit="min").masks.mean().tolist() == pytest.approx(SHARES)
    log_of_frame(spans(HOUR))
    assert not caplog.text


@pytest.mark.parametrize(
    ("column", "hours", "scale"),
    [("duration_min", 24, 60), ("online_hours", 24, 1), ("seconds_up", 1, 3600)],
)
def test_totals_of_days_or_hours_do_not_say_when(
    column: str, hours: int, scale: float, caplog: pytest.LogCaptureFixture
) -> None:
    """They were read as spans that begin at midnight, or with the hour."""
    rows = [
        (k, hours * n, hours * (n * w % 7) / 8) for n in range(8) for k, w in (("a", 3), ("b", 5))
    ]
    frame = pd.DataFrame(rows, columns=["device", "date", column])
    frame = frame.assign(date=days(frame["date"]), **{column: frame[column] * scale})
    with pytest.raises(DataError, match=f"'{column}' is a part of each {hours} h, as a total") as e:
        log_of_frame(frame)
    (flag,) = re.findall(r"begins at its time by --columns=(\S+)", str(e.value))
    assert flag == f"start=date,duration={column}"
    assert "spans, 2 devices" in log_of_frame(frame, columns=flag).read_as
    assert "does not say when a device is online; each row is read as a span" in caplog.text
    # Beside a state, that a check took some time.
    checks = frame.assign(up=[1, 1, 0, 0] * 4).rename(columns={column: "check_seconds"})
    with pytest.raises(DataError) as asked:
        log_of_frame(checks)
    assert "duration=" not in str(asked.value) and "--columns=state=up " in str(asked.value)


def test_lengths_that_end_at_their_time() -> None:
    """A row per span, when it ends; with a session an hour before each, forward they overlap."""
    found = spans(1)
    found = pd.concat([found, found.assign(start=found["start"] - 9, end=found["start"])])
    frame = pd.DataFrame(
        {
            "device": found["device"],
            "timestamp": days(found["end"]).to_numpy(),
            "duration": (found["end"] - found["start"]) * HOUR,
        }
    )
    with pytest.raises(DataError, match="from 'timestamp' on overlap, and do not if they end") as e:
        log_of_frame(frame)
    flag = re.findall("--columns=([^ ]+)", str(e.value))[0]
    assert flag == "end=timestamp,duration=duration"
    right = log_of_frame(found.assign(start=days(found["start"]), end=days(found["end"])))
    assert log_of_frame(frame, columns=flag).masks.mean().tolist() == right.masks.mean().tolist()


UP = [on for _, on, _ in ROWS]
LASTS = {"a": 2 * HOUR, "b": 3 * HOUR}


def named(**more: object) -> pd.DataFrame:
    """Events whose states have an unknown name, and words that are known."""
    more = {"kind": ["up" if on else "down" for on in UP], **more}
    return events(**more).drop(columns="online")


def by_length(found: pd.DataFrame) -> pd.DataFrame:
    lengths = (found["end"] - found["start"]).dt.total_seconds()
    return (
        found.assign(duration=lengths).drop(columns="end").rename(columns={"device": "user_name"})
    )


@pytest.mark.parametrize(
    ("frame", "flag"),
    [
        (events(is_down=[1 - on for on in UP]).drop(columns="online"), "state=is_down"),
        (
            events(offline=["no" if on else "yes" for on in UP]).drop(columns="online"),
            "state=offline",
        ),
        (events(online=[3, 7] * 20, isConnected=UP), "state=isConnected"),
        (events(state=["CA", "NY"] * 20, link=UP).drop(columns="online"), "state=link"),
        (events(time=[9.5, 1.5] * 20, ts=events()["time"]), "time=ts"),
        (
            events(
                device=["phone" if n % 9 else "tablet" for n in range(40)],
                uuid=[k for *_, k in ROWS],
            ),
            "device=uuid",
        ),
        (
            events(
                sent_at=events()["time"],
                received_at=events()["time"] + pd.to_timedelta([1, 700] * 20, unit="min"),
            ).drop(columns="time"),
            "time=sent_at",
        ),
        (events(minute=[t * 60 for t, *_ in ROWS]).drop(columns="time"), "time=minute"),
        # A length in rows that end a session alone, or 0 in the others.
        (named(duration=[None if on else LASTS[k] for _, on, k in ROWS]), "state=kind"),
        (named(duration=[0 if on else LASTS[k] for _, on, k in ROWS]), "state=kind"),
        (
            named(seconds=[None if on else 7200 for on in UP]).rename(columns={"device": "who_id"}),
            "device=who_id,state=kind",
        ),
        # States from which and to which a device goes.
        (named(**{"from": ["up", "down"] * 20}).rename(columns={"kind": "to"}), "state=to"),
        (
            named(kind=["on" if on else "off" for on in UP]).rename(
                columns={"device": "Phone, no"}
            ),
            "device=Phone, no,state=kind",
        ),
        # Known times and lengths, and a known name that all rows share.
        (spans().pipe(by_length).assign(node="vpn1"), "device=user_name"),
        # Of four codes one may be off as well as on.
        (
            named(kind=[[1, 2, 4][n % 3] * on for n, on in enumerate(UP)]),
            "state=kind,on=1/2/4,off=0",
        ),
        (
            named(kind=["idle" if on else "DOWN*+NOT_RESPONDING" for on in UP]),
            "state=kind,on=idle,off=DOWN*+NOT_RESPONDING",
        ),
        # Codes by their name, however large.
        (named(EventID=[6006 - on for on in UP], kind=1), "state=EventID,on=6005,off=6006"),
        # A type that all rows share; a reason that has a state, and numbers, name no device.
        (
            named(event_type="state_change").rename(columns={"device": "who", "time": "at"}),
            "device=who,time=at,state=kind",
        ),
        (
            named(lat=[0.25, 0.75] * 20, reason=["ok" if on else "timeout" for on in UP]).rename(
                columns={"device": "who"}
            ),
            "device=who,state=kind",
        ),
        # A column with a gap in each second row names no device, nor does the word of a state.
        (
            named(host=[k if on else None for _, on, k in ROWS]).rename(columns={"device": "who"}),
            "device=who,state=kind",
        ),
        # The step of a check is no length of a state.
        (
            named(duration=600, status=UP)
            .drop(columns="kind")
            .rename(columns={"device": "who_id", "time": "at"}),
            "device=who_id,time=at",
        ),
        # A text of all rows says that 1 may be offline.
        (
            named(name="agent is not available", value=[1 - on for on in UP]).drop(columns="kind"),
            "state=value,on=0,off=1",
        ),
        # Words of Wi-Fi beside access points, and two words of one state.
        (
            events(
                ap=[*"ABCA"] * 10, kind=["Associated" if on else "Disassociated" for on in UP]
            ).drop(columns="online"),
            "state=kind,on=Associated,off=Disassociated",
        ),
        (named(kind=["free" if on else "down,offline" for on in UP]), "state=kind,on=free"),
        # Spans where a device was, by a known time and another end, and by an end and a length.
        (spans(device="who").assign(ap=["A", "B", "C", "D"] * 5), "ignore=ap,device=who"),
        # Of two such columns each flag settles both.
        (spans().assign(ap=["A", "A", "B", "B"] * 5, kind=[*"gghhh"] * 4), "ignore=ap/kind"),
        (
            spans(start="timestamp", end="double_end_timestamp").assign(battery_end=0.9),
            "start=timestamp,end=double_end_timestamp",
        ),
        (
            spans()
            .pipe(by_length)
            .assign(start=lambda f: f["start"] + pd.to_timedelta(f["duration"], unit="s"))
            .rename(columns={"start": "expire", "duration": "lifetime"}),
            "device=user_name,end=expire,duration=lifetime",
        ),
        # As for exit codes, 0 may be success.
        (named(result_code=[1 - on for on in UP], kind=1), "state=result_code,on=0,off=1"),
    ],
)
def test_what_is_offered_is_right(frame: pd.DataFrame, flag: str) -> None:
    with pytest.raises(DataError) as error:
        log_of_frame(frame)
    assert re.search(f"--columns={re.escape(flag)}[' ]", str(error.value))
    assert not re.search("device=(lat|reason)", str(error.value))
    log = log_of_frame(frame, columns=flag)
    assert log.masks.mean().tolist() == pytest.approx(SHARES)
    assert f"{log.masks.mean().mean():.1%} online" in str(error.value)
    if flag == "state=is_down":
        turned = log_of_frame(frame, columns=f"{flag},on=1,off=0")
        assert turned.masks.mean().tolist() != pytest.approx(SHARES)


def test_spans_of_whole_days_are_said(caplog: pytest.LogCaptureFixture) -> None:
    """From the 1st to the 1st was never online, from the 1st to the 3rd for two days."""
    ends = ["2024-06-01", "2024-06-03", "2024-06-05"]
    frame = pd.DataFrame({"device": [*"aba"], "start": [ends[0], ends[0], ends[1]], "end": ends})
    log = log_of_frame(frame)
    assert "spans begin and end on one day, without a time: ends are read" in caplog.text
    assert log.masks.mean().tolist() == [0.5, 0.5]
    caplog.clear()
    log_of_frame(frame[1:])
    assert "on one day" not in caplog.text


def test_a_missing_online_is_said(caplog: pytest.LogCaptureFixture) -> None:
    log_of_frame(events().drop(index=4))
    assert "1 times a device goes offline twice in a row" in caplog.text
    assert "an online is missing" in caplog.text


def test_gaps_of_masks_are_offline_if_said() -> None:
    frame = pd.DataFrame({"a": [1, None, None, None], "b": [None, 1, None, 1]}, dtype=object)
    with pytest.raises(DataError, match="say that they are offline by --columns=off=null"):
        log_of_frame(frame)
    assert log_of_frame(frame, columns="off=null").masks.mean().tolist() == [0.25, 0.5]


@pytest.mark.parametrize("names", [("a_offline", "b_offline"), ("dev-0_down", "dev-1_down")])
@pytest.mark.parametrize("words", [(0, 1), (False, True), ("no", "yes"), ("up", "down")])
def test_yes_is_offline_in_masks_whose_columns_say_so(
    names: tuple[str, str], words: tuple[object, object]
) -> None:
    """One of four rounds offline, and three: online are 3/4 and 1/4, whichever words say so."""
    down = ([0, 0, 1, 0], [1, 1, 1, 0])
    frame = pd.DataFrame({name: [words[n] for n in each] for name, each in zip(names, down)})
    log = log_of_frame(frame)
    assert log.masks.mean().tolist() == [0.75, 0.25]
    assert log.clients == names
    assert "yes is offline, no times" in log.read_as
    timed = log_of_frame(frame.assign(time=days([0, 1, 2, 3])))
    assert timed.masks.mean().tolist() == [0.75, 0.25]
    assert "yes is offline, times in UTC, 2024-06-01" in timed.read_as
    if words != ("up", "down"):
        # What the user says of yes goes before what names say.
        as_said = log_of_frame(frame, columns=f"on={words[1]},off={words[0]}".lower())
        assert as_said.masks.mean().tolist() == [0.25, 0.75]
        assert "yes is" not in as_said.read_as


@pytest.mark.parametrize(
    ("name", "shares"),
    [
        ("{}_not_available", [0.75, 0.25]),
        ("{}NotOnline", [0.75, 0.25]),
        ("{}_not_down", [0.25, 0.75]),
        ("{}_available", [0.25, 0.75]),
        ("{} downtown", [0.25, 0.75]),
    ],
)
def test_not_in_a_name_turns_what_it_says(name: str, shares: list[float]) -> None:
    frame = pd.DataFrame({name.format("a"): [0, 0, 1, 0], name.format("b"): [1, 1, 1, 0]})
    assert log_of_frame(frame).masks.mean().tolist() == shares


def test_masks_of_which_some_columns_say_offline_are_refused() -> None:
    frame = pd.DataFrame({"ann": [1, 0, 1], "bob_offline": [0, 1, 0], "eve": [1, 1, 0]})
    with pytest.raises(DataError, match="column bob_offline says by its name that yes is offline"):
        log_of_frame(frame)
    log = log_of_frame(frame, columns="on=1,off=0")
    assert log.masks.mean().tolist() == pytest.approx([2 / 3, 1 / 3, 2 / 3])
    # Words of states need no name.
    frame["bob_offline"] = ["up", "down", "up"]
    assert log_of_frame(frame).masks.mean().tolist() == pytest.approx([2 / 3, 2 / 3, 2 / 3])


@pytest.mark.parametrize(
    "name", ["is_away", "alarm", "has_problem", "asleep", "airplane_mode", "timeout", "unhealthy"]
)
def test_yes_is_offline_in_events_whose_column_says_so(name: str) -> None:
    """What is offered for `1: away` is what `1: here` says of the opposite states."""
    frame = pd.DataFrame(ROWS, columns=["time", "online", "device"])
    frame["time"] = days(frame["time"])
    turned = frame.rename(columns={"online": name}).assign(**{name: 1 - frame["online"]})
    with pytest.raises(DataError, match=f"--columns=state={name} "):
        log_of_frame(turned)
    assert log_of_frame(turned, columns=f"state={name}").masks.mean().tolist() == (
        log_of_frame(frame).masks.mean().tolist()
    )


def test_yes_is_offline_of_monitors_that_watch_for_problems() -> None:
    frame = pd.DataFrame(ROWS, columns=["last_changed", "state", "entity_id"])
    frame["last_changed"] = days(frame["last_changed"])
    here = log_of_frame(frame.assign(state=frame["state"].map({0: "off", 1: "on"})))
    problems = frame.assign(
        state=frame["state"].map({0: "on", 1: "off"}),
        entity_id="binary_sensor." + frame["entity_id"] + "_problem",
    )
    log = log_of_frame(problems)
    assert log.masks.mean().tolist() == here.masks.mean().tolist()
    assert "(on: off; off: on)" in log.read_as


def home_assistant(domain: str, end: str, words: tuple[str, str], later: float = 0) -> pd.DataFrame:
    """Entities of phone_7 and phone_8, which are there when a and b are."""
    frame = pd.DataFrame(ROWS, columns=["last_changed", "state", "entity_id"])
    names = frame["entity_id"].map({"a": "phone_7", "b": "phone_8"})
    return frame.assign(
        last_changed=frame["last_changed"] + later,
        state=frame["state"].map(dict(enumerate(words))),
        entity_id=f"{domain}." + names + end,
    )


TRACKER = home_assistant("device_tracker", "", ("not_home", "home"))
CONNECTED = home_assistant("binary_sensor", "_connectivity", ("off", "on"))


@pytest.mark.parametrize(
    ("there", "others", "said"),
    [
        (TRACKER, [], "history: events"),
        (
            TRACKER,
            [
                home_assistant("sensor", "_battery", ("37", "80"), 0.2),
                home_assistant("sensor", "_temperature", ("21.5", "22.0"), 0.3),
            ],
            "of device_tracker, without sensor.*_battery, sensor.*_temperature: events",
        ),
        (
            CONNECTED,
            [
                home_assistant("binary_sensor", "_contact", ("on", "off")).replace(
                    "phone", "door", regex=True
                )
            ],
            "of binary_sensor.*_connectivity, without binary_sensor: events",
        ),
        (
            TRACKER,
            [home_assistant("person", "", ("not_home", "home"), 0.01)],
            "of device_tracker, without person: events",
        ),
        (
            CONNECTED,
            [home_assistant("binary_sensor", "_charging", ("on", "off"), 0.4)],
            "of binary_sensor.*_connectivity, without binary_sensor.*_charging: events",
        ),
    ],
)
def test_of_a_phones_sensors_one_says_whether_it_is_there(
    there: pd.DataFrame, others: list[pd.DataFrame], said: str
) -> None:
    """The other sensors are no devices of their own, and may be on when the phone is away."""
    mixed = pd.concat([there, *others]).sort_values("last_changed", ignore_index=True)
    log = log_of_frame(mixed.assign(last_changed=days(mixed["last_changed"])))
    assert said in log.read_as
    assert log.masks.mean().tolist() == pytest.approx(SHARES, abs=0.001)


def test_sensors_of_which_none_says_whether_a_phone_is_there() -> None:
    ends = ("_charging", "_doze")
    parts = [
        home_assistant("binary_sensor", end, ("off", "on"), n / 9) for n, end in enumerate(ends)
    ]
    mixed = pd.concat(parts).sort_values("last_changed", ignore_index=True)
    mixed["last_changed"] = days(mixed["last_changed"])
    with pytest.raises(DataError, match="entities of several kinds, .*_doze: keep the rows of one"):
        log_of_frame(mixed)
    one = mixed[mixed["entity_id"].str.endswith("_charging")]
    assert log_of_frame(one).masks.mean().tolist() == pytest.approx(SHARES, abs=0.001)


@pytest.mark.parametrize(
    ("name", "scale"), [("uptime", 1), ("uptime", 1000), ("uptime", 100), ("up_for_s", 1)]
)
def test_a_counter_since_the_start_reaches_back(name: str, scale: int) -> None:
    """Rows each 5 minutes of a device that is there, and the time since it came."""
    rows = [
        (device, hour * HOUR + at, at * scale)
        for device, begin, end in SPANS
        for hour in (begin,)
        for at in range(0, (end - begin) * HOUR, 5 * MINUTE)
    ]
    frame = pd.DataFrame(rows, columns=["device", "time", name])
    frame["time"] = pd.to_datetime(frame["time"], unit="s", origin="2024-06-01", utc=True)
    if name == "uptime":
        with pytest.raises(DataError, match=f"by --columns=end=time,duration={name} "):
            log_of_frame(frame)
    log = log_of_frame(frame, columns=f"end=time,duration={name}")
    assert log.masks.mean().tolist() == pytest.approx(SHARES, abs=0.01)
    with pytest.raises(DataError, match="do not if they end then"):
        log_of_frame(frame, columns=f"duration={name}")
    # Beside a state it says nothing that the state does not.
    changes = pd.DataFrame(ROWS, columns=["time", "online", "device"])
    changes["time"] = days(changes["time"])
    since = changes.groupby("device")["time"].diff().dt.total_seconds().fillna(0)
    counted = changes.assign(uptime=since.where(changes["online"] == 0, 0))
    assert log_of_frame(counted).masks.mean().tolist() == pytest.approx(SHARES, abs=0.01)


def test_of_a_nodes_conditions_ready_says_whether_it_is_there() -> None:
    frame = pd.DataFrame(ROWS, columns=["time", "status", "node"])
    frame["time"] = days(frame["time"])
    ready = frame.assign(status=frame["status"].map({0: "False", 1: "True"}), type="Ready")
    short = ready.iloc[3:7].assign(type="MemoryPressure", status=["True", "False"] * 2)
    log = log_of_frame(pd.concat([ready, short]))
    assert log.masks.mean().tolist() == pytest.approx(SHARES, abs=0.01)
    assert "Kubernetes' conditions of nodes, of type Ready" in log.read_as


def test_kinds_of_rows_of_a_device_are_not_mixed() -> None:
    frame = pd.DataFrame(ROWS, columns=["time", "online", "device"])
    later = frame.assign(time=frame["time"] + 0.37, kind="charger")
    both = pd.concat([frame.assign(kind="link"), later]).sort_values("time", ignore_index=True)
    with pytest.raises(DataError, match="'kind' tells apart kinds of rows of a device .keep one"):
        log_of_frame(both.assign(time=days(both["time"])))
    link = both[both["kind"] == "link"]
    log = log_of_frame(link.assign(time=days(link["time"])))
    assert log.masks.mean().tolist() == pytest.approx(SHARES, abs=0.01)


def test_what_radius_accounts_for() -> None:
    words = {1: "Start", 0: "Stop"}
    rows = [(t, device, words[on]) for t, on, device in ROWS]
    rows += [(24 * day + 1.5, "b", "Interim-Update") for day in range(10)]
    frame = pd.DataFrame(sorted(rows), columns=["time", "device", "status"])
    log = log_of_frame(frame.assign(time=days(frame["time"])))
    assert log.masks.mean().tolist() == pytest.approx(SHARES, abs=0.01)


def test_why_a_session_ended_is_no_state() -> None:
    """Each way a cause could be on or off was offered, but for that it is neither."""
    frame = spans(device="username", start="acctstarttime", end="acctstoptime")
    frame["acctterminatecause"] = ["User-Request", "Lost-Carrier", "Idle-Timeout", "Admin"] * 5
    log = log_of_frame(frame)
    assert log.masks.mean().tolist() == pytest.approx(SHARES)
    assert log.read_as.startswith("RADIUS's accounting: spans, 2 devices")
