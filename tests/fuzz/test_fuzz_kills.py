"""Schedules of faults by seed: runs and campaigns killed at numbered writes, fsyncs, renames and
removals, on a disk that is full then, or with a clock that jumps a day back or ahead.

A continued run ends bit for bit as an undisturbed one: results, masks, client scores, checkpoints.
Hypothesis draws the schedules, and shrinks one that fails.
"""

from __future__ import annotations

import random
import shutil
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import note

from tests.f3ast_tff.run.small_run import csv_without_seconds
from tests.fuzz.generate import try_cases
from tests.fuzz.kill_points import Forks

ROUNDS = 10
_SMALL = "--num_clients=8 --clients_per_round=3 --eval_every=3 --checkpoint_every=2 --device=cpu"
# A strategy with a state, from a plug-in.
_PLUGIN = Path(__file__).parents[2] / "examples/plugins/greedy_loss.py"
_FIVE_MORE = tuple(f"--rounds={rounds}" for rounds in (ROUNDS - 5, ROUNDS))


CAMPAIGN = """
[settings]
task = "synthetic"
engine = "host"
num_clients = 8
clients_per_round = 3
rounds = 4
checkpoint_every = 2
[grid]
algorithm = ["f3ast", "fedavg"]
seed = "0-1"
"""


@dataclass(frozen=True)
class Scenario:
    """A run, new or after a finished one.

    Attributes:
        words: Flags of the run.
        first: Flags of an earlier, finished run in the same folder; empty for a new folder.
    """

    words: tuple[str, ...]
    first: tuple[str, ...] = ()


_SCENARIOS = {
    "outputs": Scenario(("--client_scores", "--write_masks=npz", "--keep_checkpoints=2")),
    "plugin": Scenario((f"--plugin={_PLUGIN}", "--algorithm=greedy_loss", "--write_masks=csv")),
    "memory": Scenario(("--algorithm=mifa", "--client_scores", "--logger=csv")),
    "longer": Scenario(("--client_scores", _FIVE_MORE[1]), ("--client_scores", _FIVE_MORE[0])),
    "masks": Scenario(("--write_masks=npy", "--keep_checkpoints=0"), ("--keep_checkpoints=2",)),
}


@dataclass(frozen=True)
class Undisturbed:
    """An undisturbed scenario: its folder, a copy from before its last command, and its points."""

    folder: Path
    before: Path
    points: int


class Kills:
    """Kills runs of one engine."""

    def __init__(self, forks: Forks, place: Path, words: tuple[str, ...]) -> None:
        self._forks, self._place, self._words = forks, place, words
        self._undisturbed: dict[str, Undisturbed] = {}

    def _run(self, folder: Path, words: tuple[str, ...], **given: Any) -> Any:
        rounds = () if any(word.startswith("--rounds=") for word in words) else _FIVE_MORE[1:]
        return self._forks.run(folder, [*_SMALL.split(), *self._words, *rounds, *words], **given)

    def undisturbed(self, name: str) -> Undisturbed:
        if name not in self._undisturbed:
            folder, before = self._place / name, self._place / f"{name}-before"
            before.mkdir(parents=True)
            if _SCENARIOS[name].first:
                assert self._run(before, _SCENARIOS[name].first).code == 0
            shutil.copytree(before, folder)
            ended = self._run(folder, _SCENARIOS[name].words)
            assert ended.code == 0 and ended.points > 0, ended
            self._undisturbed[name] = Undisturbed(folder, before, ended.points)
        return self._undisturbed[name]

    def case(self, rng: random.Random) -> str:
        """Interrupts a run one to three times, continues it to its end, and compares results."""
        name = rng.choice(sorted(_SCENARIOS))
        undisturbed, words = self.undisturbed(name), _SCENARIOS[name].words
        folder = self._place / "case"
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(undisturbed.before, folder)
        how = ""
        for _ in range(rng.choice([1, 1, 1, 2, 3])):
            how = rng.choice(["kill", "kill", "torn", "torn", "full", "behind", "ahead"])
            at = rng.randint(1, undisturbed.points)
            note(f"{name}: {how} at {at}")
            ended = self._run(folder, words, at=at, how=how)
            if ended.code == 0:
                # A continued run has fewer points.
                break
            last = ended.err.splitlines()[-1] if ended.err else ""
            if how == "full":
                assert ended.code == 1 and "Traceback" not in ended.err, ended
                assert last.startswith(f"error: {folder}/run/") and "No space left" in last, ended
            else:
                assert ended.code == -9, ended
        ended = self._run(folder, words)
        assert ended.code == 0 and "Traceback" not in ended.err, ended
        assert_same_files(folder / "run", undisturbed.folder / "run")
        return f"{name} {how}"


def assert_same_files(one: Path, other: Path) -> None:
    """Compares all files of two runs, apart from times, logs and TensorBoard's events."""

    def names(folder: Path) -> set[str]:
        found = {p.relative_to(folder).as_posix() for p in folder.rglob("*") if p.is_file()}
        return {name for name in found if not name.startswith("events.") and name != "run.log"}

    assert names(one) == names(other)
    assert csv_without_seconds(one) == csv_without_seconds(other)
    for name in names(one):
        if name.startswith(("masks", "client_scores")):
            assert (one / name).read_bytes() == (other / name).read_bytes(), name
        elif name.endswith(".npz"):
            with np.load(one / name) as ours, np.load(other / name) as theirs:
                assert ours.files == theirs.files
                for array in set(ours.files) - {"header"}:
                    assert ours[array].tobytes() == theirs[array].tobytes(), (name, array)


@contextmanager
def kills_of(engine: str, place: Path, *words: str) -> Iterator[Callable[[random.Random], str]]:
    with Forks(engine) as forks:
        yield Kills(forks, place / engine, words).case


def kill_all(kill: Callable[[random.Random], str], number: int, most_s: float) -> None:
    done = Counter[str]()
    try_cases(lambda rng: done.update([kill(rng)]), number, most_s)
    print(done)


@pytest.mark.parametrize(
    ("engine", "number", "most_s"),
    [
        pytest.param("fake", 20, 300, marks=pytest.mark.long),
        pytest.param("fake", 1000, 900, marks=pytest.mark.slow),
        pytest.param("fused", 180, 300, marks=pytest.mark.slow),
        pytest.param("tff", 20, 1200, marks=[pytest.mark.slow, pytest.mark.tff]),
    ],
)
def test_runs(engine: str, number: int, most_s: float, tmp_path: Path) -> None:
    words = ["--engine=tff"] if engine == "tff" else []
    with kills_of(engine, tmp_path, *words) as kill:
        kill_all(kill, number, most_s)


@pytest.mark.slow
def test_campaigns(tmp_path: Path) -> None:
    """The campaign's own process is killed, at a point of its manifest, files or folders."""
    grid = tmp_path / "grid.toml"
    grid.write_text(CAMPAIGN)
    words = ["campaign", str(grid), "--processes=1"]

    def names(folder: Path) -> list[Path]:
        return sorted(path.parent for path in folder.rglob("summary.json"))

    with Forks("host") as forks:
        whole = forks.run(tmp_path / "whole", words)
        assert whole.code == 0 and whole.points > 0, whole
        expected = names(tmp_path / "whole")

        def case(rng: random.Random) -> str:
            folder = tmp_path / "case"
            shutil.rmtree(folder, ignore_errors=True)
            how = rng.choice(["kill", "kill", "torn", "full", "behind", "ahead"])
            ended = forks.run(folder, words, at=rng.randint(1, whole.points), how=how)
            assert "Traceback" not in ended.err, ended
            ended = forks.run(folder, words)
            assert ended.code == 0, ended
            found = names(folder)
            assert [path.name for path in found] == [path.name for path in expected]
            for one, other in zip(found, expected, strict=True):
                assert_same_files(one, other)
            return how

        kill_all(case, 20, 300)
