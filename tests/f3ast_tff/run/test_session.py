"""`simulate` and `compare` in a notebook: a bar, and what Ctrl-C returns."""

from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from f3ast_tff import compare, load_run, simulate
from f3ast_tff.run.session import Session

FEW: dict[str, Any] = {
    "engine": "host",
    "num_clients": 8,
    "clients_per_round": 2,
    "rounds": 9,
    "eval_every": 4,
}


@pytest.fixture(autouse=True)
def notebook(monkeypatch: pytest.MonkeyPatch) -> None:
    for place in ("simulation", "comparison"):
        monkeypatch.setattr(f"f3ast_tff.{place}.is_interactive", lambda: True)


class Presses:
    """Presses Ctrl-C when a round of some run is done; blocks have one round here."""

    def __init__(self, run: int, round_number: int) -> None:
        self._left, self._round = run, round_number

    def __call__(self, round_number: int, cohort: Any, outcome: Any) -> None:
        self._left -= round_number == 1
        if not self._left and round_number == self._round:
            os.kill(os.getpid(), signal.SIGINT)


@pytest.fixture(autouse=True)
def blocks_of_one_round(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("f3ast_tff.run.round_loop._BLOCK_SECONDS", 0.0)


def same(a: list[np.ndarray], b: list[np.ndarray]) -> bool:
    return all(map(np.array_equal, a, b))


def test_ctrl_c_returns_the_rounds_so_far(caplog: pytest.LogCaptureFixture) -> None:
    """Rounds 1 to 6: those of a run of 6, whose last round is evaluated, too."""
    found = simulate(on_round=Presses(1, 6), **FEW)
    six = simulate(**{**FEW, "rounds": 6})
    assert found.was_stopped and not six.was_stopped
    assert found.metrics["round"].tolist() == six.metrics["round"].tolist() == [4, 6]
    assert same(found.weights, six.weights) and "rounds 6 of 9" in repr(found)
    np.testing.assert_array_equal(found.selection["selected"], six.selection["selected"])
    assert "stopping after this round" in caplog.text
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_a_run_in_a_folder_goes_on_later(tmp_path: Path) -> None:
    simulate(on_round=Presses(1, 6), folder=tmp_path / "run", **FEW)
    assert "round 4" not in (text := repr(load_run(tmp_path / "run")))
    assert text.startswith(f"<SavedRun: {tmp_path / 'run'}, task synthetic, algorithm f3ast, ")
    assert text.endswith("rounds 4 of 9, unfinished>") and "\n" not in text
    whole = simulate(folder=tmp_path / "run", **FEW)
    assert same(whole.weights, simulate(**FEW).weights)
    assert repr(load_run(tmp_path / "run")).endswith(", rounds 9>")


def test_of_several_runs_the_finished_ones_are_returned() -> None:
    found = simulate(seeds=range(4), on_round=Presses(3, 2), **FEW)
    assert sorted(set(found["seed"])) == [0, 1]
    more = {**FEW, "seeds": range(2), "on_round": Presses(4, 2)}
    frame = compare({"A": "fedavg", "B": "f3ast", "C": "fedavg"}, **more)
    runs = frame.groupby(["method", "seed"]).size()
    assert runs.index.tolist() == [("A", 0), ("A", 1), ("B", 0)]


@pytest.mark.parametrize("seeds", [None, range(2)])
def test_before_the_first_run_there_is_nothing_to_return(seeds: Any) -> None:
    def interrupted(world: Any) -> Any:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        simulate(algorithm=interrupted, seeds=seeds, **FEW)


def test_a_second_ctrl_c_ends_the_call() -> None:
    def twice(round_number: int, cohort: Any, outcome: Any) -> None:
        for _ in range(2):
            os.kill(os.getpid(), signal.SIGINT)

    with pytest.raises(KeyboardInterrupt):
        simulate(on_round=twice, **FEW)


def test_the_bar_shows_rounds_and_accuracy(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("f3ast_tff.run.session._DELAY_S", 0.0)
    simulate(**FEW)
    assert "| 0/9 [" in capsys.readouterr().err
    session = Session(9)
    with session.hold():
        session.start(4)
        session.advance(2, {"round": 5, "test_sample_accuracy": 0.5})
        bar = session._bar
        assert (bar.n, bar.total, bar.postfix) == (5, 9, "accuracy 0.5000")
    assert bar.disable
