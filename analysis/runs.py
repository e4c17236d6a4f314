"""Run folders, as `run_experiments.py` writes them, read and checked."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

SCORES = ("sample_accuracy", "user_accuracy", "sample_loss", "user_loss")
PERIODS = ("final", "mean_of_last_10_percent")
SETTINGS = {
    "task": str,
    "algorithm": str,
    "availability": str,
    "reading": str,
    "engine": str,
    "clients_per_round": int,
    "rounds": int,
    "seed": int,
}
_COLUMNS = ["round", *(f"test_{score}" for score in SCORES)]


class RunsError(ValueError):
    """Run folders cannot be used: there are none, or one is damaged; says which in one line."""


@dataclass(frozen=True, eq=False)
class Run:
    """One run.

    Attributes:
        path: Its folder.
        settings: Its settings by name; those of `SETTINGS` are there.
        metrics: A row an evaluation, with the columns of `metrics.csv`.
        summary: The content of `summary.json`; `None` when the run is unfinished.
    """

    path: Path
    settings: dict[str, Any]
    metrics: pd.DataFrame
    summary: dict[str, Any] | None


def load_runs(folder: Path | str) -> list[Run]:
    """Reads every run at or below a folder.

    Args:
        folder: Where to look, at any depth.

    Returns:
        The runs, unfinished ones too, sorted by the path of their folder.

    Raises:
        RunsError: If there is no run, or one is damaged.
    """
    folder = Path(folder)
    if not folder.is_dir():
        raise RunsError(f"{folder} is not a folder; a folder of runs is needed")
    paths = sorted(config.parent for config in folder.rglob("config.json"))
    if not paths:
        raise RunsError(f"no run in {folder}: no folder at or below it holds a config.json")
    return [_load(path) for path in paths]


def finished_runs(runs: Sequence[Run]) -> list[Run]:
    """Returns the runs that have a summary.

    Raises:
        RunsError: If none has.
    """
    finished = [run for run in runs if run.summary is not None]
    if not finished:
        names = ", ".join(str(run.path) for run in runs) or "none given"
        raise RunsError(f"no finished run (one with a summary.json) among: {names}")
    return finished


def _load(path: Path) -> Run:
    file = path
    try:
        file = path / "config.json"
        settings = _settings(json.loads(file.read_text()))
        file = path / "summary.json"
        summary = _summary(json.loads(file.read_text())) if file.exists() else None
        file = path / "metrics.csv"
        metrics = _metrics(file, summary)
    except OSError as error:
        raise RunsError(f"damaged run: cannot read {file}: {error.strerror}") from error
    except ValueError as error:
        # One line, whatever the parser's message looks like.
        raise RunsError(f"damaged run: {file}: {' '.join(str(error).split())}") from error
    return Run(path, settings, metrics, summary)


def _settings(config: Any) -> dict[str, Any]:
    settings = config.get("settings") if isinstance(config, dict) else None
    if not isinstance(settings, dict):
        raise ValueError("has no settings")
    for name, kind in SETTINGS.items():
        if not isinstance(settings.get(name), kind):
            raise ValueError(f"setting {name} is not there, or not of type {kind.__name__}")
    for name, value in settings.items():
        if isinstance(value, (dict, list)):
            raise ValueError(f"setting {name} is not a single value")
    return settings


def _summary(summary: Any) -> dict[str, Any]:
    for period in PERIODS:
        values = summary.get(period) if isinstance(summary, dict) else None
        if not isinstance(values, dict):
            raise ValueError(f"{period} is not there")
        for column in _COLUMNS if period == "final" else _COLUMNS[1:]:
            # null stands for a number that is not finite.
            if not isinstance(values.get(column, ""), (int, float, type(None))):
                raise ValueError(f"{period} has no number {column}")
    return summary


def _metrics(file: Path, summary: dict[str, Any] | None) -> pd.DataFrame:
    if summary is None and not file.exists():
        # A run writes its settings a while before it evaluates.
        return pd.DataFrame(columns=_COLUMNS, dtype=float)
    metrics = pd.read_csv(file, float_precision="round_trip")
    missing = [column for column in _COLUMNS if column not in metrics]
    if missing:
        raise ValueError(f"has no column {', '.join(missing)}")
    for column in _COLUMNS:
        if len(metrics) and not pd.api.types.is_numeric_dtype(metrics[column]):
            raise ValueError(f"column {column} holds something that is not a number")
    if not (metrics["round"].is_monotonic_increasing and metrics["round"].is_unique):
        raise ValueError("rounds do not increase")
    if summary is not None:
        last = metrics["round"].iloc[-1] if len(metrics) else "none"
        if last != summary["final"]["round"]:
            raise ValueError(f"last round is {last}, {summary['final']['round']} in summary.json")
    return metrics
