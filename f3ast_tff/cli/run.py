"""`f3ast-tff run` and `campaign`: progress, a result line per run, exit codes.

The way of a flag to its component, such as `--rate_beta` to F3AST:

1. `parse` (cli/flags.py) makes a flag of each declared parameter, and settings of given flags.
2. `resolve` (settings/resolve.py) adds the defaults, and makes the `Config` of each component.
3. `Builder` (run/build.py), which `run_experiment` asks for all parts, calls `Config.build`.
4. The component's own file, methods/f3ast.py, builds the strategy. Its `Config` declares the
   parameters, or inherits shared ones such as `rate_beta` from methods/parts/algorithm.py.
"""

from __future__ import annotations

import contextlib
import itertools
import math
import time
from collections import deque
from collections.abc import Container, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

from f3ast_tff.campaigns import Options
from f3ast_tff.cli.flags import CAMPAIGN, Parsed, expand_flagfiles, flag_names, parse, plugins_given
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
from f3ast_tff.files.exit_codes import BAD_INPUT, FAILED, fail, fail_of_machine
from f3ast_tff.files.messages import show
from f3ast_tff.files.progress import (
    LINE_EVERY_S,
    duration,
    owns_terminal,
    say,
    terminal_bar,
    warnings_said,
)
from f3ast_tff.files.signals import Signals
from f3ast_tff.settings import Registry
from f3ast_tff.settings.flags import UsageError, wants_help

# What a run needs is imported later, so that a wrong flag is refused at once.
if TYPE_CHECKING:
    from f3ast_tff.records.metrics import Row
    from f3ast_tff.run.round_loop import RunResult
    from f3ast_tff.settings.configuration import Configuration

# Limit on the runs of a command, which are all resolved before the first starts.
_MAX_RUNS = 10_000
_MAX_SAID = 10
_OF_CAMPAIGN = "interrupted: the same command goes on with the campaign"
_AT_START = "interrupted before a round was done: the same command starts or goes on with the run"


def run_or_campaign(command: str, arguments: Sequence[str], signals: Signals) -> int:
    """Parses the arguments of `run` or `campaign`, and executes it; returns the exit code."""
    words = list(arguments)
    if command == "campaign" and not words:
        from f3ast_tff.cli.help_pages import campaigns_text

        show(campaigns_text())
        return 0
    if command == "campaign" and not words[0].startswith("-"):
        words[0] = f"--campaign={words[0]}"
    try:
        if wants_help(words):
            from f3ast_tff.cli.help_pages import help_page
            from f3ast_tff.settings.flag_help import help_topic

            plugins = plugins_given(expand_flagfiles(words, Path()))
            registry = parse([f"--plugin={each}" for each in plugins]).registry
            show(help_page(command, help_topic(words), registry))
            return 0
        parsed = parse(words)
    except (ParameterError, UsageError) as error:
        return fail(error)
    if "campaign" in parsed.campaign:
        return campaign(parsed, signals)
    if command == "campaign" or parsed.campaign:
        given = "".join(f" --{name}" for name in parsed.campaign)
        return fail(f"a campaign must be named: f3ast-tff campaign NAME{given}")
    return run(parsed.settings, parsed.registry, signals)


def run(given: Mapping[str, Any], registry: Registry, signals: Signals | None = None) -> int:
    """Runs or resumes the experiment that the settings describe.

    Args:
        given: Settings by name. A list of values means several runs: every combination, in order.
        registry: Known components.
        signals: Request to stop, polled between rounds; none by default.

    Returns:
        The exit code: 0, `BAD_INPUT` for errors of the user, 128 plus the number of a signal,
        `FAILED` otherwise. Several runs return their first code other than 0; after a signal
        no further run starts, and the code is the signal's if runs are left.
    """
    signals = signals or Signals()
    names = flag_names(registry)
    lists = {name: values for name, values in given.items() if isinstance(values, list)}
    if lists and "run_name" in given:
        allowed = f"must not be given with several values of {', '.join(lists)}"
        return fail(ParameterError("run_name", given["run_name"], allowed))
    code, said = 0, set[str]()
    with warnings_said():
        try:
            # Resolve all runs before the first starts, because a later run may be refused.
            configurations = _resolved(given, lists, registry)
        except (ComponentError, ParameterError) as error:
            return fail(error, BAD_INPUT, names)
        for number, configuration in enumerate(configurations, start=1):
            code_of_run = _run(configuration, names, signals, said)
            code = code or code_of_run
            if signals.requested():
                left = len(configurations) - number
                if not left:
                    return code_of_run or code
                say(f"interrupted: {left} of {len(configurations)} runs have not started")
                return signals.exit_code
    return code


def _resolved(
    given: Mapping[str, Any], lists: Mapping[str, Sequence[Any]], registry: Registry
) -> list[Configuration]:
    """Returns the configuration of every combination.

    Raises:
        ParameterError: If a setting is refused, or if two runs have one folder.
    """
    from f3ast_tff.settings.resolve import resolve

    number = math.prod(len(values) for values in lists.values())
    if number > _MAX_RUNS:
        name = max(lists, key=lambda each: len(lists[each]))
        allowed = f"{number} runs, must be at most {_MAX_RUNS}"
        raise ParameterError(name, _some(lists[name]), allowed)
    found: dict[Path, tuple[dict[str, Any], Configuration]] = {}
    for values in itertools.product(*lists.values()):
        chosen = dict(zip(lists, values))
        configuration = resolve({**given, **chosen}, registry)
        folder = configuration.folder
        if folder in found:
            other, _ = found[folder]
            name = next(name for name in lists if chosen[name] != other[name])
            allowed = f"two of these runs would be in {folder}; start them one by one"
            raise ParameterError(name, _some(lists[name]), allowed)
        found[folder] = chosen, configuration
    return [configuration for _, configuration in found.values()]


def _some(values: Sequence[Any]) -> str:
    """A list as it is given, cut if long."""
    return ",".join(map(str, values[:_MAX_SAID])) + ",..." * (len(values) > _MAX_SAID)


def campaign(parsed: Parsed, signals: Signals) -> int:
    """Runs or resumes a campaign; returns the exit code."""
    from f3ast_tff.campaigns.command import run_campaign
    from f3ast_tff.campaigns.estimate import MeasurementError
    from f3ast_tff.campaigns.grid_file import CampaignError

    signals.message = _OF_CAMPAIGN
    try:
        options = Options(**parsed.campaign)
        if not options.list and not options.estimate:
            _check_plan(options.campaign or "")
        return run_campaign(options, given=parsed.settings, registry=parsed.registry, stop=signals)
    except (CampaignError, ComponentError, DataError, ParameterError, RunFolderError) as error:
        return fail(error, BAD_INPUT, {*flag_names(parsed.registry), *CAMPAIGN})
    except MeasurementError as error:
        return fail(error, FAILED)
    except BrokenPipeError:
        raise
    except (MemoryError, OSError) as error:
        return fail_of_machine(error)
    except Interrupted:
        say(_OF_CAMPAIGN)
        return signals.exit_code


def _check_plan(campaign: str) -> None:
    """Refuses a campaign whose plan could not be judged after its runs.

    Raises:
        CampaignError: See `read_plan`, also for the file itself.
        ParameterError: If there is no such campaign.
    """
    from f3ast_tff.campaigns.grid_file import CampaignError, find_grid_file, read_grid_file

    if not read_grid_file(find_grid_file(campaign)).plan:
        return
    # Imported here: it needs pandas.
    from f3ast_tff.analysis.compare.plan import read_plan
    from f3ast_tff.analysis.compare.scored import RunsError

    try:
        read_plan(campaign)
    except RunsError as error:
        raise CampaignError(str(error)) from error


def _run(
    configuration: Configuration, names: Container[str], signals: Signals, said: set[str]
) -> int:
    from f3ast_tff.run.run_experiment import run_experiment

    progress = ProgressBar(
        configuration.settings.run.run_name, configuration.settings.training.rounds
    )
    signals.message, signals.say = _AT_START, say
    try:
        with closing(progress):
            result = run_experiment(
                configuration, configuration.folder, progress=progress, stop=signals
            )
    except (CheckpointError, ComponentError, DataError, ParameterError, RunFolderError) as error:
        if str(error) in said:
            # Another run of the command is refused alike.
            return BAD_INPUT
        said.add(str(error))
        return fail(error, BAD_INPUT, names)
    except (EngineError, PluginError) as error:
        return fail(error, FAILED)
    except BrokenPipeError:
        raise
    except (MemoryError, OSError) as error:
        return fail_of_machine(error)
    except Interrupted as error:
        done = error.round_number
        say(
            f"interrupted: checkpoint at round {done}, the same command goes on from there"
            if done
            else _AT_START
        )
        return signals.exit_code
    _report(configuration.folder, result)
    return 0


def _report(folder: Path, result: RunResult) -> None:
    if result.not_added:
        say(f"{folder}: {', '.join(result.not_added)}: not added to a finished run")
    summary = result.summary
    # JSON has no NaN; a summary holds null instead.
    final = {k: float("nan") if v is None else v for k, v in summary["final"].items()}
    from f3ast_tff.records.metrics import shown_scores, users_said

    scores = [f"{n.replace('_', ' ')} {final[f'test_{n}']:.4f}" for n in shown_scores(final)]
    scores += [f"users: {users}"] if (users := users_said([summary])) else []
    show(
        f"{folder} {'already finished' if result.finished_before else 'finished'}: "
        f"round {final['round']}, "
        f"{', '.join(scores)}; {_cost(summary)}"
    )


def _cost(summary: Mapping[str, Any]) -> str:
    memory = f"{summary['peak_memory_mib']:.0f} MiB"
    if "worker_peak_memory_mib" in summary:
        memory += f" and {summary['worker_peak_memory_mib']:.0f} MiB in TFF's worker"
    seconds = summary["seconds_per_round"]
    shown = "?" if seconds is None else format(seconds, ".3g")
    return f"{shown} s per round (median, without scoring), at most {memory}"


_WINDOW_S = 10.0


class ProgressBar:
    """Round, seconds per round, time left and accuracy (loss, if labels are values).

    Without a terminal of its own it prints a line per percent that has an evaluation, and every
    half minute if rounds are slow.
    """

    def __init__(self, name: str, rounds: int) -> None:
        """Takes the run's name and its number of rounds."""
        self._name = name
        self._rounds = rounds
        self._bar: Any = None
        self._score = ""
        self._done = 0
        self._first = True
        self._shown = 0.0
        self._percent = 0
        # Pairs of a time and the number of rounds done at that time.
        self._past: deque[tuple[float, int]] = deque()

    def start(self, first_round: int) -> None:
        self._done = first_round - 1
        self._shown = time.monotonic()
        self._past.append((self._shown, self._done))
        if first_round > 1:
            say(f"{self._name}: resuming from round {first_round}")
        elif owns_terminal():
            say(self._name)
        self._bar = terminal_bar(
            total=self._rounds,
            initial=self._done,
            unit="round",
            dynamic_ncols=True,
            bar_format="round {n_fmt}/{total_fmt} |{bar}| {desc}",
        )

    def advance(self, rounds: int, row: Row | None) -> None:
        now = time.monotonic()
        self._done += rounds
        per_round = self._seconds_per_round(now)
        if row is not None:
            from f3ast_tff.records.metrics import shown_scores

            shown = shown_scores(row)[0]
            name = shown.removeprefix("sample_")
            self._score = f", {name} {row[f'test_{shown}']:.4f}"
        left = duration(per_round * (self._rounds - self._done))
        told = f"{per_round:.2g} s per round, ETA {left}{self._score}"
        with contextlib.suppress(OSError):  # The terminal may be gone.
            if self._bar is not None:
                self._bar.set_description_str(told, refresh=False)
                self._bar.update(rounds)
                return
            percent = 100 * self._done // self._rounds
            further = row is not None and percent > self._percent
            if further or now - self._shown > LINE_EVERY_S:
                say(f"{self._name}: round {self._done}/{self._rounds}, {told}")
                self._shown, self._percent = now, percent

    def _seconds_per_round(self, now: float) -> float:
        """Mean over the last seconds; leaves out the first block, which compiles, if possible."""
        past = self._past
        past.append((now, self._done))
        if len(past) > 2 and (self._first or past[1][0] < now - _WINDOW_S):
            past.popleft()
            self._first = False
        (before, done), (after, now_done) = past[0], past[-1]
        return (after - before) / (now_done - done)

    def close(self) -> None:
        """Draws the bar a last time and ends its line; a second call does nothing."""
        if self._bar is not None and not self._bar.disable:
            with contextlib.suppress(OSError):
                self._bar.close()
