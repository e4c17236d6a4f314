"""Which runs have the same inputs: files by their content, and draws of the data by theirs."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

from f3ast_tff.analysis.compare.scored import Pair
from f3ast_tff.analysis.runs import Run
from f3ast_tff.core.federated_data import DATA_OBJECT
from f3ast_tff.settings import builtin_registry

# Settings by which `data_seed` draws from data that are given.
_DRAWING = ("own_test", "held_out_clients", "test_clients")
# Task whose test examples a version may have drawn otherwise.
_FILE = "file"


def pairs_of(runs: Sequence[Run]) -> dict[Run, Pair]:
    """Returns the data draw and seed of each run; a draw goes by its lowest `data_seed`.

    Equal data, by their digest, are one draw, whatever their `data_seed`: it changes nothing in a
    file with a column of the split, for example. Runs without a digest count by `data_seed`. Data
    given as objects are draws, numbered in the order of the runs.
    """
    lowest: dict[tuple[str, str], int] = {}
    for run in runs:
        if run.data_sha256 is not None:
            key = (run.settings["task"], run.data_sha256)
            lowest[key] = min(run.pair.draw, lowest.get(key, run.pair.draw))
    objects: dict[tuple[str, int], int] = {}
    found = {}
    for run in runs:
        name, digest = run.settings["task"], run.data_sha256 or ""
        draw = lowest.get((name, digest), run.pair.draw)
        if name == DATA_OBJECT:
            # The data's digest does not say which examples and clients a setting draws.
            drawn = any(run.settings.get(each) is not None for each in _DRAWING)
            key_of_object = (digest, run.pair.draw if drawn else 0)
            draw = objects.setdefault(key_of_object, len(objects))
        found[run] = run.pair._replace(draw=draw)
    return found


def file_names(runs: Sequence[Run]) -> dict[str, str]:
    """A name for each input file by its digest: its first name, and part of the digest."""
    names: dict[str, str] = {}
    for run in runs:
        for setting, digest in run.input_files.items():
            name = os.path.basename(str(run.settings.get(setting)))
            names.setdefault(digest, f"{name} {digest[:8]}")
    return names


def data_names(runs: Sequence[Run]) -> dict[Run, str]:
    """Marks the data of tasks whose runs of one draw were made from different files.

    Returns:
        The digest for runs of a draw with several digests, "" for the task's remaining runs.
        Generated data are left out, because settings identify them and their last digits depend on
        the processor.
    """
    tasks = builtin_registry().components["task"]
    by_draw: dict[tuple[Any, ...], dict[Run, str]] = {}
    for run in runs:
        name = run.settings["task"]
        task = tasks.get(name)
        from_files = task is not None and ("data_dir" in run.settings or name == _FILE)
        if task is not None and from_files and run.data_sha256 is not None:
            settings = [p.name for p in task.parameters if p.decides_result]
            values = {**run.settings, **run.input_files}
            draw = (name, run.pooled, *map(values.get, settings))
            by_draw.setdefault(draw, {})[run] = run.data_sha256[:8]
    several = {draw: found for draw, found in by_draw.items() if len({*found.values()}) > 1}
    digests = {run: digest for found in several.values() for run, digest in found.items()}
    concerned = {task for task, *_ in several}
    return {run: digests.get(run, "") for run in runs if run.settings["task"] in concerned}
