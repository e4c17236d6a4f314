"""If a plug-in's code fails, one line names it: exit code 1; plug-ins that wander or never end."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from f3ast_tff import simulate
from f3ast_tff.cli.main import main
from f3ast_tff.core.errors import PluginError
from f3ast_tff.engines.components import FusedConfig
from f3ast_tff.files.plugin_errors import MARK, plugins_named
from tests.commands import Cli
from tests.fake_engine import FakeEngine

# `FAILING` is the method that fails in round 3.
PLUGIN = """
from dataclasses import dataclass
import numpy as np
from f3ast_tff.availability import AvailabilityConfig
from f3ast_tff.methods import BaseStrategy, Cohort
from f3ast_tff.methods.parts.algorithm import AlgorithmConfig
from f3ast_tff.settings import register

class Bad(Exception):
    def __str__(self):
        return 1 / 0

def fail(method, now):
    if method == "FAILING" and now == 3:
        raise ERROR

class Mine(BaseStrategy):
    def select(self, now):
        fail("select", now.number)
        return np.flatnonzero(now.available)[: now.constraint.k]

    def weigh(self, now, ids, delivered):
        fail("weigh", now.number)
        return Cohort(ids[delivered], np.ones(delivered.sum()))

class Process:
    num_clients = 10

    def mask(self, t):
        fail("mask", t)
        return np.ones(10, bool)

@register("algorithm", "mine", about="mine")
@dataclass(frozen=True)
class Config(AlgorithmConfig):
    def build(self, world):
        fail("build", world.rounds)
        return Mine()

@register("availability", "my_process", about="mine")
@dataclass(frozen=True)
class ProcessConfig(AvailabilityConfig):
    @classmethod
    def check(cls, settings):
        fail("check", settings["rounds"])

    def build(self, p, seed):
        return Process()
"""
LINE = 1 + PLUGIN.splitlines().index("        raise ERROR")
RUN = ["run", "--algorithm=mine", "--availability=my_process", "--num_clients=10"]


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """No engine, and signals handled as by the command."""
    monkeypatch.setattr(FusedConfig, "build", lambda self, parts: FakeEngine(10))
    monkeypatch.setattr(FusedConfig, "prepare_environment", lambda self, environment: None)
    before = signal.signal(signal.SIGINT, lambda *_: None)
    yield
    signal.signal(signal.SIGINT, before)


def write(folder: Path, failing: str, error: str) -> Path:
    path = folder / "mine.py"
    path.write_text(PLUGIN.replace("FAILING", failing).replace("ERROR", error))
    return path


def run(plugin: Path, folder: Path, rounds: int) -> int:
    files = [f"--output_dir={folder}", "--run_name=x", "--logger=csv"]
    return main(["x", *RUN, f"--plugin={plugin}", f"--rounds={rounds}", "--eval_every=1", *files])


@pytest.mark.parametrize(
    ("error", "says"),
    [
        ("SystemExit(0)", "SystemExit: 0"),
        ("KeyboardInterrupt()", "KeyboardInterrupt"),
        ("Bad()", "Bad"),
        ('RuntimeError("one\\ntwo\\x1b[2J")', "RuntimeError: one two?[2J"),
        ('FileNotFoundError(2, "not there", "x.csv")', "FileNotFoundError: [Errno 2] not there: "),
        ('ValueError("odd")', "ValueError: odd"),
    ],
)
def test_what_a_strategy_raises_is_one_line_and_exit_code_1(
    error: str, says: str, tmp_path: Path, cli: Cli
) -> None:
    plugin = write(tmp_path, "select", error)
    line = cli.said(run(plugin, tmp_path, 6), 1).err.splitlines()[-1]
    assert line.startswith(f"error: plug-in mine: Mine.select raised {says}")
    assert line.endswith(f" ({plugin}:{LINE})")
    log = (tmp_path / "x/run.log").read_text()
    assert log.count("Traceback") >= 1 and "in select\n" in log and "round_loop.py" in log
    assert not (tmp_path / "x/summary.json").exists()


@pytest.mark.parametrize(
    ("failing", "rounds", "called"),
    [
        ("weigh", 6, "Mine.weigh"),
        ("mask", 6, "Process.mask"),
        ("build", 3, "Config.build"),
        ("check", 3, "check"),
    ],
)
def test_the_method_is_named_wherever_it_is_called(
    failing: str, rounds: int, called: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    plugin = write(tmp_path, failing, 'KeyError("x")')
    assert run(plugin, tmp_path, rounds) == 1
    error = f"error: plug-in mine: {called} raised KeyError: 'x' ({plugin}:{LINE})\n"
    assert capsys.readouterr().err.endswith(error)
    # A failed start leaves no folder.
    assert (tmp_path / "x").exists() == (rounds == 6)


def test_the_availability_command_names_it_too(tmp_path: Path, cli: Cli) -> None:
    plugin = write(tmp_path, "mask", 'OSError("x")')
    words = ["availability", "--availability=my_process", f"--plugin={plugin}", "--num_clients=10"]
    printed = cli.said(main(["x", *words]), 1).err
    assert "error: plug-in mine: Process.mask raised OSError: x (" in printed


def test_in_python_the_cause_is_kept_and_ctrl_c_is_left_alone(tmp_path: Path) -> None:
    small = {"num_clients": 10, "rounds": 6, "algorithm": "mine"}
    with pytest.raises(PluginError, match="Mine.select raised OSError: x") as caught:
        simulate(plugins=[str(write(tmp_path, "select", 'OSError("x")'))], **small)
    assert isinstance(caught.value.__cause__, OSError)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    with pytest.raises(KeyboardInterrupt):
        simulate(plugins=[str(write(tmp_path, "select", "KeyboardInterrupt"))], **small)


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ("raise KeyboardInterrupt", "cannot be imported: KeyboardInterrupt"),
        (PLUGIN + "\nraise Bad", "cannot be imported: Bad"),
    ],
)
def test_what_is_raised_at_import_is_one_line(
    content: str, says: str, tmp_path: Path, cli: Cli
) -> None:
    plugin = tmp_path / "mine.py"
    plugin.write_text(content)
    assert cli.said(run(plugin, tmp_path, 6), 2).err == f"error: --plugin={plugin}: {says}\n"


def test_streams_that_a_plugin_takes_away_come_back(tmp_path: Path, cli: Cli) -> None:
    plugin = write(tmp_path, "none", "None")
    plugin.write_text(f"import sys\nsys.stdout = sys.stderr = None\n{plugin.read_text()}")
    assert "finished: round 2" in cli.said(run(plugin, tmp_path, 2)).out


def test_a_stop_iteration_is_named_too() -> None:
    """The standard library drops errors whose cause is a StopIteration."""
    code = compile("def next_one():\n    raise StopIteration", "mine.py", "exec")
    names: dict[str, object] = {MARK: "mine"}
    exec(code, names)
    with (
        pytest.raises(PluginError, match="plug-in mine: next_one raised StopIteration"),
        plugins_named(),
    ):
        names["next_one"]()  # type: ignore[operator]


WANDERING = """
import atexit
import multiprocessing
import os
import threading
import time
from dataclasses import dataclass

from f3ast_tff.availability import AvailabilityConfig, IndependentAvailability
from f3ast_tff.settings import register

{at_import}

class Wanders(IndependentAvailability):
    def mask(self, round_number):
        {in_a_round}
        return super().mask(round_number)

@register("availability", "wanders", about="wanders")
@dataclass(frozen=True)
class WandersConfig(AvailabilityConfig):
    def build(self, p, seed):
        return Wanders(p / p.max(), seed)
"""
ON_HOST = ["run", "--engine=host", "--plugin=mine.py", "--availability=wanders", "--rounds=2"]


def test_a_relative_folder_stays_where_it_was(cwd: Path) -> None:
    """At import and in each round, of two runs of one command."""
    other = cwd / "other"
    other.mkdir()
    away = f"os.chdir({os.fspath(other)!r})"
    (cwd / "mine.py").write_text(WANDERING.format(at_import=away, in_a_round=away))
    assert main(["f3ast-tff", *ON_HOST, "--seed=0,1", "--output_dir=runs"]) == 0
    assert len([*(cwd / "runs").glob("*/summary.json")]) == 2
    assert list(other.iterdir()) == [] and Path.cwd() == cwd


@pytest.mark.long
@pytest.mark.parametrize(
    ("begun", "named"),
    [
        ("threading.Thread(target=time.sleep, args=(600,), name='mine').start()", "mine"),
        (
            "multiprocessing.get_context('fork').Process("
            "target=time.sleep, args=(600,), name='mine').start()",
            "mine",
        ),
        ("atexit.register(time.sleep, 600)", "a function of atexit"),
    ],
)
def test_what_never_ends_does_not_hold_the_process(begun: str, named: str, tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(WANDERING.format(at_import=begun, in_a_round="pass"))
    code = "import sys, f3ast_tff.cli.main as m; m._GRACE_S = 0.2; sys.exit(m.main())"
    done = subprocess.run(
        [sys.executable, "-c", code, *ON_HOST, "--run_name=a"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0 and "a finished: round 2" in done.stdout
    assert f"the process ends without what did not: {named}" in done.stderr
