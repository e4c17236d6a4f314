"""The record of a campaign: new, kept and rebuilt; its progress reports."""

from __future__ import annotations

import hashlib
import io
import json
import logging
import sys
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from f3ast_tff.campaigns import progress
from f3ast_tff.campaigns.grid_file import CampaignError
from f3ast_tff.campaigns.planned import Campaign
from f3ast_tff.campaigns.progress import CampaignProgress, Manifest, first_start
from f3ast_tff.campaigns.runs import FAILED, FINISHED, Outcome, PlannedRun
from f3ast_tff.core.errors import RunFolderError
from f3ast_tff.files.progress import duration
from f3ast_tff.records.results import seal
from f3ast_tff.settings.resolve import resolve


@pytest.fixture
def campaign(tmp_path: Path) -> Campaign:
    """A campaign of two runs without files."""
    where = {"output_dir": str(tmp_path / "runs")}
    runs = [PlannedRun(n, resolve({"run_name": n, "seed": i, **where})) for i, n in enumerate("ab")]
    return Campaign("mine", "a test", tmp_path, tuple(runs))


def finish(run: PlannedRun) -> None:
    run.folder.mkdir(parents=True)
    write_config(run, run, python="3.11", git_commit="abc")
    (run.folder / "metrics.csv").write_text("round\n")
    (run.folder / "selection.npz").write_bytes(b"ids")
    write_summary(run)


def write_summary(run: PlannedRun) -> None:
    summary = seal(run.folder, {"final": {}})
    (run.folder / "summary.json").write_text(json.dumps(summary))


def write_config(of: PlannedRun, run: PlannedRun, **more: Any) -> None:
    identity = run.configuration.identity
    content = {"settings": dict(run.settings), "identity": identity, **more}
    (of.folder / "config.json").write_text(json.dumps(content))


def content(campaign: Campaign) -> dict[str, Any]:
    return json.loads((campaign.folder / "manifest.json").read_text())


def test_all_that_is_recorded(campaign: Campaign) -> None:
    a, b = campaign.runs
    manifest = Manifest(campaign, {"command": ["x"]})
    assert [run["state"] for run in content(campaign)["runs"]] == ["waiting", "waiting"]
    manifest.started(a, "process 7")
    manifest.save()
    assert content(campaign)["runs"][0]["state"] == "running"
    finish(a)
    manifest.ended(a, Outcome(FINISHED, None, "then", "later", 1.23456, "process 7"))
    manifest.ended(b, Outcome(FAILED, "no data", "then", "later", 0.0, "process 8"))
    manifest.save()
    whole = content(campaign)
    assert (whole["campaign"], whole["about"], whole["command"]) == ("mine", "a test", ["x"])
    first, second = whole["runs"]
    digest = hashlib.sha256(b"round\n").hexdigest()
    assert first["files"]["metrics.csv"] == digest
    assert set(first["files"]) == {"metrics.csv", "selection.npz", "summary.json"}
    assert first["settings"] == dict(a.settings)
    assert (first["git_commit"], first["python"]) == ("abc", "3.11")
    assert (first["started"], first["ended"], first["seconds"]) == ("then", "later", 1.235)
    assert (second["state"], second["error"]) == ("failed", "no data")


def test_a_run_that_finished_while_it_was_stopped_is_finished(campaign: Campaign) -> None:
    run = campaign.runs[0]
    manifest = Manifest(campaign, {})
    manifest.started(run, "process 7")
    finish(run)
    manifest.interrupted([run])
    manifest.save()
    entry = content(campaign)["runs"][0]
    assert (entry["state"], entry["worker"], entry["error"]) == ("finished", "process 7", None)
    assert entry["started"] <= entry["ended"]


def test_it_is_not_written_too_often(campaign: Campaign) -> None:
    manifest = Manifest(campaign, {})
    manifest.started(campaign.runs[0], "process 7")
    manifest.save(only_if_due=True)
    assert content(campaign)["runs"][0]["state"] == "waiting"


def test_what_finished_before_keeps_its_times(
    campaign: Campaign, caplog: pytest.LogCaptureFixture
) -> None:
    a, b = campaign.runs
    manifest = Manifest(campaign, {})
    finish(a)
    manifest.ended(a, Outcome(FINISHED, None, "then", "later", 2.0, "process 7"))
    manifest.started(b, "process 7")
    manifest.interrupted([b])
    manifest.save()
    assert content(campaign)["runs"][1]["state"] == "interrupted"

    again = Manifest(campaign, {})
    assert (again.state(a), again.state(b)) == (FINISHED, "waiting")
    first = content(campaign)["runs"][0]
    assert (first["started"], first["seconds"], first["worker"]) == ("then", 2.0, "process 7")
    assert not caplog.records

    with caplog.at_level(logging.WARNING):
        (a.folder / "metrics.csv").write_text("other\n")
        write_summary(a)
        Manifest(campaign, {})
    assert "results are not those that manifest.json recorded" in caplog.text


def test_runs_of_an_earlier_larger_start_stay(campaign: Campaign) -> None:
    """They follow the runs of this start; runs under way at a kill are recorded as interrupted."""
    a, b = campaign.runs
    manifest = Manifest(campaign, {})
    manifest.ended(a, Outcome(FAILED, "no data", "then", "later", 2.0, "process 7"))
    manifest.started(b, "process 8")
    manifest.save()
    failed, running = content(campaign)["runs"]

    part = replace(campaign, runs=(b,))
    again = Manifest(part, {})
    assert content(campaign)["runs"][0]["state"] == again.state(b) == "waiting"
    assert content(campaign)["runs"][1:] == [failed]
    again.ended(b, Outcome(FINISHED, None, "then", "later", 1.0, "process 9"))
    again.save()
    assert [run["name"] for run in content(campaign)["runs"]] == ["b", "a"]

    (campaign.folder / "manifest.json").write_text(json.dumps({"runs": [failed, running]}))
    Manifest(replace(campaign, runs=(a,)), {})
    assert content(campaign)["runs"][1:] == [{**running, "state": "interrupted"}]
    whole = Manifest(campaign, {})
    assert [run["name"] for run in content(campaign)["runs"]] == ["a", "b"]
    assert whole.state(b) == "waiting"


@pytest.mark.parametrize("name", ["metrics.csv", "selection.npz", "summary.json"])
def test_damaged_results_are_not_adopted(
    name: str, campaign: Campaign, caplog: pytest.LogCaptureFixture
) -> None:
    (run, _) = campaign.runs
    finish(run)
    assert Manifest(campaign, {}).state(run) == FINISHED
    path = run.folder / name
    path.write_bytes(path.read_bytes()[:-1])
    assert Manifest(campaign, {}).state(run) == "waiting"
    assert f"{path} is damaged" in caplog.text


def test_without_a_manifest_the_folders_say_what_is_done(campaign: Campaign) -> None:
    """The state after a crash before the first record."""
    finish(campaign.runs[0])
    assert Manifest(campaign, {}).state(campaign.runs[0]) == FINISHED
    first = content(campaign)["runs"][0]
    assert first["started"] <= first["ended"] and first["ended"].endswith("Z")


def test_a_folder_of_another_run_is_refused(campaign: Campaign) -> None:
    (run, _) = campaign.runs
    finish(run)
    other = PlannedRun("a", resolve({"run_name": "a", "batch_size": 7, "output_dir": "x"}))
    write_config(run, other)
    with pytest.raises(RunFolderError, match="other settings: batch_size 7, now 20.*output_dir"):
        Manifest(campaign, {})
    (run.folder / "config.json").write_text(json.dumps({"settings": dict(run.settings)}))
    with pytest.raises(RunFolderError, match="config.json is of a run .* by an older version"):
        Manifest(campaign, {})
    (run.folder / "config.json").write_text("{")
    with pytest.raises(RunFolderError, match="config.json cannot be read"):
        Manifest(campaign, {})


def test_a_damaged_manifest_is_named(campaign: Campaign) -> None:
    (campaign.folder / "manifest.json").write_text('{"runs": 3}')
    with pytest.raises(CampaignError, match="manifest.json is damaged .*; remove it"):
        Manifest(campaign, {})


def test_the_first_start_stays(campaign: Campaign) -> None:
    """A later start of the campaign, and of its run, leaves it as it is."""
    first = Manifest(campaign, {})
    begun = content(campaign)["first_start"]
    first.started(campaign.runs[0], "process 1")
    first.save()
    later = Manifest(campaign, {})
    later.started(campaign.runs[0], "process 2")
    later.save()
    assert content(campaign)["first_start"] == begun <= content(campaign)["last_start"]
    assert first_start(campaign.folder) == datetime.fromisoformat(begun)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The time in seconds; tests change it."""
    time = [1000.0]
    monkeypatch.setattr(progress.time, "monotonic", lambda: time[0])
    return time


def test_a_line_now_and_then_in_a_log(
    clock: list[float], capsys: pytest.CaptureFixture[str]
) -> None:
    view = CampaignProgress("mine", 4, 400, 100)
    view.show(1, 2, 0, 100)
    for seconds, rounds in ((5, 120), (29, 130), (31, 200), (32, 210)):
        clock[0] = 1000 + seconds
        view.show(1, 2, 0, rounds)
    view.failure("a", "no data")
    clock[0] = 1060
    view.show(3, 0, 1, 300, now=True)
    view.close()
    assert capsys.readouterr().err.splitlines() == [
        "mine: 1 done, 2 running, 0 failed of 4, 25% of the rounds, ETA ?",
        "mine: 1 done, 2 running, 0 failed of 4, 50% of the rounds, ETA 1 min 2 s",
        "mine: a failed: no data",
        "mine: 3 done, 0 running, 1 failed of 4, 75% of the rounds, ETA 30 s",
    ]


def test_one_live_line_on_a_terminal(clock: list[float], monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("tqdm")

    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    view = CampaignProgress("mine", 4, 400, 0)
    clock[0] += 10
    view.show(1, 2, 0, 100)
    view.failure("a", "no data")
    view.close()
    text = terminal.getvalue()
    assert "mine: 1 done, 2 running, 0 failed of 4 |" in text
    assert "25%, ETA 30 s" in text
    assert "mine: a failed: no data\n" in text


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0.4, "0 s"), (59.6, "1 min 0 s"), (3599, "59 min 59 s"), (12000, "3 h 20 min")],
)
def test_durations(seconds: float, text: str) -> None:
    assert duration(seconds) == text
