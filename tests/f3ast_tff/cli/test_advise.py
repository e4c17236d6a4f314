"""`f3ast-tff advise`."""

from __future__ import annotations

import errno
import os
import shlex
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest

from f3ast_tff.advice.trial import candidates_of, study_rates
from f3ast_tff.cli.advise import main as advise_command
from f3ast_tff.cli.main import main
from tests.commands import Cli

pytestmark = pytest.mark.usefixtures("host_by_default")


@pytest.fixture(autouse=True)
def own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Advice is written into the current folder."""
    monkeypatch.chdir(tmp_path)


@pytest.fixture(autouse=True)
def small_plan(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Rates settle in 100 rounds, and nothing is drawn: `tests/f3ast_tff/advice` tests both."""
    if request.function is not test_the_page_of_the_example:
        monkeypatch.setattr(import_module("f3ast_tff.advice.plan"), "_SETTLING", 0.1)
        monkeypatch.setattr("f3ast_tff.advice.deploy._drawn", lambda table: b"")


ROOT = Path(__file__).resolve().parents[3]
LOG = str(ROOT / "examples/online.csv")


@pytest.mark.long
def test_the_page_of_the_example(tmp_path: Path, cli: Cli) -> None:
    """The page is in the docs. Shares by client name, in another order, change p."""
    out = cli.out("advise", LOG, "--clients_per_round=3,6", "--no-trial")
    page = (ROOT / "docs/advise.md").read_text()
    # Here the page names the log by its full path.
    assert out.partition(": ")[2].partition("Method to begin with")[0] in page
    names = [f"phone-{k:02d},{k + 1}" for k in reversed(range(40))]
    (tmp_path / "shares.csv").write_text("\n".join(["client,examples", *names]))
    given = [f"--shares={tmp_path / 'shares.csv'}", "--clients_per_round=3", "--no-trial"]
    assert "--client_share=examples" in cli.out("advise", LOG, *given)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "a log must be named first"),
        (["gone.csv"], "gone.csv: there is no such file"),
        (["~nosuchuser/log.csv"], "~nosuchuser/log.csv: there is no such file"),
        ([LOG, "--clients_per_round=3,41"], "--clients_per_round=3,41: must be in 1..40"),
        ([LOG, "--clients_per_round=a"], "--clients_per_round=a: must be whole numbers"),
        ([LOG, "--no-trial", "--rounds=5"], "--rounds=5: does not apply with --no-trial"),
        ([LOG, "--no-trial", "--draws=7"], "--draws=7: does not apply with --no-trial"),
        ([LOG, "--shares=gone.csv"], "--shares=gone.csv: cannot be read"),
        ([LOG, "--no-trial", "--out=/proc/x"], "--out=/proc/x: cannot write: "),
        ([LOG, "--methods=fedavg"], "--methods=fedavg: must be two or more"),
        ([LOG, "--methods=x"], "--methods=x: algorithm x must be one of "),
        ([LOG, "--task=synthetic", "--rounds=0", "--draws=2"], "--rounds=0: must be at least 1"),
        ([LOG, "--client_share=examples"], "--client_share=examples: is of your data"),
        ([LOG, "--num_clients=3"], "--num_clients=3: must be 40, as in the log"),
        ([LOG, "--seed=1"], "--seed=1: is set by the trial"),
        ([LOG, "--availability=always"], "--availability=always: is set by the trial"),
        (
            [LOG, "--task=file", "--data_file=a.csv", "--shares=b.csv"],
            "--shares=b.csv: is not for data of your own",
        ),
    ],
)
def test_refused(arguments: list[str], message: str, cli: Cli) -> None:
    assert message in cli.err("advise", *arguments)


def test_shares_of_a_client_that_the_log_lacks_are_refused(tmp_path: Path, cli: Cli) -> None:
    log, shares = tmp_path / "log.csv", tmp_path / "shares.csv"
    log.write_text("device,time,online\na,0,1\nb,0,1\nb,7200,0\n")
    shares.write_text("client,examples\na,1\nb,2\nc,3\n")
    said = "names 2 of the 3 clients that hold data, and lacks 'c': leave them out"
    assert said in cli.err("advise", log, f"--shares={shares}", "--no-trial")
    for wrong in ("x", "-1", "0"):
        shares.write_text(f"client,share\na,1\nb,{wrong}\n")
        printed = cli.err("advise", log, f"--shares={shares}", "--no-trial")
        assert f"line 3 has '{wrong}', must be a number above 0" in printed
    shares.write_text("client,label\na,1\na,2\nb,1\n")
    assert "names client a twice" in cli.err("advise", log, f"--shares={shares}", "--no-trial")


@pytest.mark.long
def test_shares_may_sum_beyond_the_largest_number_but_not_vanish(tmp_path: Path, cli: Cli) -> None:
    log, shares = tmp_path / "log.csv", tmp_path / "shares.csv"
    log.write_text("a,b\n" + "1,1\n0,1\n1,0\n" * 4)
    pages = []
    for values in (("1.7e308", "1.7e308"), ("1", "1")):
        shares.write_text("client,share\na,{}\nb,{}\n".format(*values))
        pages.append(cli.out("advise", log, f"--shares={shares}", "--no-trial"))
    assert pages[0] == pages[1]
    shares.write_text("client,share\na,1e300\nb,1e-320\n")
    printed = cli.err("advise", log, f"--shares={shares}", "--no-trial")
    assert "beside 1e+300: as shares of each other they are 0" in printed


def test_advice_and_trial_are_about_the_clients_that_hold_data(tmp_path: Path, cli: Cli) -> None:
    """Client c, always online, holds no data; one of b's spans has no end."""
    log, data = tmp_path / "log.csv", tmp_path / "data.csv"
    log.write_text(
        "connected_at;device;disconnected_at\n0;c;7200\n0;a;3600\n3600;b;\n7200;a;9000\n"
    )
    rows = [f"{name},{k % 2},{k}" for name in "ab" for k in range(6)]
    data.write_text("\n".join(["client,label,x", *rows]))
    given = ["--task=file", f"--data_file={data}", "--methods=fedavg,f3ast"]
    small = ["--rounds=2", "--draws=2", "--clients_per_round=1"]
    out, err = cli.said(main(["f3ast-tff", "advise", str(log), *given, *small]))
    assert "1 of 4 spans have no end" in err and "1 of the log's 3 clients hold no data" in err
    assert ": 2 clients, 3 rounds" in out and "no verdict: 5 draws are needed" in out
    command = " ".join(out.replace("\\", "").split())
    assert f"--table_file={log} --task=file --data_file={data}" in command


@pytest.mark.long
def test_the_printed_code_reads_what_is_written(tmp_path: Path, cli: Cli) -> None:
    printed = cli.out("advise", LOG, "--no-trial", "--out=my 'advice'")
    code, _, said = printed.partition("Deploy it\n")[2].rpartition("\n\n")
    assert said == "my 'advice': clients.csv, page.txt and neglect.png are written\n"
    names: dict[str, Any] = {}
    exec(code.partition("# Or in Flower")[0], names)
    model = np.zeros(2)
    for available in (np.zeros(40, bool), np.ones(40, bool)):
        model = names["play_round"](1, model, available, lambda model, ids: {})
    assert model.tolist() == [0, 0] and len(names["clients"]) == 40


@pytest.mark.long
def test_a_full_disk_is_no_bad_input(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def full(number: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space left"):
        advise_command(["advise", LOG, "--no-trial"])
    assert list(tmp_path.iterdir()) == []


def test_a_log_and_data_of_other_clients_are_refused(tmp_path: Path, cli: Cli) -> None:
    data = tmp_path / "data.csv"
    data.write_text("client,label,x\n" + "".join(f"{k % 3},{k % 2},{k}\n" for k in range(60)))
    given = ["--task=file", f"--data_file={data}", "--clients_per_round=2"]
    said = "the log has 40 clients, the data 3, and they share no name"
    assert said in cli.err("advise", LOG, *given)


def test_the_command_that_the_page_ends_with_runs(tmp_path: Path, cli: Cli) -> None:
    """The log's name has a space; a trace with chosen states has no command, only flags."""
    log = tmp_path / "my log.csv"
    log.write_text("device,start,end\n" + "".join(f"d{k},0,7200\n" for k in range(6)))
    given = ["--clients_per_round=2", "--round_seconds=1800", "--no-trial"]
    printed = cli.out("advise", log, *given).partition("Simulate it\n")[2].partition("\n\n")[0]
    words = shlex.split(printed.replace("\\\n", " "))
    assert words[:2] == ["f3ast-tff", "run"] and f"--table_file={log}" in words
    # F3AST's rates of the trial, with its local work.
    rates = study_rates(candidates_of(["f3ast", "fedavg"])[0], "equal")
    assert {f"--{name}={value}" for name, value in rates.items()} < {*words}
    assert "--local_steps=5" in words and len(rates) == 2
    assert main([*words, "--rounds=2", f"--output_dir={tmp_path}"]) == 0
    trace = tmp_path / "trace.json"
    trace.write_text('{"devices": {"a": [[0, "UN_AVL"], [3600, "AVL_EVAL"], [7200, "UN_AVL"]]}}')
    shown = cli.out("advise", trace, "--eligible=AVL_EVAL", "--no-trial")
    assert "Flags of a run\n  --algorithm=" in shown


@pytest.mark.long
def test_a_method_of_ones_own_is_tried_on_a_log(tmp_path: Path, cli: Cli) -> None:
    """A wrong name is refused before the first run."""
    given = [f"--plugin={ROOT / 'examples/plugins/greedy_loss.py'}", "--rounds=2"]
    small = ["--draws=2", "--clients_per_round=2", "--num_clients=40"]
    err = cli.err("advise", LOG, *given, *small, "--methods=fedavg,greedy_los")
    assert "did you mean greedy_loss?" in err and "trial with K" not in err
    printed = cli.out("advise", LOG, *given, *small, "--methods=fedavg,greedy_loss")
    assert "  greedy_loss " in printed.partition("Tried on this log: ")[2]


@pytest.mark.long
def test_a_trial_on_own_data_knows_the_plug_ins(tmp_path: Path, cli: Cli) -> None:
    data, log = tmp_path / "data.csv", tmp_path / "log.csv"
    data.write_text("client,label,x,y\n" + "".join(f"{k % 3},{k % 2},{k},1\n" for k in range(60)))
    log.write_text("1,1,1\n1,0,1\n")
    given = [f"--plugin={ROOT / 'examples/plugins/moons.py'}", "--task=file"]
    given += [f"--data_file={data}", "--model=small_mlp", "--methods=fedavg,f3ast"]
    small = ["--rounds=2", "--draws=2", "--clients_per_round=2"]
    assert "Tried on this log: user accuracy" in cli.out("advise", log, *given, *small)


@pytest.mark.long
def test_the_objective_of_a_trial_is_that_of_the_page(tmp_path: Path, cli: Cli) -> None:
    """Client a has one batch of 20, b two of them: with K = N the best rates are the shares online.

    FedAvg's weight of b is 5 / 6 then, where p is 2 / 3, or 1 / 2.
    """
    log, data = tmp_path / "log.csv", tmp_path / "data.csv"
    log.write_text("a,b\n" + "1,1\n0,1\n" * 12)
    rows = [f"{name},{k % 2},{k}\n" for name, n in (("a", 20), ("b", 44)) for k in range(n)]
    data.write_text("client,label,x\n" + "".join(rows))
    given = ["--task=file", f"--data_file={data}", "--methods=fedavg,f3ast"]
    given += ["--rounds=2", "--draws=2", "--clients_per_round=2", "--batch_size=20"]
    for share, bias in (("batches", 5 / 6 - 2 / 3), ("equal", 3 / 4 - 1 / 2)):
        out = cli.out("advise", log, *given, f"--client_share={share}")
        assert f"--client_share={share}" in out.partition("Simulate it")[2]
        assert f"{bias:.3f}" in out.partition("Bias of FedAvg")[2].partition("Best rates")[0]
    assert "Tried on this log: user accuracy" in out


def test_a_trace_with_several_lists_asks_for_one(tmp_path: Path, cli: Cli) -> None:
    path = tmp_path / "trace.json"
    lists = '{"one": [[0, "AVL_TRAIN"]], "two": [[0, "UN_AVL"]]}'
    path.write_text(f'{{"devices": {{"a": {lists}}}}}')
    assert "--states=: must be one of one, two" in cli.err("advise", path, "--no-trial")


def test_help(cli: Cli) -> None:
    assert "--round_seconds" in cli.out("advise", "--help")


def test_shares_find_clients_without_names_by_their_numbers(tmp_path: Path, cli: Cli) -> None:
    """p = (.1, .2, .7); 0 and 1 take turns beside 2, which FedAvg trains for (7/8 + 7/9) / 2."""
    log, shares = tmp_path / "masks.csv", tmp_path / "shares.csv"
    log.write_text("1,0,1\n0,1,1\n")
    shares.write_text("client,share\n2,70\n0,10\n1,20\n")
    # 1/8 / 2 and 2/9 / 2 and 119/144, over p.
    printed = cli.out("advise", log, f"--shares={shares}", "--no-trial")
    assert "least: 1 0.56, 0 0.62, 2 1.18" in printed


def test_shares_find_clients_that_pandas_wrote_with_a_point(tmp_path: Path, cli: Cli) -> None:
    log, shares = tmp_path / "log.csv", tmp_path / "shares.csv"
    log.write_text("device,start,end\n2,0,7200\n10.0,0,3600\n")
    shares.write_text("client,share\n10,3\n2.0,1\n")
    # p = (.75, .25); in the second of two rounds client 2 is alone: (.75 / 2, 1.25 / 2) over p.
    assert "least: 10 0.50, 2 2.50" in cli.out("advise", log, f"--shares={shares}", "--no-trial")


def test_clients_that_never_change(tmp_path: Path, cli: Cli) -> None:
    """There is no correlation over time."""
    log = tmp_path / "masks.csv"
    log.write_text("ann,eve\n" + "1,0\n" * 8)
    out = cli.out("advise", log, "--no-trial")
    assert "over time        no client changes its state\n" in out and "nan" not in out


@pytest.mark.long
def test_the_rounds_of_masks(tmp_path: Path, cli: Cli) -> None:
    """Their length is given, or follows from times; a run of masks has no clock."""
    log, timed = tmp_path / "masks.csv", tmp_path / "timed.csv"
    rows = [f"{int(t % 8 < 4)},{int(t % 8 > 5)}" for t in range(48)]
    log.write_text("ann,eve\n" + "\n".join(rows))
    timed.write_text(
        "time,ann,eve\n" + "\n".join(f"{3600 * 3 * t},{r}" for t, r in enumerate(rows))
    )
    pages = []
    for arguments in ([str(log), "--round_seconds=10800"], [str(timed)]):
        printed = cli.out("advise", *arguments, "--no-trial")
        read, _, page = printed.replace(arguments[0], "LOG").partition("\n")
        times = "seconds from the log's start, 6 days, rounds of 3 h" if pages else "no times"
        assert read == f"LOG: read as masks, 2 clients (ann, eve), {times}"
        pages.append(page)
    assert pages[0] == pages[1]
    assert "48 rounds of 3 h" in pages[0] and "over a day" in pages[0]
    assert "table_round_seconds" not in pages[0]
    printed = cli.err("advise", timed, "--round_seconds=600")
    assert "--round_seconds=600: must be 10800, the time from row" in printed


def test_a_log_with_columns_and_a_clock_of_its_own(tmp_path: Path, cli: Cli) -> None:
    """JSON lines, epoch microseconds, other names; the printed command reads it alike."""
    log = tmp_path / "events.jsonl"
    lines = [
        f'{{"imei": {k % 4}.0, "ts": {(1_717_372_800 + 3600 * k) * 10**6}, "event": "{word}"}}'
        for k in range(40)
        for word in ("connect" if k % 8 < 4 else "disconnect",)
    ]
    log.write_text("\n".join(lines))
    assert "two columns have the name" not in cli.err("advise", log, "--no-trial")
    given = ["--columns=device=imei,time=ts,state=event", "--max_visit=7200", "--time_unit=us"]
    given += ["--clients_per_round=2", "--no-trial"]
    out = cli.out("advise", log, *given)
    said = "events, 4 devices, microseconds since 1970, 2024-06-03 to 06-04, rounds of 1 h; "
    said += "by device = imei, time = ts, state = event (on: connect; off: disconnect); "
    said += "not used: none"
    assert out.startswith(f"{log}: read as {said}\n40 entries: 4 clients, 39 rounds of 1 h")
    words = shlex.split(out.partition("Simulate it\n")[2].partition("\n\n")[0].replace("\\\n", " "))
    assert {"--table_max_visit=7200", "--table_time_unit=us"} < {*words}
    assert main([*words, "--rounds=2", f"--output_dir={tmp_path}"]) == 0
    for wrong, message in (
        ("--columns=device=who", "--columns=device=who: must name columns of the log: imei, ts"),
        ("--time_unit=weeks", "--time_unit=weeks: must be one of"),
        ("--max_visit=0", "--max_visit=0: must be at least 1"),
    ):
        assert message in cli.err("advise", log, wrong)


def minutes_of_days(path: Path) -> None:
    """Three days of masks of minutes: ann by day, eve at night, bob from the second day on."""
    rows = []
    for t in range(3 * 1440 + 1):
        hour = t // 60 % 24
        states = (int(8 <= hour < 16), int(not 8 <= hour < 20), int(t >= 1440))
        rows.append(
            f"2024-06-0{1 + t // 1440}T{hour:02}:{t % 60:02}:00Z,{','.join(map(str, states))}"
        )
    path.write_text("time,ann,eve,bob\n" + "\n".join(rows))


@pytest.mark.long
def test_masks_of_minutes_in_rounds_of_an_hour(tmp_path: Path, cli: Cli) -> None:
    """Said is which row of the hour counts; the profile is by hours; the command reads it alike."""
    log = tmp_path / "minutes.csv"
    minutes_of_days(log)
    given = ["--clients_per_round=1", "--no-trial"]
    fine = cli.out("advise", log, *given)
    assert "4321 rounds of 60 s" in fine
    # ann and eve are both away from 16 to 20; bob is there on two days of three.
    assert "over a day       22.2% in hour 16, 55.6% in hour 0" in fine
    out = cli.out("advise", log, "--round_seconds=3600", *given)
    assert "rounds of 1 h, of each its first row of 60 s (50.0% of the rows online, 50.2% of" in out
    assert "73 rounds of 1 h" in out and "over a day       22.2% in hour 16, 55.6% in hour 0" in out
    words = shlex.split(out.partition("Simulate it\n")[2].partition("\n\n")[0].replace("\\\n", " "))
    assert "--table_columns=round_seconds=3600" in words
    assert main([*words, "--rounds=2", f"--output_dir={tmp_path}"]) == 0
    said = "--round_seconds=90: must be 60, the time from row to row, or a multiple of it"
    assert said in cli.err("advise", log, "--round_seconds=90", *given)


def test_the_page_comes_first_and_its_verdict_says_what_it_is_about(
    tmp_path: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A log of 20 hours, in rounds of 10 minutes: the trial takes 2 of its 120."""
    seen = []
    monkeypatch.setattr(
        "f3ast_tff.advice.trial.simulate", lambda **_: seen.append(cli.printed().out) or _scored()
    )
    log = tmp_path / "log.csv"
    rows = [f"d{k},{t * 600},{int((t + k) // 10 % 2)}" for t in range(121) for k in range(4)]
    log.write_text("device,time,online\n" + "\n".join(rows))
    given = ["--round_seconds=600", "--clients_per_round=2", "--draws=5", "--rounds=2"]
    given.append("--task=synthetic")
    assert main(["f3ast-tff", "advise", str(log), *given, "--methods=fedavg,f3ast"]) == 0
    assert "Who is online" in seen[0] and "Best rates r*" in seen[0]
    out = cli.printed().out
    assert "Who is online" not in out and out.startswith("Tried on this log: ")
    covered = "(by 2 of the log's 120 rounds, spread over it and a log of 20 h, less than a day)"
    assert covered in " ".join(out.split())


def _scored() -> SimpleNamespace:
    row = {"round": 2, "test_user_accuracy": 0.5, "test_user_loss": 1.0}
    return SimpleNamespace(metrics=pd.DataFrame([row]), summary={})


def test_a_client_that_appears_on_the_second_day_is_said_to_be_away_before(
    tmp_path: Path, cli: Cli
) -> None:
    log = tmp_path / "log.csv"
    spans = [
        f"d{k},{3600 * (h + 30 * (k == 3))},{3600 * (h + 2)}" for k in range(3) for h in (0, 50)
    ]
    log.write_text("\n".join(["device,start,end", *spans, "late,108000,115200"]))
    out = cli.out("advise", log, "--clients_per_round=1", "--no-trial")
    assert "  late             1 client (late) first seen after a day or more: away before" in out
