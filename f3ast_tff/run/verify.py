"""Plays a kept run again from its record, and finds the first round in which it differs."""

from __future__ import annotations

import json
import math
import shutil
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from f3ast_tff.core.errors import (
    CheckpointError,
    ComponentError,
    DataError,
    EngineError,
    Interrupted,
    ParameterError,
    PluginError,
    RunFolderError,
)
from f3ast_tff.files.messages import one_line
from f3ast_tff.files.signals import Stop
from f3ast_tff.records.checkpoint import Checkpoint, CheckpointStore
from f3ast_tff.records.history import PADDING
from f3ast_tff.records.metrics import Row
from f3ast_tff.records.provenance import cores, provenance, versions_of
from f3ast_tff.records.run_folder import read_config, refuse_other_run, run_id_of
from f3ast_tff.run.run_experiment import run_experiment
from f3ast_tff.run.saved_run import SavedRun, load_run
from f3ast_tff.settings.configuration import Configuration
from f3ast_tff.settings.registry import registry_with
from f3ast_tff.settings.resolve import resolve

EQUAL, DIFFERS, CANNOT = "equal", "differs", "cannot be played again"
# Measured times.
_NO_RESULTS = {"wall_seconds"}
# Parts of a checkpoint whose arrays are results; the others are compared round by round.
_PARTS = ("engine", "strategy", "in_flight")
# Outputs that a second play does without.
_WITHOUT: dict[str, Any] = {"logger": "csv", "write_masks": "none", "client_scores": False}
_CANNOT = (
    CheckpointError,
    ComponentError,
    DataError,
    EngineError,
    ParameterError,
    PluginError,
    RunFolderError,
)


class Difference(NamedTuple):
    """A result that differs.

    Attributes:
        round_number: The round; 0 for what precedes the rounds.
        name: Score of `metrics.csv`, array of `selection.npz`, or array of a checkpoint.
        said: Both values in words, or how far arrays are apart.
    """

    round_number: int
    name: str
    said: str


@dataclass(frozen=True)
class Verified:
    """Result of playing a run again.

    Attributes:
        folder: Folder of the run.
        verdict: `EQUAL`, `DIFFERS` or `CANNOT`.
        said: What was compared, the first difference and what has changed, or the reason.
    """

    folder: Path
    verdict: str
    said: str


class _Until:
    """Stops a run after a round; a `Stop` and a `Progress`."""

    def __init__(self, last: int, stop: Stop) -> None:
        self._last, self._stop, self._done = last, stop, 0

    def start(self, first_round: int) -> None:
        self._done = first_round - 1

    def advance(self, rounds: int, row: Row | None) -> None:
        self._done += rounds

    def hold(self) -> AbstractContextManager[None]:
        return self._stop.hold()

    def requested(self) -> bool:
        return self._done >= self._last or self._stop.requested()


def verify(folder: Path, first: int, last: int | None, stop: Stop) -> Verified:
    """Plays a run again, in a temporary folder.

    Args:
        folder: Folder of the run, finished or not; nothing in it is changed.
        first: First round to compare, at least 1. The play begins at the last kept checkpoint
            before it, else at round 1.
        last: Last round to compare; `None` for the last recorded one.
        stop: Request to stop.

    Raises:
        Interrupted: If `stop` was requested.
    """
    try:
        configuration = _configuration(folder)
        kept = load_run(folder)
        end = min(last or kept.settings["rounds"], _recorded(kept))
        if first > end:
            raise RunFolderError(f"it has no record of round {first}")
        with tempfile.TemporaryDirectory() as temporary:
            again = _played(kept, configuration, Path(temporary) / "run", first, end, stop)
            now = load_run(again)
            found = _first_of(_differences(kept, now, first, end))
        if found is None:
            return Verified(folder, EQUAL, f"rounds {first} to {end}")
    except _CANNOT as error:
        return Verified(folder, CANNOT, one_line(str(error)))
    where = f"round {found.round_number}" if found.round_number else "the start"
    said = f"from {where} on: {found.name} {found.said}; {changes(kept.config, now.config)}"
    return Verified(folder, DIFFERS, said)


def changes(then: Mapping[str, Any], now: Mapping[str, Any]) -> str:
    """Returns what differs between the origins of two runs, from their `config.json`."""
    before = {**versions_of(then), "git commit": then.get("git_commit")}
    after = {**versions_of(now), "git commit": now.get("git_commit")}
    found = [
        f"{name} {before.get(name)} is now {value}"
        for name, value in after.items()
        if before.get(name) != value
    ]
    if then.get("data_sha256") != now.get("data_sha256"):
        found.append("the data are others")
    known = then.get("cores") or []
    if cores() not in known:
        found.append(f"{', '.join(map(str, known))} cores are now {cores()}")
    if then.get("continued_with"):
        found.append("it went on with other versions than it began with")
    if then.get("git_modified") or now.get("git_modified"):
        found.append("files of the commit were changed")
    return f"changed: {'; '.join(found)}" if found else "versions, cores and data are the same"


def first_different_row(
    then: Mapping[int, Mapping[str, float]],
    now: Mapping[int, Mapping[str, float]],
    tolerance: float = 0.0,
) -> Difference | None:
    """Returns the first score that differs.

    Args:
        then: Recorded scores by round and name.
        now: Scores of the second play, which may have more rounds and names.
        tolerance: Largest difference, absolute or relative, of scores that count as equal.
    """
    for number in sorted(then):
        for name, value in then[number].items():
            got = now.get(number, {}).get(name, math.nan)
            same = got == value or math.isnan(got) and math.isnan(value)
            if not same and not math.isclose(got, value, rel_tol=tolerance, abs_tol=tolerance):
                return Difference(number, name, f"is {got!r}, was {value!r}")
    return None


def _configuration(folder: Path) -> Configuration:
    """The run's configuration, from its record.

    Raises:
        ParameterError: If this version, or this machine, does not know it.
        RunFolderError: If the record is of no run, or of another one than it makes here.
    """
    record = read_config(folder) or {"settings": {}}
    sources = [each["source"] for each in record.get("plugins", [])]
    if not all(sources):
        raise RunFolderError("objects were given in Python, which its record does not hold")
    settings = record["settings"]
    others = {name: value for name, value in _WITHOUT.items() if name in settings}
    configuration = resolve({**settings, **others}, registry_with(sources))
    identity = json.loads(json.dumps(configuration.identity))
    refuse_other_run(folder, record, identity, advice="It cannot be the same run")
    return configuration


def _recorded(kept: SavedRun) -> int:
    """The last round with a record."""
    evaluated = int(kept.metrics["round"].iloc[-1]) if len(kept.metrics) else 0
    return max(evaluated, len(kept.selection.get("num_selected", ())))


def _store(folder: Path, config: Mapping[str, Any]) -> CheckpointStore:
    return CheckpointStore(folder / "checkpoints", run_id_of(config["identity"]))


def _checkpoints(folder: Path, config: Mapping[str, Any]) -> dict[int, Checkpoint]:
    """The sound checkpoints by round."""
    if not (folder / "checkpoints").is_dir():
        return {}
    found: dict[int, Checkpoint] = {}
    before = math.inf
    while True:
        try:
            newest = _store(folder, config).load_newest(before)
        except CheckpointError:
            return found
        if newest is None:
            return found
        found[newest.round_number] = newest
        before = newest.round_number


def _played(
    kept: SavedRun, configuration: Configuration, copy: Path, first: int, end: int, stop: Stop
) -> Path:
    """Plays the rounds up to `end` in a folder, and returns it."""
    before = [n for n in _checkpoints(kept.folder, kept.config) if n < first]
    if before:
        (copy / "checkpoints").mkdir(parents=True)
        shutil.copy(kept.folder / "config.json", copy)
        name = f"round_{max(before):08d}.npz"
        shutil.copy(kept.folder / "checkpoints" / name, copy / "checkpoints")
    until = _Until(end, stop)
    run_experiment(configuration, copy, progress=until, stop=until, or_so_far=True)
    if stop.requested():
        raise Interrupted(end)
    if before:
        # The copied record has the versions of then.
        config = {**(read_config(copy) or {}), **provenance()}
        (copy / "config.json").write_text(json.dumps(config))
    return copy


def _differences(kept: SavedRun, now: SavedRun, first: int, end: int) -> Iterator[Difference]:
    then, again = kept.selection, now.selection
    for name in ("p", "initial_rates"):
        if name in then and name in again and first == 1:
            yield from _of_arrays(0, name, then[name], again[name])
    for t in range(first, end + 1):
        found = list(_of_round(then, again, t))
        yield from found
        if found:
            break
    row = first_different_row(_rows(kept, first, end), _rows(now, first, end))
    if row is not None:
        yield row
    stores = [_checkpoints(each.folder, each.config) for each in (kept, now)]
    for number in sorted(n for n in stores[0].keys() & stores[1].keys() if first <= n <= end):
        old, new = (store[number].arrays for store in stores)
        for name in sorted(n for n in old if n.partition("/")[0] in _PARTS):
            yield from _of_arrays(number, name, old[name], new.get(name))


def _first_of(found: Iterator[Difference]) -> Difference | None:
    return min(found, key=lambda each: each.round_number, default=None)


def _rows(run: SavedRun, first: int, end: int) -> dict[int, dict[str, float]]:
    table = run.metrics
    rows: Sequence[Mapping[Any, Any]] = table.to_dict("records")
    names = [str(n) for n in table if str(n) not in _NO_RESULTS and table[n].dtype.kind in "iufb"]
    return {
        int(row["round"]): {name: float(row[name]) for name in names}
        for row in rows
        if first <= row["round"] <= end
    }


def _of_round(
    then: Mapping[str, np.ndarray], now: Mapping[str, np.ndarray], t: int
) -> Iterator[Difference]:
    rounds = len(then.get("num_selected", ()))
    for name in sorted(then.keys() & now.keys()):
        if name in ("p", "rate_rounds") or name.startswith("final_") or t > rounds:
            continue
        if name == "rates":
            old, new = (each["rates"][each["rate_rounds"] == t] for each in (then, now))
            if len(old) and len(new):
                yield from _of_arrays(t, name, old[0], new[0])
        elif len(then[name]) == rounds and len(now[name]) >= t:
            old, new = (each[name][t - 1] for each in (then, now))
            if name in PADDING:
                width = max(old.size, new.size)
                old, new = (
                    np.pad(each, (0, width - each.size), constant_values=PADDING[name])
                    for each in (old, new)
                )
            yield from _of_arrays(t, name, old, new)


def _of_arrays(t: int, name: str, then: np.ndarray, now: np.ndarray | None) -> Iterator[Difference]:
    old, new = np.asarray(then), np.asarray(now)
    if now is None or old.shape != new.shape:
        yield Difference(t, name, f"has shape {list(new.shape)}, had {list(old.shape)}")
    elif not np.array_equal(old, new, equal_nan=old.dtype.kind == "f"):
        if old.ndim == 0:
            yield Difference(t, name, f"is {new.item()!r}, was {old.item()!r}")
            return
        apart = ~((old == new) | ((old != old) & (new != new)))
        said = f"differs in {int(apart.sum())} of {old.size} values"
        if old.dtype.kind == "f":
            said += f", by at most {float(np.nanmax(np.abs(old - new)[apart])):.2g}"
        yield Difference(t, name, said)
