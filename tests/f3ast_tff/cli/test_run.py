"""One experiment from its settings, on an engine without a framework."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from f3ast_tff.cli import run as main
from f3ast_tff.core.errors import DataError
from f3ast_tff.engines import ClientScores
from f3ast_tff.files.signals import Signals
from f3ast_tff.records.run_folder import RunFolder, lock_folder
from f3ast_tff.settings.registry import builtin_registry
from tests.commands import Cli
from tests.f3ast_tff.run.small_run import assert_same_results
from tests.fake_engine import FakeEngine, LostEngine, use_fake_engine

Run = Callable[..., int]


class DivergedEngine(FakeEngine):
    """An engine whose losses are NaN."""

    def evaluate(self) -> ClientScores:
        return ClientScores(np.array([np.nan]), np.array([1.0]), np.array([2.0]))


class Requested(Signals):
    """Signals that have come by the given call of `requested`."""

    def __init__(self, question: int) -> None:
        super().__init__()
        self._left = question

    def requested(self) -> bool:
        self._left -= 1
        return self._left <= 0

    @property
    def exit_code(self) -> int:
        return 143


@pytest.fixture
def engines() -> list[FakeEngine]:
    """Engines made so far."""
    return []


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, engines: list[FakeEngine]) -> Run:
    """Runs six rounds of eight clients in `tmp_path/x`."""

    def run(
        engine: type[FakeEngine] = FakeEngine, signals: Signals | None = None, **given: Any
    ) -> int:
        use_fake_engine(monkeypatch, engine, engines)
        small = {"num_clients": 8, "clients_per_round": 3, "rounds": 6, "eval_every": 2}
        where = {"output_dir": str(tmp_path), "run_name": "x", "checkpoint_every": 2}
        return main.run({**small, **where, **given}, builtin_registry(), signals or Signals())

    return run


def test_a_run_leaves_all_its_files(
    run: Run, engines: list[FakeEngine], tmp_path: Path, cli: Cli
) -> None:
    assert run(rate_beta=0.01) == 0
    folder = tmp_path / "x"
    found = sorted(path.name for path in folder.iterdir() if "tfevents" not in path.name)
    files = ".lock checkpoints config.json metrics.csv run.log selection.npz summary.json"
    assert " ".join(found) == files
    config = json.loads((folder / "config.json").read_text())
    assert config["settings"]["rate_beta"] == 0.01
    assert config["settings"]["batch_size"] == 20
    assert config["packages"]["numpy"] == np.__version__
    assert engines[0].closed
    out, err = cli.printed()
    assert out.startswith(f"{folder} finished: round 6, sample accuracy 0.")
    assert len(out.splitlines()) == 1
    *progress, last = err.splitlines()
    assert [line.split(",")[0] for line in progress] == [f"x: round {t}/6" for t in (2, 4, 6)]
    # The losses are random.
    assert last.startswith(
        "WARNING: round 6: the loss is no better than that of a guess among 10 classes"
    )
    log = (folder / "run.log").read_text()
    assert last.removeprefix("WARNING: ") in log
    assert "rounds 1 to 6" in log and log.count("test_sample_accuracy") == 3


def test_a_finished_run_is_not_repeated(run: Run, engines: list[FakeEngine], cli: Cli) -> None:
    first = cli.said(run()).out
    again = cli.said(run(checkpoint_every=1))
    assert again.out == first.replace(" finished", " already finished")
    assert again.err == ""
    assert len(engines) == 1


def test_a_diverged_run_is_reported_like_any_other(run: Run, cli: Cli) -> None:
    """`summary.json` holds null for NaN; the second report is read from it."""
    assert "sample loss nan" in cli.said(run(DivergedEngine)).out
    assert "sample loss nan" in cli.said(run(DivergedEngine)).out


def test_other_settings_are_refused(run: Run, engines: list[FakeEngine], cli: Cli) -> None:
    cli.said(run())
    # The other seed is the reason: more rounds are allowed.
    out, err = cli.said(run(rounds=7, seed=1), 2)
    assert "rounds 6, now 7; seed 0, now 1" in err
    assert (out, len(err.splitlines()), len(engines)) == ("", 1, 1)


def test_a_run_in_use_is_refused(run: Run, tmp_path: Path, cli: Cli) -> None:
    folder = RunFolder(tmp_path / "x", {})
    assert cli.said(run(), 2).err == f"error: {tmp_path / 'x'} is in use by another process\n"
    folder.close()
    assert run() == 0


def test_a_lost_engine_is_one_line_and_the_run_goes_on_later(
    run: Run, engines: list[FakeEngine], tmp_path: Path, cli: Cli
) -> None:
    printed = cli.said(run(LostEngine), 1).err
    assert printed.splitlines()[-1] == "error: the worker is gone; see its log"
    assert engines[0].closed
    assert not (tmp_path / "x" / "summary.json").exists()
    assert run() == 0
    assert engines[1].blocks[0][0] == 5
    assert "resuming from round 5" in cli.printed().err


def test_a_signal_ends_a_run_at_a_round_boundary_with_a_checkpoint(
    run: Run, engines: list[FakeEngine], tmp_path: Path, cli: Cli
) -> None:
    """`requested` is called before rounds 1, 2, 3; by the third call the signal has come."""
    printed = cli.said(run(signals=Requested(3), checkpoint_every=100, eval_every=3), 143).err
    assert printed.splitlines()[-1] == (
        "interrupted: checkpoint at round 2, the same command goes on from there"
    )
    assert engines[0].closed
    assert run(checkpoint_every=100, eval_every=3) == 0
    assert engines[1].blocks[0][0] == 3
    assert "resuming from round 3" in cli.printed().err


def test_a_signal_before_the_first_round_leaves_no_checkpoint(
    run: Run, tmp_path: Path, cli: Cli
) -> None:
    assert "before a round was done" in cli.said(run(signals=Requested(1)), 143).err
    assert not list((tmp_path / "x/checkpoints").iterdir())


def test_checkpoints_go_by_the_clock_too(run: Run, engines: list[FakeEngine]) -> None:
    with_clock = {"checkpoint_every": 100, "checkpoint_seconds": 1e-9}
    assert run(LostEngine, **with_clock) == 1
    assert run(**with_clock) == 0
    assert engines[1].blocks[0][0] == 5


def test_a_start_that_fails_leaves_no_folder(run: Run, tmp_path: Path, cli: Cli) -> None:
    where = {"output_dir": str(tmp_path / "new" / "deep"), "test_clients": 1000}
    assert "must be at most" in cli.said(run(**where), 2).err
    assert not (tmp_path / "new").exists()
    # The log has a warning by the time of the refusal.
    warned = {"last_batch": "drop", "batch_size": 100, "client_share_of": "present"}
    assert "take no step" in cli.said(run(**{**where, **warned, "test_clients": None}), 2).err
    assert not (tmp_path / "new").exists()


def test_a_finished_run_is_made_longer(run: Run, engines: list[FakeEngine], tmp_path: Path) -> None:
    """The results equal one long run's: round 6 was evaluated as the last, and is removed."""
    longer = {"rounds": 11, "eval_every": 4, "client_scores": True}
    assert run(**longer, run_name="at_once") == 0
    assert run(**{**longer, "rounds": 6}) == 0
    assert run(**longer) == 0
    assert engines[2].blocks[0][0] == 7
    assert_same_results(tmp_path / "x", tmp_path / "at_once")
    scores = [path.name for path in sorted((tmp_path / "x/client_scores").iterdir())]
    assert scores == [f"round_{t:08d}.npz" for t in (4, 8, 11)]


def test_a_longer_run_that_is_refused_leaves_the_finished_run(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cli: Cli
) -> None:
    folder = tmp_path / "x"
    assert run(write_masks="csv") == 0
    config = (folder / "config.json").read_text()

    def files() -> dict[Path, bytes]:
        return {p: p.read_bytes() for p in folder.rglob("*") if p.is_file() and p.name != "run.log"}

    before = files()
    with monkeypatch.context() as refused:
        refused.setattr("f3ast_tff.run.build.Builder.experiment", refuse)
        assert run(rounds=11) == 2
    assert files() == before
    changed = json.dumps({**json.loads(config), "data_sha256": "0" * 64})
    (folder / "config.json").write_text(changed)
    assert "the data of task synthetic have changed" in cli.said(run(rounds=11), 2).err
    (folder / "config.json").write_text(config)
    assert files() == before
    assert "already finished" in cli.said(run()).out


def refuse(builder: object) -> None:
    raise DataError("a file is missing")


@pytest.mark.parametrize(("kept", "code"), [(1, 2), (2, 0)])
def test_a_run_goes_on_before_its_lost_client_scores(
    kept: int, code: int, run: Run, tmp_path: Path, cli: Cli
) -> None:
    """The scores of round 6 are those of round 2; checkpoints are of 6, or of 4 and 6."""
    given = {"client_scores": True, "keep_checkpoints": kept}
    assert run(**given, rounds=11, run_name="at_once") == 0
    assert run(**given) == 0
    scores, expected = (tmp_path / name / "client_scores" for name in ("x", "at_once"))
    shutil.copy(scores / "round_00000002.npz", scores / "round_00000006.npz")
    assert run(**given, rounds=11) == code
    if code:
        says = "kept no checkpoint before round 6, whose client scores are lost"
        assert says in cli.printed().err
        return
    assert_same_results(tmp_path / "x", tmp_path / "at_once")
    for path in expected.iterdir():
        assert (scores / path.name).read_bytes() == path.read_bytes()


def test_masks_stay_when_a_longer_run_asks_for_none(run: Run, tmp_path: Path) -> None:
    assert run(write_masks="csv") == 0
    assert run(rounds=9) == 0
    assert len((tmp_path / "x/masks.csv").read_text().splitlines()) == 9


def test_masks_of_a_run_made_longer_are_of_all_its_rounds(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The longer run is killed between its last checkpoint and its end."""
    with_masks = {"eval_every": 4, "write_masks": "csv"}
    assert run(**with_masks) == 0
    with monkeypatch.context() as killed:
        killed.setattr("f3ast_tff.run.round_loop._Run.finish", lambda self: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            run(rounds=11, **with_masks)
    assert run(rounds=11, **with_masks) == 0
    assert len((tmp_path / "x/masks.csv").read_text().splitlines()) == 11


def test_a_finished_run_gets_what_it_lacks_and_says_what_it_does_not_get(
    run: Run, engines: list[FakeEngine], tmp_path: Path, cli: Cli
) -> None:
    assert run(run_name="at_once", write_masks="csv") == 0
    cli.said(run())
    wanted = {"write_masks": "csv", "keep_checkpoints": 0, "client_scores": True}
    out, err = cli.said(run(**wanted, logger="csv,tensorboard"))
    assert "already finished" in out
    assert err == f"{tmp_path / 'x'}: client_scores: not added to a finished run\n"
    folders = [tmp_path / name for name in ("x", "at_once")]
    masks, at_once = [(folder / "masks.csv").read_bytes() for folder in folders]
    assert masks == at_once
    assert not list((tmp_path / "x/checkpoints").iterdir())
    assert len(engines) == 2
    written = (tmp_path / "x/masks.csv").stat().st_mtime_ns
    assert run(write_masks="csv", keep_checkpoints=0) == 0
    assert (tmp_path / "x/masks.csv").stat().st_mtime_ns == written
    assert cli.printed().err == ""


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        ({"algorithm": "f3ast_fixed", "policy_states": 5}, "algorithm f3ast_fixed looks at"),
        ({"algorithm": "fedavg_then_fedlaavg"}, "switch_round 4, now 6"),
        ({"rounds": (6, 5)}, "can only be made longer"),
    ],
    ids=lambda value: "" if isinstance(value, str) else "-".join(map(str, value.values())),
)
def test_a_run_that_depends_on_its_length_stays(
    run: Run, given: dict[str, Any], reason: str, cli: Cli
) -> None:
    first, second = given.get("rounds", (6, 10))
    assert run(**{**given, "rounds": first}) == 0
    assert reason in cli.said(run(**{**given, "rounds": second}), 2).err


def test_running_out_of_disk_or_any_other_failure_gives_the_folder_back(
    run: Run, engines: list[FakeEngine], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(FakeEngine, "evaluate", lambda self: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        run()
    assert engines[0].closed
    lock_folder(tmp_path / "x").release()
