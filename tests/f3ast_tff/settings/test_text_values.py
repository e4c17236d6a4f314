"""One rule for numbers in texts, wherever a text is read, and names that only look alike."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest

from f3ast_tff.analysis.compare.table_cells import as_number
from f3ast_tff.availability.logs.availability_log import read_log
from f3ast_tff.availability.logs.mask_files import read_masks
from f3ast_tff.availability.logs.signal_files import read_signal
from f3ast_tff.availability.logs.site_logs import read_site_log
from f3ast_tff.availability.logs.trace_files import read_traces
from f3ast_tff.availability.sites import windows_of
from f3ast_tff.availability.spell_laws import read_law
from f3ast_tff.cli.main import main
from f3ast_tff.core.client_names import client_names
from f3ast_tff.core.errors import DataError, ParameterError
from f3ast_tff.delivery.device_speeds import read_speeds
from f3ast_tff.delivery.measured_times import read_times
from f3ast_tff.models.leaf_patterns import chosen_leaves
from f3ast_tff.settings.resolve import resolve
from f3ast_tff.settings.text_values import integer_in, number_in

NO_NUMBERS = ("0x10", "1_0", "1\u0662", "\uff11\uff12", "", "1 0", "1e", "--1", "\u221e")
TEN = "010"


@pytest.mark.parametrize("text", NO_NUMBERS)
def test_no_number(text: str) -> None:
    for read in (integer_in, number_in):
        with pytest.raises(ValueError, match="in decimal digits"):
            read(text)


def test_numbers() -> None:
    assert [integer_in(text) for text in (TEN, "+3", "-4 ", "9" * 30)] == [10, 3, -4, int("9" * 30)]
    assert [number_in(text) for text in (TEN, ".5", "5.", "-1E3", "inf")] == [
        *(10, 0.5, 5, -1000),
        math.inf,
    ]
    assert math.isnan(number_in("NaN"))


@pytest.mark.parametrize("text", NO_NUMBERS[:4])
@pytest.mark.parametrize(
    "form", ["cycle:{}", "hold:2,{}", "steps:1={}", "uniform:1:{}", "poisson:{}", "markov:2,{}:0.5"]
)
def test_constraints(form: str, text: str) -> None:
    with pytest.raises(ParameterError, match="must be"):
        resolve({"constraint": form.format(text)})
    if not form.startswith("uniform"):
        resolve({"constraint": form.format(TEN)})


@pytest.mark.parametrize("text", NO_NUMBERS[:4])
@pytest.mark.parametrize("flag", ["clients_per_round", "scarce_q", "rounds"])
def test_flags(flag: str, text: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["f3ast-tff", "availability", "--availability=scarce", f"--{flag}={text}"]) == 2
    assert f"--{flag}={text}: must be a" in capsys.readouterr().err


@pytest.mark.parametrize("text", NO_NUMBERS[:4])
def test_files(text: str, tmp_path: Path) -> None:
    (tmp_path / "masks.csv").write_text(f"1,0\n{text},1\n")
    (tmp_path / "signal.csv").write_text(f"time,value\n0,3\n60,{text}\n120,4\n")
    (tmp_path / "trace.csv").write_text(f"device,time,state\na,{text},AVL_TRAIN\n")
    spans = "".join(f"a,{t},{t + 5}\nb,{t},{t + 4}\n" for t in range(0, 90, 9))
    (tmp_path / "spans.csv").write_text(f"device,start,end\na,{text},5\n{spans}")
    reads = {"masks.csv": read_masks, "signal.csv": read_signal, "trace.csv": read_traces}
    for name, read in {**reads, "spans.csv": lambda path: read_log(path, 1.0)}.items():
        with pytest.raises(DataError, match=name):
            read(tmp_path / name)


@pytest.mark.parametrize("text", NO_NUMBERS[:4])
def test_device_files_and_spell_laws(text: str, tmp_path: Path) -> None:
    speeds = tmp_path / "speeds.csv"
    speeds.write_text(f"device,computation,communication\na,{text},5\n")
    with pytest.raises(DataError, match="must be a number above 0"):
        read_speeds(speeds)
    large = '{"a": {"computation": 1%s, "communication": 1}}' % ("0" * 400)
    (tmp_path / "speeds.json").write_text(large)
    with pytest.raises(DataError, match="must be a number above 0"):
        read_speeds(tmp_path / "speeds.json")
    (tmp_path / "times.csv").write_text(f"phone,ms\na,{text}\n")
    (tmp_path / "times.json").write_text(json.dumps([{"ms": text}]))
    for name in ("times.csv", "times.json"):
        with pytest.raises(DataError, match="must be milliseconds"):
            read_times(tmp_path / name, "ms")
    with pytest.raises(ValueError, match="must be weibull"):
        read_law(f"weibull,0.5,{text}")


@pytest.mark.parametrize("text", NO_NUMBERS[:4])
def test_sites_scores_and_leaves(text: str, tmp_path: Path) -> None:
    (tmp_path / "sites.csv").write_text(f"site,round,start,end\nA,1,0,{text}\n")
    with pytest.raises(DataError, match="is no time"):
        read_site_log(tmp_path / "sites.csv")
    (tmp_path / "sites.csv").write_text(f"site,round,start,end\nA,{text},0,1\n")
    with pytest.raises(DataError, match="a round as a whole number"):
        read_site_log(tmp_path / "sites.csv")
    with pytest.raises(ValueError, match="must be days and hours"):
        windows_of(f"Sun 02-{text}")
    with pytest.raises(ParameterError, match="private = "):
        chosen_leaves(text, [], 99)
    assert as_number(text) is None and as_number(TEN) == 10


def test_names_that_differ_are_not_one_client(tmp_path: Path) -> None:
    names = ["12", "1\u0662", "\uff11\uff12", "012", "1_2"]
    spans = [f"{name},{t},{t + 50}" for name in names for t in range(0, 900, 90)]
    (tmp_path / "log.csv").write_text("\n".join(["device,start,end", *spans]))
    assert {*read_log(tmp_path / "log.csv", 10.0).clients} == {*names}
    trace = {name: [[0, "AVL_TRAIN"], [5, "UN_AVL"]] for name in [*names, "a", "a\0"]}
    (tmp_path / "trace.json").write_text(json.dumps({"devices": trace}))
    assert len({*read_traces(tmp_path / "trace.json").names}) == len(names) + 2


def test_a_name_with_nul_is_refused(tmp_path: Path) -> None:
    """pandas and NumPy would drop it, and the name could become that of another client."""
    with pytest.raises(DataError, match="NUL"):
        client_names(["a", "a\0"])
    (tmp_path / "log.csv").write_text("device,start,end\na\0,0,5\na,6,9\n")
    with pytest.raises(DataError, match="NUL"):
        read_log(tmp_path / "log.csv", 1.0)
