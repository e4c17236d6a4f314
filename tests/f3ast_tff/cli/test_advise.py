"""`f3ast-tff advise`."""

from __future__ import annotations

from pathlib import Path

import pytest

from f3ast_tff.cli.main import main

ROOT = Path(__file__).resolve().parents[3]
LOG = str(ROOT / "examples/online.csv")


def test_the_page_of_the_example(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """It stands in the docs. Shares by name, in another order, change p."""
    assert main(["f3ast-tff", "advise", LOG, "--clients_per_round=3,6"]) == 0
    out = capsys.readouterr().out
    page = (ROOT / "docs/advise.md").read_text()
    assert out.partition(": ")[2] in page
    names = [f"phone-{k:02d},{k + 1}" for k in reversed(range(40))]
    (tmp_path / "shares.csv").write_text("\n".join(["client,examples", *names]))
    given = [f"--shares={tmp_path / 'shares.csv'}", "--clients_per_round=3"]
    assert main(["f3ast-tff", "advise", LOG, *given]) == 0
    assert "p_k = n_k / n" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "a log must be named first"),
        (["gone.csv"], "gone.csv: there is no such file"),
        ([LOG, "--clients_per_round=a"], "--clients_per_round=a: must be whole numbers"),
        ([LOG, "--rounds=5"], "--rounds=5: only applies with --trial"),
        ([LOG, "--shares=gone.csv"], "--shares=gone.csv: cannot be read"),
        ([LOG, "--trial", "--methods=fedavg"], "--methods=fedavg: must be two or more"),
    ],
)
def test_refused(arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["f3ast-tff", "advise", *arguments]) == 2
    assert message in capsys.readouterr().err


def test_shares_of_a_client_that_the_log_lacks_are_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    log, shares = tmp_path / "log.csv", tmp_path / "shares.csv"
    log.write_text("device,time,online\na,0,1\nb,0,1\nb,7200,0\n")
    shares.write_text("client,examples\na,1\nb,2\nc,3\n")
    assert main(["f3ast-tff", "advise", str(log), f"--shares={shares}"]) == 2
    assert "has a share of client c, who is not in the log" in capsys.readouterr().err


def test_a_trace_with_several_lists_asks_for_one(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "trace.json"
    lists = '{"one": [[0, "AVL_TRAIN"]], "two": [[0, "UN_AVL"]]}'
    path.write_text(f'{{"devices": {{"a": {lists}}}}}')
    assert main(["f3ast-tff", "advise", str(path)]) == 2
    assert "--states=: must be one of one, two" in capsys.readouterr().err


def test_help(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["f3ast-tff", "advise", "--help"]) == 0
    assert "--round_seconds" in capsys.readouterr().out
