"""`f3ast-tff audit`: table, files, exit codes."""

from __future__ import annotations

import json
from pathlib import Path
from xml.etree import ElementTree

import pytest

from f3ast_tff.cli.main import main
from tests.commands import Cli

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
