"""Bad input gives one line on stderr and exit code 2, without slow imports or a traceback."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from f3ast_tff.cli.main import main
from f3ast_tff.engines.components import FusedConfig
from tests.commands import Cli

ROOT = Path(__file__).resolve().parents[3]
# Arguments, and words of the line.
BAD = {
    "unknown_flag": (["--foo=1"], ["foo"]),
    "misspelt_flag": (["--algoritm=poc"], ["algoritm", "algorithm"]),
    "flag_in_other_words": (["--client_learning_rate=1"], ["did you mean --client_lr?"]),
    "not_a_command": (["f3ast"], ["'f3ast'", "run, campaign"]),
    "not_a_flag": (["run", "--rounds=1", "f3ast"], ["'f3ast' is not a flag", "--help"]),
    "no_value": (["--rounds"], ["--rounds"]),
    "unknown_name": (["--algorithm=fedsgd"], ["--algorithm=fedsgd", "fedavg", "f3ast_adam"]),
    "not_a_number": (["--rounds=many"], ["--rounds=many"]),
    "k_0": (["--clients_per_round=0"], ["--clients_per_round=0", "at least 1"]),
    "k_above_n": (
        ["--num_clients=5", "--clients_per_round=6"],
        ["--clients_per_round=6", "at most num_clients, 5"],
    ),
    "nan_rate": (["--server_lr=nan"], ["--server_lr=nan", "above 0", "finite"]),
    "too_large": (["--clients_per_round=1" + 400 * "0"], ["--clients_per_round=1000", "at most"]),
    "another_component": (
        ["--algorithm=fedavg", "--rate_beta=0.5"],
        ["--rate_beta=0.5", "only applies with algorithm f3ast", "the algorithm is fedavg"],
    ),
    "nearest_name": (["--availability=smartphone"], ["did you mean smartphones?"]),
    "no_campaign": (["campaign", "--rounds=1"], ["a campaign must be named"]),
    "unknown_campaign": (["campaign", "tabel3"], ["tabel3", "did you mean table3?"]),
    "not_of_a_run": (["--list"], ["a campaign must be named", "--list"]),
    "missing_plugin": (["--plugin=missing.py"], ["--plugin=missing.py: not found"]),
    "two_folders": (["--run_name=a/b"], ["--run_name=a/b", "one folder"]),
    "missing_flagfile": (["--flagfile=missing.flags"], ["missing.flags"]),
    "flagfile_of_nobody": (["--flagfile=~nosuchuser/x"], ["--flagfile=~nosuchuser/x: not found"]),
    "too_many_runs": (
        ["--seed=0-9999", "--data_seed=0-9999"],
        ["seed=0,1,2,3,4,5,6,7,8,9,...: 100000000 runs, must be at most 10000"],
    ),
    "plugin_of_nobody": (["--plugin=~nosuchuser/x.py"], ["~nosuchuser/x.py: not found"]),
    "campaign_of_nobody": (["campaign", "~nosuchuser/a.toml"], ["~nosuchuser/a.toml: not found"]),
}


def fails(arguments: list[str], says: list[str], cli: Cli) -> None:
    out, err = cli.said(main(["f3ast-tff", *arguments]), 2)
    assert out == ""
    assert err.startswith("error: ")
    assert len(err.splitlines()) == 1
    for words in says:
        assert words in err


@pytest.mark.parametrize(("arguments", "says"), BAD.values(), ids=BAD)
def test_bad_input_is_one_line(
    arguments: list[str], says: list[str], tmp_path: Path, cli: Cli
) -> None:
    fails([*arguments, f"--output_dir={tmp_path}"], says, cli)
    assert list(tmp_path.iterdir()) == []


EVERYBODY = """
import numpy as np
from dataclasses import dataclass
from f3ast_tff.methods import BaseStrategy
from f3ast_tff.methods.parts.algorithm import AlgorithmConfig
from f3ast_tff.settings import register

class Everybody(BaseStrategy):
    def select(self, now):
        return np.arange(len(now.available))

@register("algorithm", "everybody", about="asks clients that are away")
@dataclass(frozen=True)
class EverybodyConfig(AlgorithmConfig):
    aggregation = "mean"

    def build(self, world):
        return Everybody()
"""


def test_a_plugin_that_selects_clients_who_are_away(tmp_path: Path, cli: Cli) -> None:
    plugin = tmp_path / "everybody.py"
    plugin.write_text(EVERYBODY)
    arguments = ["--algorithm=everybody", "--num_clients=10", "--clients_per_round=10"]
    says = ["algorithm Everybody: select in round 1 returned client", "not available in this round"]
    fails([f"--plugin={plugin}", *arguments, f"--output_dir={tmp_path}"], says, cli)


@pytest.mark.parametrize("below", ["file", "file/deeper"])
def test_output_dir_under_a_file(
    below: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cli: Cli
) -> None:
    monkeypatch.setattr(FusedConfig, "check_installed", lambda self: None)
    (tmp_path / "file").write_text("in the way")
    path = str(tmp_path / below)
    fails([f"--output_dir={path}"], [f"cannot write to {path}", "Not a directory"], cli)


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"--rounds=0\n", "--rounds=0"),
        (b"--algorithm=poc\n--foo=1\n", "foo"),
        (b"\xff\xfe binary", "decode"),
    ],
)
def test_flagfile_with_bad_content(content: bytes, says: str, tmp_path: Path, cli: Cli) -> None:
    (tmp_path / "x.flags").write_bytes(content)
    fails([f"--flagfile={tmp_path / 'x.flags'}"], [says], cli)


NO_FRAMEWORK = """
import importlib.machinery
import sys

class Refuse:
    # It is there for `importlib.util.find_spec`, which imports nothing.
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in ("tensorflow", "tensorflow_federated", "jax", "jaxlib", "keras"):
            return importlib.machinery.ModuleSpec(name, self)

    def create_module(self, spec):
        raise AssertionError(f"{spec.name} was imported")

    def exec_module(self, module):
        pass

sys.meta_path.insert(0, Refuse())
from f3ast_tff.cli.main import main
print([main(["f3ast-tff", *line.split()]) for line in sys.argv[1:]])
"""


def test_no_framework_is_imported_to_refuse_or_to_help(tmp_path: Path) -> None:
    """Importing a framework raises an error in this process."""
    lines = [" ".join(arguments) for arguments, _ in BAD.values()] + ["run --help"]
    done = subprocess.run(
        [sys.executable, "-c", NO_FRAMEWORK, *lines],
        cwd=ROOT,
        capture_output=True,
        text=True,
        env={"PATH": "", "PYTHONWARNINGS": "error"},
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1] == str([2] * len(BAD) + [0])
    assert len(done.stderr.splitlines()) == len(BAD)


def test_output_on_a_full_disk() -> None:
    words = f"{sys.executable} -m f3ast_tff.cli.main >/dev/full"
    done = subprocess.run(["bash", "-c", words], capture_output=True, text=True, cwd=ROOT)
    said = "error: [Errno 28] No space left on device\n"
    assert (done.returncode, done.stderr) == (1, said)


@pytest.mark.long
@pytest.mark.parametrize("closed", [">&-", "2>&-", ">&- 2>&-"])
def test_a_closed_stream_costs_its_output_alone(closed: str, tmp_path: Path) -> None:
    small = f"--rounds=1 --num_clients=8 --clients_per_round=2 --output_dir={tmp_path}"
    words = f"{sys.executable} -m f3ast_tff.cli.main run {small} {closed}"
    done = subprocess.run(["bash", "-c", words], capture_output=True, text=True, cwd=ROOT)
    assert (done.returncode, "Traceback" in done.stderr) == (0, False)
    assert (" finished: round 1" in done.stdout) is (closed == "2>&-")


@pytest.mark.long
@pytest.mark.parametrize(
    ("encoding", "shown"), [("latin-1", "?"), ("ascii:backslashreplace", "\\u03a9")]
)
def test_a_name_that_the_terminal_cannot_show(encoding: str, shown: str, tmp_path: Path) -> None:
    grid = tmp_path / "\u03a9.toml"
    grid.write_text("[settings]\nrounds = 1\n")
    command = [sys.executable, "-m", "f3ast_tff.cli.main", "campaign", str(grid), "--list"]
    environment = {**os.environ, "PYTHONIOENCODING": encoding}
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, env=environment)
    assert (done.returncode, done.stderr) == (0, "")
    assert f"runs/{shown}/runs/run  new, 1 rounds\n1 runs\n" in done.stdout


@pytest.mark.long
@pytest.mark.parametrize(
    "words", [("f3ast_tff", "run", "--help"), ("f3ast_tff.analysis.studies.score_tables", "--help")]
)
def test_a_reader_that_has_gone_ends_the_command_without_a_trace(words: tuple[str, ...]) -> None:
    """This happens in `f3ast-tff run --help | head -1`."""
    command = [sys.executable, "-m", *words]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=ROOT, text=True
    ) as process:
        assert process.stdout is not None and process.stderr is not None
        process.stdout.close()
        assert process.stderr.read() == ""
        assert process.wait() == 141
