"""A run of a campaign: plan, result, and progress from its folder."""

from __future__ import annotations

import json
import logging
import re
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import Any

from f3ast_tff.core.errors import DataError, ParameterError
from f3ast_tff.datasets.task import DownloadedTaskConfig
from f3ast_tff.records.results import DamagedResult, sound_summary
from f3ast_tff.records.run_folder import is_without_rounds, read_config, refuse_other_run
from f3ast_tff.run.begun import shorter_run
from f3ast_tff.settings import parameters_of
from f3ast_tff.settings.component import component_of
from f3ast_tff.settings.configuration import Configuration, Settings
from f3ast_tff.settings.kinds import KINDS
from f3ast_tff.settings.text_values import conditions, number_in

_LOG = logging.getLogger(__name__)

# An axis whose value d stands for `data_seed` d and `seed` d, so for all random draws.
DRAW = "draw"
FINISHED = "finished"
FAILED = "failed"
# State of a run whose process is gone.
LOST = "lost"
_ADVICE = "Give another output_dir, or remove the campaign's folder"
_ROUND = re.compile("[0-9]{1,18}")
# Settings in which the runs of a line may differ, besides the fractions (rates) of these kinds.
_OF_RUN = {"seed", "data_seed", "rounds", "eval_every", "client_lr_decay"}
_OF_RUN |= {"output_dir", "run_name", "keep_checkpoints"}
_WITH_RATES = ("algorithm", "aggregation", "client_optimizer", "server_optimizer")


@dataclass(frozen=True)
class PlannedRun:
    """A run of a campaign.

    Attributes:
        name: Unique name, also of the run's folder.
        configuration: The resolved settings.
        identity: `Configuration.identity` when the run was planned: input files may change later.
    """

    name: str
    configuration: Configuration
    identity: Mapping[str, Any] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "identity", self.configuration.identity)

    @property
    def settings(self) -> Settings:
        """The run's settings."""
        return self.configuration.settings

    @property
    def folder(self) -> Path:
        """The run's folder."""
        return Path(self.settings.run.output_dir) / self.name

    @property
    def rounds(self) -> int:
        """T, the run's number of rounds."""
        return self.settings.training.rounds

    @property
    def environment(self) -> tuple[str, str]:
        """Engine and device; a process only executes runs of one environment."""
        return self.settings.engine, self.settings.get("device") or ""

    @cached_property
    def line(self) -> str:
        """Text that is equal for runs that differ only in draw, rates and rounds: of equal cost."""
        configs = (self.configuration.configs[kind] for kind in _WITH_RATES)
        rates = {p.name for c in configs for p in parameters_of(type(c)) if p.kind is float}
        kept = {n: v for n, v in self.settings.items() if n not in _OF_RUN and n not in rates}
        return json.dumps(kept, sort_keys=True)

    @property
    def order(self) -> dict[str, Any]:
        """JSON values from which another process resolves the run again."""
        return {
            "settings": dict(self.settings),
            "plugins": self.configuration.plugin_sources,
            "identity": self.identity,
        }


@dataclass(frozen=True)
class Outcome:
    """End of a run.

    Attributes:
        state: `FINISHED`, `FAILED` or `LOST`.
        error: The error in one line, if the run did not finish.
        started: Time of the start or the resumption, ISO 8601, UTC.
        ended: Time of the end, ISO 8601, UTC.
        seconds: Duration without the start of the process.
        worker: The process that ran it.
    """

    state: str
    error: str | None
    started: str
    ended: str
    seconds: float
    worker: str


def now() -> str:
    """Returns the time in the format of manifests: ISO 8601, UTC, to the millisecond."""
    return at(time.time())


def at(timestamp: float) -> str:
    """Returns a time, seconds since 1970, in the format of manifests."""
    when = datetime.fromtimestamp(timestamp, UTC)
    return when.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def is_finished(run: PlannedRun) -> bool:
    """Returns whether a run has finished with unchanged results.

    Raises:
        RunFolderError: If the folder holds another run with a checkpoint, which is not this one
            with fewer rounds, or a damaged `config.json`.
    """
    config = read_config(run.folder)
    if config is None:
        return False
    if is_without_rounds(run.folder):
        return False
    if shorter_run(run.folder, run.configuration, _ADVICE) is not None:
        return False
    identity = json.loads(json.dumps(run.identity))
    refuse_other_run(run.folder, config, identity, advice=_ADVICE)
    try:
        return sound_summary(run.folder) is not None
    except DamagedResult as error:
        _LOG.warning("%s", error)
        return False


def rounds_done(run: PlannedRun) -> int:
    """Returns the round of the newest checkpoint; 0 without one."""
    checkpoints = (run.folder / "checkpoints").glob("round_*.npz")
    numbers = [path.stem.partition("_")[2] for path in checkpoints]
    return max((int(number) for number in numbers if _ROUND.fullmatch(number)), default=0)


def with_own_draw(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Returns a run's settings with the draw equal to both seeds; `None` if the seeds differ."""
    seed = settings["seed"]
    same = settings.get("data_seed", seed) == seed
    return {**settings, DRAW: seed if same else None}


_MAX_NAMED = 20


def runs_where(
    runs: Sequence[PlannedRun], where: str, types: Mapping[str, type]
) -> tuple[PlannedRun, ...]:
    """Returns the runs that meet all conditions, in their order; see `conditions`.

    A run without a setting meets no condition on it. `DRAW` is a run's `data_seed` and `seed` if
    the two are equal.

    Raises:
        ParameterError: If a condition is malformed or unmet by every run, if a setting does not
            exist, or if no run is left.
    """
    allowed = conditions(where)
    settings = [with_own_draw(run.settings) for run in runs]
    for name, values in allowed.items():
        if name not in types:
            condition = f"{name}={values[0]}"
            raise ParameterError("where", condition, f"there is no setting {name}")
        there = [each[name] for each in settings if each.get(name) is not None]
        for value in values:
            if not any(_is(name, setting, value) for setting in there):
                words = f"none of the campaign's {len(runs)} runs has it{_named(there)}"
                raise ParameterError("where", f"{name}={value}", words)
    found = tuple(
        run
        for run, each in zip(runs, settings)
        if all(
            any(_is(name, each.get(name), value) for value in values)
            for name, values in allowed.items()
        )
    )
    if not found:
        raise ParameterError("where", where, f"none of the campaign's {len(runs)} runs has these")
    return found


def _named(there: Sequence[Any]) -> str:
    names = list(dict.fromkeys(map(str, there)))
    more = ", ..." if len(names) > _MAX_NAMED else ""
    return f"; must be one of {', '.join(names[:_MAX_NAMED])}{more}" if names else ""


def _is(name: str, setting: Any, text: str) -> bool:
    """Whether a text means a setting's value: 0.10 means 0.1, and FedAvg means fedavg."""
    if isinstance(setting, bool) or name in KINDS:
        return str(setting).lower() == text.lower()
    if isinstance(setting, (int, float)):
        try:
            return number_in(text) == setting
        except ValueError:
            return False
    return bool(setting == text)


# Runs with other seeds draw other clients from the same files.
_SAME_FILES = "data_seed"


def check_data(runs: Sequence[PlannedRun]) -> None:
    """Opens the data of every task that reads files; prepares data and fetches missing files.

    Raises:
        DataError: If a file is missing or damaged; names it, and the missing files of all tasks.
        ParameterError: If a file contradicts a setting.
    """
    for task in _tasks(runs).values():
        try:
            task.build()
        except DataError as error:
            others = [
                line for line in missing_files(runs) if line.partition(" ")[0] not in str(error)
            ]
            more = f"; also missing: {'; '.join(others)}" if others else ""
            raise DataError(f"{error}{more}") from error


def missing_files(runs: Sequence[PlannedRun]) -> list[str]:
    """Returns a line for each missing file that the runs read.

    A line names the file, its size, its folder and its address.
    """
    lines = []
    for task in _tasks(runs).values():
        for source in task.sources:
            if not source.is_in(task.folder):
                place = (task.folder / source.names[-1]).parent
                lines.append(f"{source.size} into {place} from {source.download.url}")
    return list(dict.fromkeys(lines))


def tasks_without_data(runs: Sequence[PlannedRun]) -> list[str]:
    """Returns the names of the tasks with a missing file."""
    tasks = _tasks(runs).values()
    lacking = (t for t in tasks if not all(source.is_in(t.folder) for source in t.sources))
    return list(dict.fromkeys(component_of(task).name for task in lacking))


def _tasks(runs: Sequence[PlannedRun]) -> dict[str, DownloadedTaskConfig]:
    """The distinct tasks that read files."""
    found: dict[str, DownloadedTaskConfig] = {}
    for run in runs:
        task = run.configuration.configs["task"]
        if isinstance(task, DownloadedTaskConfig):
            names = [p.name for p in parameters_of(type(task)) if p.name != _SAME_FILES]
            key = [run.settings["task"], {name: run.settings[name] for name in names}]
            found.setdefault(json.dumps(key), task)
    return found
