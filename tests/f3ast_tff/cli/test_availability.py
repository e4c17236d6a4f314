"""The command line of the preview."""

from __future__ import annotations

import errno
import hashlib
import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from f3ast_tff.cli.availability import main
from f3ast_tff.files.exit_codes import BAD_INPUT
from f3ast_tff.run.build import Builder
from f3ast_tff.run.run_experiment import run_experiment
from f3ast_tff.settings.resolve import resolve
from tests.commands import Cli

ROOT = Path(__file__).resolve().parents[3]
DAY = ROOT / "examples" / "carbon_day.csv"


@pytest.mark.long
def test_table_and_picture(tmp_path: Path, cli: Cli) -> None:
    out = tmp_path / "out.png"
    arguments = ["--availability=alternating", "--num_clients=10", "--rounds=40", f"--plot={out}"]
    shown = cli.said(main(["preview", *arguments, "--constraint=4", "--alternating_period=5"])).out
    printed = shown.splitlines()
    assert printed[0] == "alternating, 10 clients, 40 rounds, seed 0"
    assert printed[1] == "mean available         5 of 10 (0.5000)"
    assert "K_t                    mean 4, 0 rounds with fewer available" in printed
    assert printed[-1] == f"picture: {out}"
    assert out.read_bytes().startswith(b"\x89PNG")


def test_a_log_may_be_named_first(tmp_path: Path, cli: Cli) -> None:
    log = tmp_path / "log.csv"
    log.write_text("device,start,end\nann,0,7200\nbob,3600,7200\n")
    printed = cli.said(main(["availability", str(log), "--rounds=4"])).out
    assert printed.startswith("table, 2 clients, 4 rounds, seed 0\n")
    printed = cli.said(main(["availability", "smartphones"]), BAD_INPUT).err
    assert "'smartphones' is not a flag" in printed


def test_parameters_and_the_seed_change_what_is_shown(cli: Cli) -> None:
    outputs = []
    for arguments in (
        ["--availability=uneven"],
        ["--availability=uneven", "--seed=1"],
        ["--availability=uneven", "--shares_spread=0"],
        ["--availability=mix", "--availability_parts=uneven,always"],
        ["--availability=mix", "--availability_parts=uneven,always", "--mix_shares=9,1"],
    ):
        printed = cli.said(main(["preview", "--num_clients=30", "--rounds=20", *arguments])).out
        outputs.append(printed.partition("\n")[2])
    assert len(set(outputs)) == 5


def test_processes_by_labels_are_shown_with_drawn_labels(cli: Cli) -> None:
    """A single class has smallest label 0, so all clients are available if p_min = 1."""
    outputs = []
    for arguments in (
        ["--availability=smallest_label"],
        ["--availability=smallest_label", "--labels_alpha=10"],
        ["--availability=product", "--availability_parts=smallest_label,always"],
        ["--availability=smallest_label", "--num_classes=1", "--smallest_label_least=1"],
    ):
        printed = cli.said(main(["preview", "--num_clients=30", "--rounds=20", *arguments])).out
        outputs.append(printed.partition("\n")[2])
    assert len(set(outputs)) == 4
    assert "mean available         30 of 30" in outputs[3]


# Errors of this command, and one of each part that it passes flags to.
BAD = {
    "unknown_flag": (["--foo=1"], ["foo"]),
    "near_flag": (["--num_client=1"], ["num_client", "num_clients"]),
    "not_a_flag": (["markov"], ["'markov' is not a flag", "--help"]),
    "not_a_number": (["--rounds=many"], ["--rounds=many"]),
    "near_part": (
        ["--availability=mix", "--availability_parts=always,scarse"],
        ["--availability_parts=scarse: did you mean scarce?", "It must be one of always"],
    ),
    "no_clients": (["--num_clients=0"], ["--num_clients=0", "at least 1"]),
    "no_rounds": (["--rounds=0"], ["--rounds=0", "at least 1"]),
    "negative_seed": (["--seed=-1"], ["--seed=-1", "at least 0"]),
    "spread": (["--shares_spread=nan"], ["--shares_spread=nan", "at least 0"]),
    "of_another": (
        ["--availability=scarce", "--markov_g=0.1"],
        ["--markov_g=0.1: only applies with availability four_classes"],
    ),
    "no_file": (["--availability=table", "--table_file=gone.csv"], ["gone.csv", "no such file"]),
    "its_form": (["--constraint=uniform:1"], ["uniform:1: must be uniform:LEAST:MOST"]),
    "too_large_k": (["--constraint=101"], ["--clients_per_round=101", "at most num_clients, 100"]),
    "no_bytes": (["--constraint=bytes:1e6"], ["--constraint=bytes:1e6", "no sizes"]),
    "plugin": (["--plugin=gone.py"], ["--plugin=gone.py: not found"]),
    "not_masks": (["--write=out.txt"], ["--write=out.txt: must end in .csv or .npy or .npz"]),
    "no_place": (["--write=gone/out.csv"], ["--write=gone/out.csv: there is no folder gone"]),
    "not_png": (["--plot=out.pdf"], ["--plot=out.pdf", ".png"]),
    "no_folder": (["--plot=gone/out.png"], ["--plot=gone/out.png", "no folder gone"]),
}


@pytest.mark.parametrize(("arguments", "said"), BAD.values(), ids=BAD)
def test_bad_input_is_one_line_and_exit_code_2(
    arguments: list[str], said: list[str], cli: Cli
) -> None:
    printed = cli.said(main(["preview", *arguments]), BAD_INPUT)
    assert printed.out == ""
    assert printed.err.startswith("error: ")
    assert len(printed.err.splitlines()) == 1
    for text in said:
        assert text in printed.err


def test_who_is_present_and_a_signal(cli: Cli) -> None:
    """Poisson(50) clients, a budget of 2500 for K_t s_t: from floor(2500 / 402) = 6 to 14."""
    arguments = ["--availability=poisson_arrivals", "--presence_arrivals=1", "--presence_stay=50"]
    signal = ["--constraint=signal", f"--signal_file={DAY}"]
    rule = ["--signal_rule=budget", "--signal_budget=2500", "--clients_per_round=20"]
    printed = cli.said(main(["preview", *arguments, *signal, *rule, "--rounds=48"])).out
    assert re.search(r"^mean present {11}[3-7]\d", printed, flags=re.MULTILINE)
    values = [int(line.split(",")[1]) for line in DAY.read_text().splitlines()[1:]]
    mean = sum(2500 // value for value in values) / 24
    assert f"K_t                    mean {mean:.4g}," in printed


@pytest.mark.long
def test_a_picture_that_cannot_be_written(tmp_path: Path, cli: Cli) -> None:
    folder = tmp_path / "out.png"
    folder.mkdir()
    printed = cli.said(main(["preview", "--rounds=3", f"--plot={folder}"]), BAD_INPUT).err
    assert f"--plot={folder}: cannot write: Is a directory" in printed
    assert list(tmp_path.iterdir()) == [folder]


def test_a_full_disk_is_no_bad_input(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The command `f3ast-tff` ends with exit code 1 on it, whichever its subcommand."""

    def full(number: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space left") as raised:
        main(["availability", "--rounds=3", f"--write={tmp_path / 'masks.csv'}"])
    assert raised.value.filename == str(tmp_path / "masks.csv")
    assert not list(tmp_path.iterdir())


def test_help_names_every_flag(cli: Cli) -> None:
    printed = cli.said(main(["preview", "--help"])).out
    for text in ("--plot", "--trace_states", "--markov_nu", "default: 0.9", "must be given"):
        assert text in printed


PLUGIN = """
from dataclasses import dataclass
import numpy as np
from f3ast_tff.availability.process import AvailabilityConfig
from f3ast_tff.settings import Derived, parameter, register

class First:
    positively_correlated, periodic, stationary = False, False, None
    def __init__(self, n, until, dtype=bool):
        self.num_clients, self.until, self.dtype = n, until, dtype
    def mask(self, t):
        return np.full(self.num_clients, t <= self.until, self.dtype)

@register("availability", "first", about="all clients in the first rounds")
@dataclass(frozen=True)
class FirstConfig(AvailabilityConfig):
    until: int = parameter(Derived(lambda known: known["rounds"] // 4, "a quarter"), "last round")
    def build(self, p, seed):
        return First(len(p), self.until, bool if self.until else float)
"""


def test_a_process_from_a_plugin(tmp_path: Path, cli: Cli) -> None:
    (tmp_path / "own.py").write_text(PLUGIN)
    plugin = f"--plugin={tmp_path / 'own.py'}"
    shown = cli.said(main(["preview", "--rounds=40", "--availability=first", plugin])).out
    assert "empty rounds           30 of 40" in shown
    words = ["--plugin", str(tmp_path / "own.py"), "--availability=product"]
    words += ["--availability_parts=first,always", "--until=8", "--rounds=40"]
    printed = cli.said(main(["preview", *words])).out
    assert printed.startswith("product of first,always, ")
    assert "empty rounds           32 of 40" in printed
    assert "--until" in cli.said(main(["preview", "--help", plugin])).out
    shown = cli.said(main(["preview", plugin, "--availability=first", "--until=0"]), BAD_INPUT).err
    assert "availability First: mask(1) returned" in shown


def test_the_command_runs_and_bad_input_imports_nothing_slow() -> None:
    """`-X importtime` lists the imported modules on stderr."""
    module = "f3ast_tff.cli.main"
    command = [sys.executable, "-X", "importtime", "-m", module, "availability", "--plot=out.pdf"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == BAD_INPUT
    assert re.search(r"\|\s+f3ast_tff\.availability\.preview\b", done.stderr)
    for slow in ("matplotlib", "pandas", "scipy", "tensorflow", "jax"):
        assert not re.search(rf"\|\s+{slow}\b", done.stderr)


@pytest.mark.long
def test_masks_of_a_task_are_those_of_its_runs(tmp_path: Path, cli: Cli) -> None:
    """Uneven follows the data, which differ by draw; masks equal the run's to the byte.

    An objective of equal shares has the same masks.

    The digest is the .csv file's, whatever form is written.
    """
    settings = {"availability": "uneven", "task": "synthetic", "data_seed": 3, "seed": 3}
    run_experiment(resolve({**settings, "rounds": 2, "write_masks": "csv"}), tmp_path / "run")
    expected = (tmp_path / "run" / "masks.csv").read_bytes()
    said = hashlib.sha256(expected).hexdigest()
    flags = [f"--{name}={value}" for name, value in {**settings, "rounds": 2}.items()]
    for form in ("csv", "npz"):
        out = tmp_path / f"masks.{form}"
        printed = cli.said(main(["preview", *flags, f"--write={out}"])).out
        assert f"SHA-256 of the masks as .csv: {said}" in printed
    assert (tmp_path / "masks.csv").read_bytes() == expected
    equal = Builder(resolve({**settings, "client_share": "equal"})).world.availability
    table = np.loadtxt(tmp_path / "masks.csv", delimiter=",", dtype=int)
    assert not table.all()
    np.testing.assert_array_equal([equal.mask(1), equal.mask(2)], table)
    assert main(["preview", *flags, "--task=nothing"]) == BAD_INPUT
    assert main(["preview", "--data_seed=3"]) == BAD_INPUT


def test_k_t_is_that_of_the_task_s_run(cli: Cli) -> None:
    """With one availability for all seeds K_t has one too, and a budget knows the model's bytes."""
    common = ["--task=synthetic", "--reading=released", "--rounds=8", "--seed=5"]
    given = {"reading": "released", "constraint": "uniform:2:8", "seed": 5}
    limit = Builder(resolve(given)).world.constraint.limit
    mean = sum(limit(t).k for t in range(1, 9)) / 8
    printed = cli.said(main(["preview", *common, "--constraint=uniform:2:8"])).out
    assert f"K_t                    mean {mean:g}, " in printed
    for algorithm, k in (("fedavg_all", 10), ("scaffold", 5)):
        printed = cli.said(
            main(["preview", *common, "--constraint=bytes:24400", f"--algorithm={algorithm}"])
        ).out
        assert f"K_t                    mean {k}, " in printed
