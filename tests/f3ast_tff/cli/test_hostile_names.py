"""Names in files and paths, as commands print them and as they stand in a report's Markdown."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from benchmarks.synthetic_runs import write_run
from f3ast_tff.cli.main import main
from f3ast_tff.files.messages import printable

pytestmark = pytest.mark.usefixtures("host_by_default")
REVERSED, ESCAPE = "\u202eabc\u2066", "\x1b[2J\x1b]0;mine\x07"
TAG = "<img src=x onerror=a> ![a](http://b/c.png) /../x"


@pytest.fixture
def runs(tmp_path: Path) -> Path:
    """Two methods and two seeds, with hostile names of task, availability, settings and folders."""
    folder = tmp_path / f"runs{REVERSED}"
    for seed in range(2):
        for algorithm in ("fedavg", "f3ast"):
            run = folder / f"{algorithm}{seed}"
            write_run(run, {"seed": seed, "rounds": 300, "algorithm": algorithm})
            config = json.loads((run / "config.json").read_text())
            config["components"]["task"]["display"] = TAG
            config["components"]["availability"]["display"] = ESCAPE
            hostile = {"task": f"{TAG}{REVERSED}", f"{REVERSED}name": algorithm, "own": REVERSED}
            config["settings"].update(hostile)
            (run / "config.json").write_text(json.dumps(config))
            run.rename(run.with_name(f"{run.name}{ESCAPE}"))
    (folder / f"damaged{ESCAPE}").mkdir()
    (folder / f"damaged{ESCAPE}" / "config.json").write_text("{")
    return folder


def said(words: list[str], capsys: pytest.CaptureFixture[str]) -> str:
    """Returns the output of a command, all of which a terminal can show."""
    code = main(["f3ast-tff", *words])
    found = capsys.readouterr()
    text = found.out + found.err
    assert "Traceback" not in text and printable(text) == text
    assert text and code in (0, 2), text
    return text


@pytest.mark.long
@pytest.mark.parametrize("command", ["compare", "export", "report", "leaderboard"])
def test_nothing_of_a_name_reaches_the_terminal_raw(
    command: str, runs: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    flag = "--add" if command == "leaderboard" else "--runs"
    ending = {"compare": ".png", "export": ".csv"}.get(command, "")
    out = runs.with_name(f"out{REVERSED}{ending}")
    text = said([command, f"{flag}={runs}", f"--out={out}"], capsys)
    assert "?abc?" in text
    assert out.exists() == (command != "leaderboard")


@pytest.mark.long
def test_no_name_of_a_log_does(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    log = tmp_path / f"log{REVERSED}.csv"
    rows = [f"{REVERSED}{k},{t},{t + 60}" for k in range(8) for t in range(10 * k, 900, 90)]
    log.write_text("\n".join(["device,start,end", *rows]))
    words = [str(log), "--clients_per_round=2", "--no-trial", "--round_seconds=10"]
    words.append(f"--out={tmp_path / 'advice'}")
    assert "?abc?3" in said(["advise", *words], capsys)
    words = ["--availability=table", f"--table_file={log}", f"--plot={tmp_path / REVERSED}.png"]
    assert "?abc?.png" in said(["availability", *words, "--table_round_seconds=10"], capsys)


@pytest.mark.long
def test_a_report_has_no_markup_and_no_file_of_a_name(
    runs: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = runs.with_name("report")
    assert "runs: 4 finished, 1 damaged" in said(
        ["report", f"--runs={runs}", f"--out={out}"], capsys
    )
    page = (out / "report.md").read_text()
    assert "&lt;img src=x" in page and "!\\[a\\](http" in page
    for raw in ("<img", "![a](", "\u202e", "\x1b"):
        assert raw not in page
    names = {path.name for path in out.iterdir()}
    assert {name for name in names if "img" in name} == {
        name for name in names if name.startswith(("picked__", "rates__", "runs__", "curves__"))
    }
    assert all(name.isascii() and name.isprintable() for name in names)
