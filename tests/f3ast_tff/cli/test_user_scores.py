"""Runs, comparisons and reports say whom their user scores are over, and warn if not all."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from f3ast_tff.analysis.results_frame import read_results
from f3ast_tff.cli.main import main
from f3ast_tff.records.results import read_summary, seal, without_seal
from f3ast_tff.records.run_folder import read_config
from tests.commands import Cli

# Nine clients of three rows and one of twenty.
CLIENTS = [*np.repeat(list("abcdefghi"), 3), *["z"] * 20]


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """A file of 47 rows; its column `part` gives test rows to b and z alone."""
    rng = np.random.default_rng(0)
    rows = [
        f"{client},{rng.normal():.3f},{row % 2},{'test' if row in (3, 45, 46) else 'train'}"
        for row, client in enumerate(CLIENTS)
    ]
    file = tmp_path / "data.csv"
    file.write_text("\n".join(["client,x,label,part", *rows, ""]))
    return file


def run(data: Path, algorithm: str = "fedavg", **given: object) -> int:
    words = {
        "engine": "host",
        "task": "file",
        "data_file": data,
        "availability": "always",
        "algorithm": algorithm,
        "clients_per_round": 3,
        "rounds": 2,
        "output_dir": data.parent / "runs",
        **given,
    }
    return main(["f3ast-tff", "run", *(f"--{name}={value}" for name, value in words.items())])


def test_every_client_of_two_rows_is_scored_by_default(data: Path, cli: Cli) -> None:
    said = cli.said(run(data, run_name="all"))
    assert "users: 10 clients;" in said.out and "test example" not in said.err
    summary = read_summary(data.parent / "runs/all") or {}
    assert (summary["clients_scored"], summary["clients_to_score"]) == (10, 10)


@pytest.mark.long
def test_a_run_a_comparison_and_a_report_warn_of_clients_left_out(
    data: Path, tmp_path: Path, cli: Cli, caplog: pytest.LogCaptureFixture
) -> None:
    for algorithm in ("fedavg", "f3ast"):
        for seed in range(3):
            assert run(data, algorithm, data_split="part", seed=seed) == 0
    said = cli.printed()
    assert "users: 2 of 10 clients (the others have no test example)" in said.out
    assert "WARNING: 8 of 10 clients have no test example: user scores are of 2" in said.err
    runs, warning = str(tmp_path / "runs"), "User scores are over 2 of 10 clients (the others have"
    assert warning in " ".join(cli.out("compare", runs).split())
    assert main(["f3ast-tff", "report", runs, f"--out={tmp_path / 'report'}"]) == 0
    page = " ".join((tmp_path / "report/report.md").read_text().split()).replace("\\", "")
    # With the verdicts, and in the summary.
    assert page.count(warning) == 2
    read_results(runs).differences(score="user_loss")
    assert any(warning in message for message in caplog.messages)
    # A run of an older version does not say whom it is over.
    folder = next((tmp_path / "runs").glob("*fedavg*seed0"))
    older = {n: v for n, v in (read_summary(folder) or {}).items() if not n.startswith("clients_")}
    (folder / "summary.json").write_text(json.dumps(seal(folder, without_seal(older))))
    assert "test example), unknown for 1 runs." in " ".join(cli.out("compare", runs).split())


@pytest.mark.parametrize(("fraction", "same"), [(0.1, False), (0.4, True)])
def test_a_run_of_another_split_is_refused(
    fraction: float, same: bool, data: Path, monkeypatch: pytest.MonkeyPatch, cli: Cli
) -> None:
    """Once a client's share was rounded to 0: of 3 rows .1 is none, .4 is one, as now."""
    given = {"run_name": "old", "test_fraction": fraction}
    with monkeypatch.context() as before:
        rounded = lambda sizes, share: np.rint(share * sizes).astype(int)  # noqa: E731
        before.setattr("f3ast_tff.core.example_arrays.test_counts", rounded)
        before.setattr("f3ast_tff.run.round_loop.USERS", ())
        assert run(data, **given) == 0
    assert run(data, **given) == (0 if same else 2)
    said = cli.printed()
    assert ("already finished" in said.out) is same
    assert ("old holds a run on other data: the data of task file" in said.err) is not same


def test_versions_are_named(data: Path, cli: Cli) -> None:
    assert run(data, run_name="old") == 0
    folder = data.parent / "runs/old"
    config = read_config(folder) or {}
    config["packages"]["f3ast-tff"] = "0.0.9"
    (folder / "config.json").write_text(json.dumps(config))
    printed = cli.said(run(data, run_name="old", client_lr=0.5), 2).err
    assert "(made by version 0.0.9, this is " in printed
    del config["identity"]
    (folder / "config.json").write_text(json.dumps(config))
    printed = cli.said(run(data, run_name="old"), 2).err
    assert "an older version (made by version 0.0.9, this is " in printed
