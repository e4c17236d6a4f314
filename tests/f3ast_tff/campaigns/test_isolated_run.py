"""One run in a process of many: outcome, failure, warnings."""

from __future__ import annotations

import json
import logging
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from f3ast_tff.campaigns import isolated_run
from f3ast_tff.campaigns.isolated_run import run_isolated, run_order
from f3ast_tff.campaigns.runs import FAILED, FINISHED, Outcome, PlannedRun
from f3ast_tff.records.run_folder import RunFolder, lock_folder
from f3ast_tff.settings.registry import registry_with
from f3ast_tff.settings.resolve import resolve
from tests.f3ast_tff.campaigns.campaigns import PLUGIN
from tests.fake_engine import FakeEngine, LostEngine, use_fake_engine

Run = Callable[..., Outcome]


class BrokenEngine(FakeEngine):
    def evaluate(self) -> Any:
        raise KeyError


class GreekEngine(FakeEngine):
    def evaluate(self) -> Any:
        # A file name in another encoding than the locale's.
        raise ValueError("\u03a9 \udcff")


class WarningEngine(FakeEngine):
    def evaluate(self) -> Any:
        logging.warning("beware")
        return super().evaluate()


@pytest.fixture
def engines() -> list[FakeEngine]:
    """Engines made so far."""
    return []


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, engines: list[FakeEngine]) -> Run:
    """Runs six rounds of eight clients in `tmp_path/x`."""

    def run(engine: type[FakeEngine] = FakeEngine, **given: Any) -> Outcome:
        use_fake_engine(monkeypatch, engine, engines)
        small = {"num_clients": 8, "clients_per_round": 3, "rounds": 6, "checkpoint_every": 2}
        where = {"output_dir": str(tmp_path), "run_name": "x"}
        return run_isolated(resolve({**small, **where, **given}), {"git_commit": "abc"}, "me")

    return run


@pytest.mark.long
def test_a_run_finishes_and_is_not_repeated(
    run: Run, engines: list[FakeEngine], tmp_path: Path
) -> None:
    outcome = run()
    assert (outcome.state, outcome.error, outcome.worker) == (FINISHED, None, "me")
    assert outcome.started <= outcome.ended and outcome.started.endswith("Z")
    assert outcome.seconds > 0
    assert engines[0].closed
    assert '"git_commit": "abc"' in (tmp_path / "x/config.json").read_text()
    assert run().state == FINISHED
    assert len(engines) == 1


@pytest.mark.long
def test_a_lost_engine_is_one_line_and_the_run_goes_on_later(
    run: Run, engines: list[FakeEngine], tmp_path: Path
) -> None:
    outcome = run(LostEngine)
    assert (outcome.state, outcome.error) == (FAILED, "the worker is gone; see its log")
    assert engines[0].closed
    assert "Traceback" in (tmp_path / "x/error.txt").read_text()
    assert run().state == FINISHED
    assert engines[1].blocks[0][0] == 5
    assert not (tmp_path / "x/error.txt").exists()


@pytest.mark.long
def test_any_exception_is_a_failed_run_that_gives_its_folder_back(run: Run, tmp_path: Path) -> None:
    outcome = run(BrokenEngine)
    assert (outcome.state, outcome.error) == (FAILED, "KeyError")
    assert "raise KeyError" in (tmp_path / "x/error.txt").read_text()
    lock_folder(tmp_path / "x").release()


@pytest.mark.long
def test_a_traceback_in_any_characters_is_kept(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The locale has none of these characters."""
    monkeypatch.setattr("locale.getpreferredencoding", lambda *_: "ascii")
    outcome = run(GreekEngine)
    assert (outcome.state, outcome.error) == (FAILED, "ValueError: \u03a9 ?")
    assert "\u03a9 \\udcff" in (tmp_path / "x/error.txt").read_bytes().decode("utf-8")


@pytest.mark.long
def test_a_folder_of_another_run_is_left_alone(run: Run) -> None:
    assert run().state == FINISHED
    outcome = run(rate_beta=0.5)
    assert outcome.state == FAILED
    assert "rate_beta 0.001, now 0.5" in (outcome.error or "")


@pytest.mark.long
def test_a_folder_in_use_is_waited_for(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "x").mkdir()
    folder = RunFolder(tmp_path / "x", {})
    monkeypatch.setattr(isolated_run, "_PATIENCE_S", 0.2)
    assert "in use by another process" in (run().error or "")
    monkeypatch.setattr(isolated_run, "_PATIENCE_S", 60.0)
    threading.Timer(0.3, folder.close).start()
    assert run().state == FINISHED


@pytest.mark.long
def test_warnings_are_kept_with_the_run(run: Run, tmp_path: Path) -> None:
    before = list(logging.getLogger().handlers)
    assert run(WarningEngine).state == FINISHED
    assert "WARNING: beware" in (tmp_path / "x/run.log").read_text()
    assert logging.getLogger().handlers == before


@pytest.fixture
def order(tmp_path: Path) -> dict[str, Any]:
    """The order of a run with a plug-in's strategy, as another process reads it."""
    plugin = tmp_path / "first.py"
    plugin.write_text(PLUGIN.replace("WEIGHT", "0.5"))
    given = {"algorithm": "first_ones", "num_clients": 8, "clients_per_round": 3, "rounds": 2}
    where = {"output_dir": str(tmp_path), "run_name": "x", "device": "cpu"}
    run = PlannedRun("x", resolve({**given, **where}, registry_with([str(plugin)])))
    return json.loads(json.dumps(run.order))


@pytest.mark.long
def test_another_process_resolves_the_same_run(
    run: Run, order: dict[str, Any], engines: list[FakeEngine], tmp_path: Path
) -> None:
    assert order["plugins"] == [str((tmp_path / "first.py").resolve())]
    run(run_name="warm_up")
    outcome = run_order(order, {}, "me")
    assert (outcome.state, outcome.error, outcome.worker) == (FINISHED, None, "me")
    config = json.loads((tmp_path / "x/config.json").read_text())
    assert config["identity"] == order["identity"]
    assert config["settings"]["first_weight"] == 0.5
    (plugin,) = config["plugins"]
    assert (plugin["name"], len(plugin["sha256"])) == ("first", 64)


def test_a_plugin_changed_meanwhile_fails_the_run_in_one_line(
    order: dict[str, Any], tmp_path: Path
) -> None:
    (tmp_path / "first.py").write_text(PLUGIN.replace("WEIGHT", "0.25"))
    isolated_run._registry.cache_clear()
    outcome = run_order(order, {}, "me")
    assert outcome.state == FAILED
    assert outcome.error == "a plug-in or an input file has changed since the campaign began"
    (tmp_path / "first.py").unlink()
    isolated_run._registry.cache_clear()
    gone = run_order(order, {}, "me")
    assert (gone.state, gone.error) == (FAILED, f"plugin = {tmp_path / 'first.py'}: not found")
    assert not (tmp_path / "x").exists()


def test_an_input_file_changed_after_the_plan_fails_the_run(tmp_path: Path) -> None:
    table = tmp_path / "table.npy"
    np.save(table, np.ones((3, 8)))
    given = {"availability": "table", "table_file": str(table), "num_clients": 8, "rounds": 2}
    where = {"output_dir": str(tmp_path), "run_name": "x", "clients_per_round": 3}
    run = PlannedRun("x", resolve({**given, **where}))
    np.save(table, np.zeros((3, 8)))
    outcome = run_order(run.order, {}, "me")
    assert outcome.error == "a plug-in or an input file has changed since the campaign began"
