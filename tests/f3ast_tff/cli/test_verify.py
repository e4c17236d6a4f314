"""Commands that check: `f3ast-tff verify`, `audit` and `test`."""

from __future__ import annotations

import json
from pathlib import Path
from xml.etree import ElementTree

import pytest

from f3ast_tff import simulate
from f3ast_tff.cli.main import main
from tests.commands import Cli
from tests.f3ast_tff.run.test_verify import SMALL, with_other_loss


@pytest.fixture
def runs(tmp_path: Path) -> Path:
    for name in "abc":
        simulate(algorithm="fedavg", seed=ord(name), folder=tmp_path / "runs" / name, **SMALL)
    return tmp_path / "runs"


@pytest.mark.long
def test_exit_codes(runs: Path, cli: Cli) -> None:
    lines = cli.out("verify", runs).splitlines()
    assert lines == [f"{runs / name}: equal, rounds 1 to 6" for name in "abc"]
    (runs / "a" / "metrics.csv").unlink()
    printed = cli.said(main(["f3ast-tff", "verify", str(runs)]), 2).out
    assert "a: cannot be played again, " in printed
    with_other_loss(runs / "c", 4)
    printed = cli.said(main(["f3ast-tff", "verify", str(runs)]), 1).out
    assert "c: differs, from round 4 on: test_user_loss" in printed
    assert main(["f3ast-tff", "verify", str(runs / "c"), "--rounds=-3"]) == 0


@pytest.mark.long
def test_a_sample_is_drawn_by_its_seed(runs: Path, cli: Cli) -> None:
    played = []
    for seed in (0, 0, 1):
        first, run = cli.out("verify", runs, "--sample=1", f"--seed={seed}").splitlines()
        assert first == f"1 of 3 runs (seed {seed})"
        played.append(run)
    assert played[0] == played[1] != played[2]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["none"], "none is not a folder"),
        ([], "a folder of runs (or --runs) must be given"),
        ([".", "--rounds=x"], "--rounds=x: must be a range such as 1-100, 900- or -100"),
        ([".", "--rounds=9-3"], "--rounds=9-3: must rise, from round 1 on"),
        ([".", "--rounds=0-3"], "--rounds=0-3: must rise, from round 1 on"),
        ([".", "--sample=0"], "--sample=0: must be at least 1"),
        (["."], "no run in ."),
    ],
)
def test_refused_in_a_line(words: list[str], said: str, cwd: Path, cli: Cli) -> None:
    printed = cli.said(main(["f3ast-tff", "verify", *words]), 2)
    assert said in printed.err and printed.err.count("\n") == 1 and not printed.out


SERVERS = Path(__file__).parents[1] / "audit" / "servers.py"


def run(*words: str) -> int:
    return main(["f3ast-tff", "audit", *words])


@pytest.mark.long
def test_table_page_json_and_junit(tmp_path: Path, cli: Cli) -> None:
    files = {name: tmp_path / f"a.{end}" for name, end in _ENDINGS.items()}
    words = [f"--{name}={path}" for name, path in files.items()]
    target = f"{SERVERS}:AllForATenth"
    out = cli.said(run(target, "--rounds=100", "--fail_on=liveness", *words), 1).out
    assert out.startswith("Clients that are there less than a third of the time have a ")
    assert "states 10% of the clients; 100% train" in out
    assert max(map(len, out.splitlines())) <= 100
    found = json.loads(files["json"].read_text())
    assert found["weights"][0]["schedule"] == "always" and found["rule"] == "linear"
    assert [f["check"] for f in found["findings"] if f["verdict"] == "wrong"] == ["liveness"]
    suite = ElementTree.parse(files["junit"]).getroot()
    assert suite.get("failures") == "1" and suite.find("testcase/failure") is not None
    page = files["html"].read_text()
    assert page.count("data:image/svg+xml") == 1 and "100% train" in page


_ENDINGS = {"html": "html", "json": "json", "junit": "xml"}


@pytest.mark.long
def test_other_checks_do_not_fail_it() -> None:
    assert run(f"{SERVERS}:AllForATenth", "--rounds=100", "--fail_on=weights,replies") == 0


@pytest.mark.long
def test_a_log_of_the_user_is_a_schedule(tmp_path: Path, cli: Cli) -> None:
    log = tmp_path / "masks.csv"
    log.write_text("a,b,c\n" + "1,0,1\n1,1,0\n" * 50)
    assert "there, log" in cli.said(run(f"{SERVERS}:aggregate", "--rounds=100", f"--log={log}")).out


@pytest.mark.parametrize(
    ("words", "error"),
    [
        (["nowhere.py:x"], "error: --target=nowhere.py:x: cannot be imported: "),
        ([f"{SERVERS}:NeedsArguments"], "needs arguments: --args=rate=..."),
        ([f"{SERVERS}:aggregate", "--args=rate"], "--args=rate: must be name=value"),
        ([f"{SERVERS}:aggregate", "--fail_on=wieghts"], "--fail_on=wieghts: must be of weights,"),
        ([f"{SERVERS}:aggregate", "--html=a.pdf"], "--html=a.pdf: must end in .html or .htm"),
        ([f"{SERVERS}:aggregate", "--log=none.csv"], "none.csv"),
        ([f"{SERVERS}:aggregate", "--model=other"], "--model=other: must be array, layers, dict,"),
        ([], "a target (or --target) must be given"),
    ],
)
def test_errors_are_one_line(words: list[str], error: str, cli: Cli) -> None:
    shown = cli.said(run(*words), 2)
    assert error in shown.err and shown.err.count("\n") == 1 and not shown.out


MASKS = """
from dataclasses import dataclass
import numpy as np
from f3ast_tff.availability import AvailabilityConfig
from f3ast_tff.settings import register

class Mine:
    def __init__(self, num_clients):
        self.num_clients, self.kept = num_clients, np.ones(num_clients, bool)

    def mask(self, t):
        self.kept[:] = np.arange(self.num_clients) % 2 == t % 2
        return self.kept

@register("availability", "mine", "Mine", about="even and odd clients in turn")
@dataclass(frozen=True)
class MineConfig(AvailabilityConfig):
    def build(self, p, seed):
        return Mine(len(p))
"""


def test_what_fails_is_a_line_and_the_exit_code_is_1(tmp_path: Path, cli: Cli) -> None:
    path = tmp_path / "mine.py"
    path.write_text(MASKS)
    said = cli.said(main(["f3ast-tff", "test", str(path), "--num_clients=6"]), 1).out.splitlines()
    assert said[0] == "availability mine"
    assert [line for line in said if line.startswith("  FAILS     masks are handed over: ")]
    assert "  holds     a run repeats" in said
    assert "1 of 8 properties fail" in said[-2]


def test_a_fault_that_many_properties_meet_is_said_once(tmp_path: Path, cli: Cli) -> None:
    path = tmp_path / "mine.py"
    path.write_text(MASKS.replace("return self.kept", "return np.flatnonzero(self.kept)"))
    said = cli.said(main(["f3ast-tff", "test", str(path)]), 1).out.splitlines()
    assert [line[:32] for line in said[1:-2]] == [
        "  FAILS     function of the round: "[:32],
        "  FAILS     another seed, masks a"[:32],
    ]
    assert said[2].endswith("parameters reach: as 'function of the round'")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([], "a plug-in must be named first"),
        (["nothing.py"], "nothing.py"),
        (["math"], "registers no component"),
    ],
)
def test_refusals(words: list[str], message: str, cli: Cli) -> None:
    assert message in cli.err("test", *words)
