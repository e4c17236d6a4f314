"""K_t by a carbon or price signal."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from f3ast_tff.availability.constraints.signal import SignalK
from f3ast_tff.availability.logs.signal_files import read_signal
from f3ast_tff.core.errors import DataError, ParameterError
from f3ast_tff.settings.resolve import resolve

DAY = Path(__file__).parents[3] / "examples" / "carbon_day.csv"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "signal.csv"
    path.write_text("time,value\n0,100\n3600,300\n7200,200\n10800,400\n")
    return path


def counts(path: Path, rounds: int = 5, **given: Any) -> list[int]:
    given = {"clients_per_round": 10, "signal_least_k": 2, **given}
    constraint = SignalK(signal_file=str(path), **given).build(60, 0, 4)
    return [constraint.limit(t).k for t in range(1, rounds + 1)]


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        # The median of 100, 300, 200, 400 is 250.
        ({}, [10, 2, 10, 2, 10]),
        ({"signal_threshold": 300.0}, [10, 10, 10, 2, 10]),
        # 2 + 8 (400 - s) / 300: 10, 4.67, 7.33, 2.
        ({"signal_rule": "proportion"}, [10, 5, 7, 2, 10]),
        # 1200 / s: 12, 4, 6, 3.
        ({"signal_rule": "budget", "signal_budget": 1200.0}, [10, 4, 6, 3, 10]),
        ({"signal_rule": "budget", "signal_budget": 1.0}, [2, 2, 2, 2, 2]),
        # 900 / s: 9, 3, 4.5, 2.25; with a least K of 1 no K_t s exceeds 900.
        ({"signal_rule": "budget", "signal_budget": 900.0, "signal_least_k": 1}, [9, 3, 4, 2, 9]),
        # Two-hour rounds have means 200 and 300; with half-hour rounds each value comes twice.
        ({"signal_round_seconds": 7200.0, "signal_threshold": 200.0}, [10, 2, 10, 2, 10]),
        ({"signal_round_seconds": 1800.0}, [10, 10, 2, 2, 10]),
        ({"signal_round_seconds": 14400.0, "signal_threshold": 250.0}, [10] * 5),
    ],
)
def test_rules_by_hand(file: Path, given: dict[str, Any], expected: list[int]) -> None:
    assert counts(file, **given) == expected


def test_a_round_takes_the_mean_over_uneven_times(tmp_path: Path) -> None:
    """The first round has 100 for 900 s, then 300 for 900 s: 200.

    The last value lasts as long as the one before.
    """
    path = tmp_path / "uneven.csv"
    path.write_text("time,value\n0,100\n900,300\n3600,0\n4500,8\n")
    signal = read_signal(path)
    assert signal.edges.tolist() == [0, 900, 3600, 4500, 5400]
    np.testing.assert_allclose(signal.round_means(1800), [200, 300, 4])


@pytest.mark.parametrize(
    "times",
    [
        (1_717_372_800, 1_717_376_400),
        (1_717_372_800_000, 1_717_376_400_000),
        (20240603000000, 20240603010000),
        ("2024-06-03 02:00:00+02", "2024-06-03 03:00:00+02"),
        ("2024-06-03 00:00 UTC", "2024-06-03 01:00 UTC"),
        (0, 3600),
    ],
)
def test_the_times_of_a_signal_are_read_as_those_of_logs(
    times: tuple[Any, Any], tmp_path: Path
) -> None:
    path = tmp_path / "x.csv"
    path.write_text(f'"time","value"\n{times[0]},100\n{times[1]},300\n')
    assert np.diff(read_signal(path).edges).tolist() == [3600, 3600]
    path.write_text("time,value\n2034060300,1\n2034060301,2\n")
    with pytest.raises(DataError, match="may be seconds .* or compact dates: say which by"):
        read_signal(path)
    assert np.diff(read_signal(path, "date").edges).tolist() == [3600, 3600]


def test_free_and_constant_signals(tmp_path: Path) -> None:
    path = tmp_path / "free.csv"
    path.write_text("time,value\n0,0\n3600,-5\n")
    assert counts(path, 2, signal_rule="budget", signal_budget=1.0) == [10, 10]
    path.write_text("time,value\n0,7\n3600,7\n")
    assert counts(path, 2, signal_rule="proportion") == [10, 10]


@pytest.mark.parametrize("seconds", [3600.0, 1200.0, 10800.0])
@pytest.mark.parametrize(
    ("given", "expected"),
    [
        # 0.1129 is the median, and the threshold.
        ({}, [10, 2, 10]),
        ({"signal_threshold": 0.1129}, [10, 2, 10]),
        # 0.7903 is 7 times 0.1129, and in binary a little less.
        ({"signal_rule": "budget", "signal_budget": 0.7903}, [10, 3, 7]),
    ],
)
def test_decimal_values_are_not_off_by_rounding(
    tmp_path: Path, given: dict[str, Any], expected: list[int], seconds: float
) -> None:
    path = tmp_path / "price.csv"
    step = max(seconds, 3600.0)
    values = [0.0731, 0.2317, 0.1129] * 8
    lines = [f"{n * step},{value}" for n, value in enumerate(values)]
    path.write_text("\n".join(["time,value", *lines]))
    rounds = np.repeat(expected * 8, int(step / seconds)).tolist()
    assert counts(path, len(rounds), signal_round_seconds=seconds, **given) == rounds


@pytest.mark.parametrize("rule", ["threshold", "proportion"])
@pytest.mark.parametrize("seconds", [3600.0, 1200.0, 10800.0])
def test_a_constant_decimal_signal_gives_a_constant_k(
    tmp_path: Path, rule: str, seconds: float
) -> None:
    path = tmp_path / "flat.csv"
    path.write_text("time,value\n" + "".join(f"{3600 * n},0.1129\n" for n in range(24)))
    assert counts(path, 24, signal_rule=rule, signal_round_seconds=seconds) == [10] * 24


def test_the_example_day() -> None:
    """24 hourly values by date and time: fewest clients in the evening, most at noon."""
    signal = read_signal(DAY)
    assert signal.edges[-1] - signal.edges[0] == 86_400
    k = counts(DAY, 25, signal_rule="proportion")
    assert (k[13], k[19], k[24]) == (10, 2, k[0])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("hour,value\n", "line 1 must be time,value"),
        ("", "line 1 must be time,value"),
        ("time,value\n0,1\n", "must have two values or more"),
        ("time,value\n0,1\n0,2\n", "value 2: its time does not come after"),
        ("time,value\n0,1\nnoon,2\n", "column 'time', line 3 is 'noon': must be a time: a number"),
        ("time,value\n0,1\n5\n", "line 3: '5' is not a time and a value"),
        ("time,value\n0,1\n9,nan\n", "line 3: '9,nan' is not a time and a value within"),
        ("time,value\n0,1\n9,1e308\n", "line 3: '9,1e308' is not a time and a value within"),
        (
            "time,value\n0,1\n1e999,2\n",
            "column 'time', line 3 is '1e999': must be a time: a number",
        ),
    ],
)
def test_a_bad_file_is_one_clear_error(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "bad.csv"
    path.write_text(text)
    with pytest.raises(DataError, match=message) as raised:
        read_signal(path)
    assert str(raised.value).startswith(str(path)) and "\n" not in str(raised.value)
    with pytest.raises(DataError, match="gone.csv: there is no such file"):
        read_signal(tmp_path / "gone.csv")


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"signal_round_seconds": 5000.0}, "signal_round_seconds = 5000.0: must divide"),
        ({"signal_round_seconds": 1e-300}, "signal_round_seconds = 1e-300: must be above 0"),
        ({"signal_rule": "budget"}, "signal_budget = : must be given with signal_rule=budget"),
        ({"signal_budget": 3.0}, "signal_budget = 3.0: only applies with signal_rule=budget"),
        ({"signal_least_k": 11}, "signal_least_k = 11: must be at most clients_per_round, 10"),
        ({"clients_per_round": 61}, "clients_per_round = 61: K must be at most num_clients, 60"),
    ],
)
def test_settings_that_are_not_allowed(file: Path, given: dict[str, Any], message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        counts(file, **given)


def test_by_settings() -> None:
    given = {"constraint": "signal", "signal_file": str(DAY), "clients_per_round": 8}
    config = resolve(given).configs["constraint"]
    assert config.build(60, 0, 4).largest_k == 8
    with pytest.raises(ParameterError, match="constraint = signal:x: must be signal alone"):
        resolve({**given, "constraint": "signal:x"})
