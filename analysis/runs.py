"""Reads and checks run folders, as `f3ast-tff run` writes them."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
import pandas as pd

from f3ast_tff.analysis.compare.scored import KINDS_OF_SCORES, Pair, RunsError, scores_named
from f3ast_tff.analysis.compare.times import PERIODS, Course
from f3ast_tff.analysis.method_names import PLAIN_MEAN, is_plain_mean, own_aggregation
from f3ast_tff.core.federated_data import DATA_OBJECT
from f3ast_tff.files.data_files import read_json
from f3ast_tff.files.messages import is_plain, one_line
from f3ast_tff.records.results import (
    ERROR_FILE,
    DamagedResult,
    check_result,
    read_metrics,
    read_selection,
    read_summary,
)
from f3ast_tff.settings import builtin_registry, parameters_of
from f3ast_tff.settings.kinds import METHOD_KINDS
from f3ast_tff.settings.parameter import PRESETS

# Scores of classes, and whether a higher score is better.
DIRECTIONS: Mapping[str, bool] = MappingProxyType({"accuracy": True, "loss": False})
SCORES = ("sample_accuracy", "user_accuracy", "sample_loss", "user_loss")
_OWN = {*METHOD_KINDS}
# Setting that names a method in tables.
METHOD_NAME = "method_name"
# Kinds whose component every page names.
_SHOWN = ("task", "algorithm", "availability")
SETTINGS = {
    "task": str,
    "algorithm": str,
    "availability": str,
    "reading": str,
    "engine": str,
    "rounds": int,
    "seed": int,
}


@dataclass(frozen=True, eq=False)
class Run:
    """A run of an experiment.

    Attributes:
        path: Folder of the run.
        settings: Settings by name, at least the names in `SETTINGS`.
        metrics: Metrics with a row per evaluation and the columns of `metrics.csv`.
        summary: The content of `summary.json`; `None` when the run is unfinished, empty for a run
            of which only scores are kept.
        components: Entry of `config.json` on the chosen component of each kind.
        method_settings: Settings that runs of other methods may differ in and still be compared.
        not_compared: Settings that do not affect results.
        plugins: SHA-256 of the plug-ins in use, by name.
        method_plugins: Names of the plug-ins that compared methods may differ in: all their
            components in use belong to methods.
        input_files: SHA-256 of the files that settings name, by setting.
        data_sha256: Digest of the data, including clients; `None` if not recorded.
        version: Version of this library that made the run; `None` if not recorded.
        directions: Whether a higher score is better, by the score's name; a model may bring scores.
        own_loss: Whether the model has a loss of its own, not cross-entropy.
    """

    path: Path
    settings: dict[str, Any]
    metrics: pd.DataFrame
    summary: dict[str, Any] | None
    components: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    method_settings: frozenset[str] = frozenset()
    not_compared: frozenset[str] = frozenset()
    plugins: Mapping[str, str] = field(default_factory=dict)
    method_plugins: frozenset[str] = frozenset()
    input_files: Mapping[str, str] = field(default_factory=dict)
    data_sha256: str | None = None
    version: str | None = None
    directions: Mapping[str, bool] = field(default_factory=lambda: DIRECTIONS)
    own_loss: bool = False

    @property
    def pair(self) -> Pair:
        """Data draw (0 for a task without draws) and seed of the run."""
        return Pair(self.settings.get("data_seed") or 0, self.settings["seed"])

    def display(self, kind: str) -> str:
        """Returns the name of the chosen component of a kind in tables and figures.

        An algorithm's is `method_name`, if given, or `PLAIN_MEAN` if the aggregation makes it that.
        """
        if kind == "algorithm" and (given := self.settings.get(METHOD_NAME)):
            return str(given)
        plain = kind == "algorithm" and is_plain_mean(self.settings)
        return PLAIN_MEAN if plain else self.components[kind]["display"]

    def order(self, kind: str) -> int:
        """Returns the place of the chosen component among its kind."""
        return self.components[kind]["order"]

    @property
    def generates_data(self) -> bool:
        """Whether the task generates its data, so that there are other draws."""
        return bool(self.components["task"].get("generates_data"))

    @property
    def guess_loss(self) -> float | None:
        """Cross-entropy of a guess among C classes, ln C; `None` for other losses or unknown C."""
        num_classes = self.components["task"].get("num_classes")
        return None if num_classes is None or self.own_loss else math.log(max(1, num_classes))

    @property
    def kinds(self) -> tuple[str, ...]:
        """First words of the scores: `sample`, `user`, and that of further scores."""
        return kinds_of(self.settings)

    @property
    def ways(self) -> Mapping[str, bool]:
        """Whether a higher further score is better, see `Scored.ways`."""
        return ways_of_kinds(self.settings, self.components)

    @property
    def scores(self) -> tuple[str, ...]:
        """The scores, such as `SCORES`: samples and users of each name, and further ones."""
        return scores_named(self.directions, self.kinds)

    @cached_property
    def course(self) -> Course:
        """Evaluations for comparisons: `metrics` with scores named without `test_`."""
        return course_of(self.metrics)

    @property
    def pooled(self) -> bool:
        """Whether the algorithm trains on all clients' data as one client's."""
        return bool(self.components["algorithm"].get("pooled"))

    @property
    def has_other_aggregation(self) -> bool:
        """Whether the aggregation is not the algorithm's own; `False` for a plug-in's algorithm."""
        own = own_aggregation(self.settings["algorithm"])
        return own is not None and self.settings.get("aggregation") not in (None, own)

    def selection(self) -> dict[str, np.ndarray]:
        """Returns the arrays of `selection.npz`.

        Raises:
            RunsError: If the file is missing or damaged.
        """
        try:
            return read_selection(self.path, self.summary)
        except DamagedResult as error:
            raise RunsError(f"damaged run: {one_line(error)}") from error


def kinds_of(settings: Mapping[str, Any]) -> tuple[str, ...]:
    """Returns the first words of the scores of a run with these settings."""
    further = settings.get("score_of")
    return (*KINDS_OF_SCORES, *([further] if further else []))


def ways_of_kinds(settings: Mapping[str, Any], components: Mapping[str, Any]) -> dict[str, bool]:
    """Returns whether a higher further score is better, by its first word, if it says so."""
    way = components.get("score_of", {}).get("higher_is_better")
    return {} if way is None else {settings["score_of"]: way}


def course_of(metrics: pd.DataFrame) -> Course:
    """Returns the numbers of `metrics.csv` by column; scores have their names without `test_`."""
    return {
        str(name).removeprefix("test_"): column.to_numpy()
        for name, column in metrics.items()
        if column.dtype.kind in "iufb"
    }


def takes_mean(run: Run) -> bool:
    """Returns whether a run's aggregation divides the cohort's weights by their sum.

    Raises:
        RunsError: If the aggregation is a plug-in's.
    """
    name, known = run.settings.get("aggregation", "sum"), builtin_registry()
    if name not in known.names("aggregation"):
        raise RunsError(f"{run.path} has aggregation {name}, which may be a sum or a mean")
    config = known.find("aggregation", name).config
    names = [p.name for p in parameters_of(config) if p.name in run.settings]
    return bool(config(**{n: run.settings[n] for n in names}).build().normalise)


def load_runs(folder: Path | str) -> list[Run]:
    """Reads every run at or below a folder, also unfinished runs, sorted by path.

    Raises:
        RunsError: If there is no run, or one is damaged.
    """
    return [read_run(path) for path in run_folders(folder)]


def run_folders(folder: Path | str) -> list[Path]:
    """Returns the run folders at or below a folder, sorted.

    Raises:
        RunsError: If there is none.
    """
    folder = Path(folder)
    if not os.path.isdir(folder):
        raise RunsError(f"{folder} is not a folder; a folder of runs is needed")
    paths = sorted(config.parent for config in folder.rglob("config.json"))
    if not paths:
        raise RunsError(f"no run in {folder}: no folder at or below it holds a config.json")
    return paths


def unfinished_line(run: Run) -> str:
    """Describes the progress of an unfinished run, and the error that ended it, if recorded."""
    last = int(run.metrics["round"].iloc[-1]) if len(run.metrics) else 0
    line = f"{run.path}: {last} of {run.settings['rounds']} rounds evaluated"
    said = _error_of(run.path)
    return f"{line}; {said}" if said else line


def not_begun(folder: Path | str) -> list[str]:
    """Describes the runs at or below a folder that failed before they wrote their settings."""
    paths = sorted(trace.parent for trace in Path(folder).rglob(ERROR_FILE))
    failed = [path for path in paths if not (path / "config.json").exists()]
    return [f"{path}: failed before its first round; {_error_of(path)}" for path in failed]


def _error_of(path: Path) -> str:
    """Returns the last line of a run's `error.txt`, `""` if there is none."""
    trace = path / ERROR_FILE
    lines = trace.read_text(errors="replace").split("\n") if trace.is_file() else []
    return next((text.strip() for text in reversed(lines) if text.strip()), "")


def finished_runs(runs: Sequence[Run]) -> list[Run]:
    """Returns the runs that have a summary.

    Raises:
        RunsError: If no run has a summary.
    """
    finished = [run for run in runs if run.summary is not None]
    if not finished:
        names = ", ".join(str(run.path) for run in runs) or "none given"
        raise RunsError(f"no finished run (one with a summary.json) among: {names}")
    return finished


def read_run(path: Path) -> Run:
    """Reads one run folder.

    Raises:
        RunsError: If it is damaged.
    """
    file = path
    try:
        file = path / "config.json"
        facts = described(read_json(file))
        file = path / "summary.json"
        summary = read_summary(path)
        scores = scores_named(facts["directions"], kinds_of(facts["settings"]))
        if summary is not None:
            _check_scores(summary, scores)
        file = path / "metrics.csv"
        if summary is not None and "files" in summary:
            check_result(file, summary["files"].get(file.name))
        metrics = _metrics(file, summary is not None, scores)
    except DamagedResult as error:
        raise RunsError(f"damaged run: {one_line(error)}") from error
    except OSError as error:
        raise RunsError(f"damaged run: cannot read {file}: {error.strerror}") from error
    except (ValueError, OverflowError) as error:
        raise RunsError(f"damaged run: {one_line(f'{file}: {error}')}") from error
    return Run(path=path, metrics=metrics, summary=summary, **facts)


def _check_scores(summary: Mapping[str, Any], scores: Sequence[str]) -> None:
    for period in PERIODS:
        values = summary.get(period)
        known = values if isinstance(values, dict) else {}
        for score in scores:
            if not isinstance(known.get(f"test_{score}", ""), (int, float, type(None))):
                raise ValueError(f"{period} has no number for test_{score}")


def described(config: Any) -> dict[str, Any]:
    """Returns fields of `Run` from the content of `config.json`.

    Raises:
        ValueError: If a field is missing.
    """
    settings = config.get("settings") if isinstance(config, dict) else None
    if not isinstance(settings, dict):
        raise ValueError("has no settings")
    for name, value in settings.items():
        if isinstance(value, (dict, list)):
            raise ValueError(f"setting {name} is not a single value")
        if not is_plain(name) or isinstance(value, str) and not is_plain(value):
            raise ValueError(f"setting {name} holds control characters")
    try:
        for kind in _SHOWN:
            config["components"][kind]["order"]  # noqa: B018 - its absence is an error.
        plugins = {str(p["name"]): str(p["sha256"]) for p in config["plugins"]}
        # Data given as an object are a draw of the data, not another experiment.
        data = plugins.pop(f"task {DATA_OBJECT}", None)
        files, digest = config["input_files"], data or config.get("data_sha256")
        version = config.get("packages", {}).get("f3ast-tff")
        return {
            "settings": _checked(settings),
            "components": {
                kind: {**each, "display": one_line(each["display"]), "order": int(each["order"])}
                for kind, each in config["components"].items()
            },
            "method_settings": frozenset(map(str, config["method_settings"])),
            "not_compared": frozenset(map(str, config["not_compared"])),
            "plugins": plugins,
            # Plug-ins with components of methods only, in which compared methods may differ; a
            # model is a method's own if it trains itself.
            "method_plugins": frozenset(
                str(p["name"])
                for p in config["plugins"]
                if {*p["kinds"]} <= {*_OWN, *({"model"} & {*config["method_settings"]})}
            ),
            "input_files": {str(name): str(sha256) for name, sha256 in files.items()},
            "data_sha256": None if digest is None else str(digest),
            "version": None if version is None else one_line(str(version)),
            "directions": directions(config),
            "own_loss": bool((config.get("scoring") or {}).get("own_loss")),
        }
    except (AttributeError, KeyError, TypeError) as error:
        raise ValueError(f"does not describe its components: {error!r}") from error


def directions(config: Mapping[str, Any]) -> Mapping[str, bool]:
    """Returns whether a higher score is better, by score, from the content of `config.json`."""
    scoring = config.get("scoring")
    if scoring is None:
        return DIRECTIONS
    return {one_line(str(name)): each == "higher" for name, each in scoring["scores"].items()}


def _checked(settings: dict[str, Any]) -> dict[str, Any]:
    for name, kind in SETTINGS.items():
        if not isinstance(settings.get(name), kind):
            raise ValueError(f"setting {name} is not there, or not of type {kind.__name__}")
    for name, value in settings.items():
        if isinstance(value, int) and abs(value) >= 2**63:
            raise ValueError(f"setting {name} is beyond all integers of a run")
    if settings["reading"] not in PRESETS:
        known = ", ".join(PRESETS)
        raise ValueError(f"setting reading is {settings['reading']!r}, must be one of {known}")
    if settings.get("constraint") is None and not isinstance(
        settings.get("clients_per_round"), int
    ):
        raise ValueError("setting clients_per_round is not there, or not of type int")
    return settings


def _metrics(file: Path, finished: bool, scores: Sequence[str]) -> pd.DataFrame:
    columns = ["round", *(f"test_{score}" for score in scores)]
    if not finished and not file.exists():
        # A run writes its settings before its first evaluation.
        return pd.DataFrame(columns=columns, dtype=float)
    metrics = read_metrics(file)
    missing = [column for column in columns if column not in metrics]
    if missing:
        raise ValueError(f"has no column {', '.join(missing)}")
    rounds = metrics["round"]
    if len(metrics) and not (rounds.dtype.kind == "i" and rounds.iloc[0] >= 1):
        raise ValueError("rounds are not integers from 1")
    if not (rounds.is_monotonic_increasing and rounds.is_unique):
        raise ValueError("rounds do not increase")
    return metrics
