"""`f3ast-tff advise`: which method, which K, which objective for a log."""

from __future__ import annotations

import logging
import math
import os
import shlex
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from f3ast_tff.availability.logs.availability_log import ROUND_SECONDS, AvailabilityLog, read_log
from f3ast_tff.availability.logs.site_logs import is_site_log
from f3ast_tff.availability.logs.time_units import UNITS
from f3ast_tff.availability.logs.trace_files import ELIGIBLE
from f3ast_tff.cli.flags import plugins_given, setting_flags
from f3ast_tff.core.client_names import client_names
from f3ast_tff.core.errors import ComponentError, DataError, EngineError, ParameterError
from f3ast_tff.files.atomic import made_folder
from f3ast_tff.files.exit_codes import fail, written
from f3ast_tff.files.messages import show
from f3ast_tff.files.progress import progress, warnings_said
from f3ast_tff.files.table_files import read_csv
from f3ast_tff.settings import parameter, parameters_of
from f3ast_tff.settings.flag_help import help_of
from f3ast_tff.settings.flags import UsageError, parse_flags, wants_help
from f3ast_tff.settings.registry import registry_with
from f3ast_tff.settings.text_values import integer_in, number_in

if TYPE_CHECKING:
    from f3ast_tff.advice import Advice
    from f3ast_tff.advice.trial import Trial

# Settings of a run that vary within a trial, or that the log sets.
_OF_THE_TRIAL = frozenset(
    {"aggregation", "algorithm", "availability", "data_seed", "seed", "table_file"}
)

# Least ratio of two shares.
_LEAST_SHARE = 1e-100

USAGE = """
Says what a log of who was online when asks for, tries methods on it, and ends in what to run.

f3ast-tff advise LOG --clients_per_round=5,10,20
f3ast-tff advise LOG --shares=examples.csv
f3ast-tff advise LOG --task=file --data_file=mine.csv --rounds=300
f3ast-tff advise LOG --no-trial
f3ast-tff advise clinics.csv --label_counts=sites.csv --task=mnist  # rounds of sites: which quorum

LOG is a table of rounds and clients (.npy, .npz, .csv), events device,time,online or spans
device,start,end (.csv, .jsonl, .parquet), or device traces (.json, .pkl). The trial takes a minute
or two; it is on Synthetic and, if the package mnist1d is installed, a small network on MNIST-1D.
Every setting of `f3ast-tff run` is a flag of the trial.
"""


@dataclass(frozen=True)
class Options:
    """Flags of the command, besides the settings of a trial's runs."""

    clients_per_round: str | None = parameter(
        None, "numbers of clients per round K to look at; default: those of 5,10,20 up to N"
    )
    shares: str = parameter(
        "",
        "CSV file of client,share, or of a number per client in the log's order, such as its "
        "examples; default: all equal",
        is_path=True,
    )
    round_seconds: int | None = parameter(
        None,
        f"length of a round; default: {ROUND_SECONDS}, of masks by the times of their rows",
        minimum=1,
        units="seconds",
    )
    rounds_per_day: int | None = parameter(
        None, "rounds of a day; default: by the log's times, 24 without", minimum=1
    )
    columns: str = parameter(
        "", "columns with other names, such as device=imei,time=ts,state=event"
    )
    time_unit: str = parameter(
        "auto",
        "unit of times as numbers; auto: what makes all lie in 1990 to 2100",
        choices=("auto", *UNITS),
    )
    max_visit: int | None = parameter(
        None,
        "longest visit; longer ones, as after a lost offline, are closed",
        minimum=1,
        units="seconds",
    )
    states: str = parameter("", "which list of states, where a .json trace has several")
    eligible: str = parameter(ELIGIBLE, "states to train in, for traces with states")
    no_trial: bool = parameter(False, "the page alone: no method runs on the log")
    methods: str = parameter(
        "fedavg+baseline_sampling=without_replacement,fedavg_all+mean,f3ast,scaffold,mifa",
        "methods of the trial, the simplest first: an algorithm, then +aggregation, +setting=value",
    )
    draws: int = parameter(8, "draws of data and seed of the trial", minimum=2)
    out: str = parameter(
        "advice",
        "folder for the page, the table of all clients that its code reads, and a picture of them",
        is_path=True,
    )


def main(argv: Sequence[str]) -> int:
    """Parses the command line and prints the page; returns the exit code."""
    words = ["--no_trial" if word == "--no-trial" else word for word in argv[1:]]
    try:
        if wants_help(words):
            show(help_of(USAGE, parameters_of(Options)))
            return 0
        if not words or words[0].startswith("-"):
            raise UsageError("a log must be named first: f3ast-tff advise LOG; see --help")
        own = {p.name: p for p in parameters_of(Options)}
        plugins = plugins_given(words[1:])
        registry = registry_with(plugins)
        settings = setting_flags(registry)
        given = parse_flags(words[1:], {**settings, **own}, plugins=True)
        of_trial = [n for n in given if n not in own or n in ("methods", "draws")]
        options = Options(**{n: p.checked(given.pop(n, p.default)) for n, p in own.items()})
        if of_trial and options.no_trial:
            name = of_trial[0]
            value = given.get(name, getattr(options, name, ""))
            raise ParameterError(name, value, "does not apply with --no-trial")
        if set_by_trial := [name for name in given if name in _OF_THE_TRIAL]:
            name = set_by_trial[0]
            raise ParameterError(name, given[name], "is set by the trial: see --methods, --draws")
        if options.shares and given.get("task") == "file":
            allowed = "is not for data of your own, which say p_k: give --client_share=examples"
            raise ParameterError("shares", options.shares, allowed)
        path = Path(os.path.expanduser(words[0]))
        if is_site_log(path):
            _advise_sites(path, options, given)
            return 0
        _check_share(given, options.shares)
        if not options.no_trial:
            _check_trial(options, given, plugins)
        with warnings_said(), ExitStack() as stack:
            with written("out", options.out):
                # Before the trial, which takes minutes.
                stack.enter_context(made_folder(Path(options.out)))
            _advise(path, options, given, plugins)
    except (ComponentError, DataError, ParameterError, UsageError) as error:
        return fail(error)
    except EngineError as error:
        return fail(error, 1)
    return 0


def _advise_sites(path: Path, options: Options, given: Mapping[str, Any]) -> None:
    from f3ast_tff.cli.advise_sites import advise_sites

    out = Path(options.out)
    with warnings_said(), written("out", options.out), made_folder(out):
        advise_sites(path, given, options.draws, out, no_trial=options.no_trial)


def _check_share(given: Mapping[str, Any], shares: str) -> None:
    """Refuses a client share that the page's numbers cannot have."""
    share = given.get("client_share")
    if share is None or given.get("task") == "file" or share == ("examples" if shares else "equal"):
        return
    allowed = f"contradicts --shares={shares}" if shares else "is of your data: give --task=file"
    raise ParameterError("client_share", share, allowed)


def _check_trial(options: Options, given: Mapping[str, Any], plugins: Sequence[str]) -> None:
    """Refuses settings of the trial before the log is read."""
    from f3ast_tff.advice.trial import candidates_of
    from f3ast_tff.settings.resolve import resolve

    settings = {name: value for name, value in given.items() if name != "num_clients"}
    for each in candidates_of(_methods(options), plugins):
        resolve({**each.settings, **settings, "availability": "always"}, registry_with(plugins))


def _methods(options: Options) -> list[str]:
    return [each.strip() for each in options.methods.split(",") if each.strip()]


def _advise(path: Path, options: Options, given: Mapping[str, Any], plugins: Sequence[str]) -> None:
    from f3ast_tff.advice import advise
    from f3ast_tff.advice.deploy import CLIENTS, PAGE, PICTURE, deployment, write_files
    from f3ast_tff.advice.page import of_log, of_method

    log, options = _read(path, options)
    p = None
    if options.shares:
        log, p = _with_shares(Path(options.shares), log)
    log, p = _with_data(log, p, given, plugins)
    if given.get("num_clients") not in (None, n := log.masks.shape[1]):
        raise ParameterError("num_clients", given["num_clients"], f"must be {n}, as in the log")
    text = options.clients_per_round
    ks = None if text is None else _numbers(text)
    found = advise(log, p, ks, rounds_per_day=options.rounds_per_day)
    found = replace(found, client_share=given.get("client_share"))
    entries = f"{log.events} entries: " if log.events else ""
    first = f"{path}: read as {log.read_as}\n{entries}{of_log(found)}\n"
    # What the log says comes first: the trial takes a minute or two.
    show(first, flush=True)
    if not options.no_trial:
        found = replace(found, trial=_trial(log, p, found, options, given, plugins))
    folder = Path(options.out)
    command = _command(path, found, options, given, plugins, of_times=log.events > 0)
    rest = "\n".join([of_method(found), "", *command, "", *deployment(found, folder)])
    show(rest)
    with written("out", options.out):
        write_files(found, folder, f"{first}\n{rest}")
    show(f"\n{folder}: {CLIENTS}, {PAGE} and {PICTURE} are written")


def _read(path: Path, options: Options) -> tuple[AvailabilityLog, Options]:
    """The log, and the options with what puts masks with times into longer rounds."""
    seconds = options.round_seconds
    try:
        log = _log(path, options)
        if seconds is None or log.round_seconds == seconds:
            return log, options
        if log.round_seconds is None:
            return replace(log, round_seconds=seconds, start=0.0), options
        more = f"round_seconds={seconds}"
        options = replace(options, columns=",".join(filter(None, [options.columns, more])))
        return _log(path, options), options
    except ParameterError as error:
        # Settings of a trace or a table; here their flags have no prefix.
        name = error.name.removeprefix("trace_").removeprefix("table_")
        raise ParameterError(name, error.value, error.allowed) from error


def _log(path: Path, options: Options) -> AvailabilityLog:
    return read_log(
        path,
        options.round_seconds or ROUND_SECONDS,
        options.states,
        options.eligible,
        columns=options.columns,
        time_unit="" if options.time_unit == "auto" else options.time_unit,
        max_visit=options.max_visit,
    )


def _command(
    path: Path,
    found: Advice,
    options: Options,
    given: Mapping[str, Any],
    plugins: Sequence[str],
    *,
    of_times: bool,
) -> list[str]:
    if options.states or options.eligible != ELIGIBLE:
        # A table reads only a trace's usual states.
        return ["Flags of a run", f"  {found.flags}"]
    task = {name: value for name, value in given.items() if name not in ("rounds", "client_share")}
    flags = {"availability": "table", "table_file": path, **task, **_rates(found, task, plugins)}
    if of_times and options.round_seconds not in (None, ROUND_SECONDS):
        flags["table_round_seconds"] = options.round_seconds
    for name in ("columns", "time_unit", "max_visit"):
        if (value := getattr(options, name)) not in ("", "auto", None):
            flags[f"table_{name}"] = value
    pairs = [*flags.items(), *(("plugin", plugin) for plugin in plugins)]
    words = [shlex.quote(f"--{name}={value}") for name, value in pairs]
    lines = [
        "Simulate it",
        "  " + " \\\n    ".join(["f3ast-tff run", *words, *found.flags.split()]),
    ]
    if options.shares:
        lines.append("  it takes p from its data, not from --shares: give your data by --task=file")
    return lines


def _rates(found: Advice, given: Mapping[str, Any], plugins: Sequence[str]) -> dict[str, Any]:
    """Learning rates of the command: those given, those of the trial, else the defaults."""
    from f3ast_tff.advice.trial import LOCAL_STEPS, study_rates
    from f3ast_tff.analysis.study_runs import RATES
    from f3ast_tff.settings.resolve import resolve

    tuned: dict[str, Any] = {}
    if not {"task", "model"} & given.keys() and (tuned := study_rates(found.method, found.share)):
        tuned["local_steps"] = LOCAL_STEPS
    tuned |= given
    settings = {**found.method.settings, **tuned, "availability": "always"}
    known = resolve(settings, registry_with(plugins)).settings
    return {name: known[name] for name in (*RATES, *tuned) if name in known}


def _trial(
    log: AvailabilityLog,
    p: np.ndarray | None,
    found: Advice,
    options: Options,
    given: Mapping[str, Any],
    plugins: Sequence[str],
) -> Trial:
    from f3ast_tff.advice.trial import tasks_of, trial

    methods = _methods(options)
    settings = {n: value for n, value in given.items() if n not in ("client_share", "num_clients")}
    generated = "task" not in given
    runs = len(methods) * options.draws * len(tasks_of(settings))
    with progress(f"trial with K = {found.k}: {runs} runs", runs, "run") as bar:
        # What a run on generated data says of its data says nothing of the log.
        logging.disable(logging.WARNING if generated else logging.NOTSET)
        try:
            return trial(
                log.masks.table(),
                found.k,
                methods,
                p=p,
                names=log.clients,
                objective=found.objective,
                draws=options.draws,
                share=found.share,
                on_run=lambda task, method, draw: bar.update(),
                **({"plugins": plugins} if plugins else {}),
                **settings,
            )
        finally:
            logging.disable(logging.NOTSET)


def _numbers(text: str) -> list[int]:
    try:
        return [integer_in(each) for each in text.split(",")]
    except ValueError as error:
        allowed = "must be whole numbers with commas between"
        raise ParameterError("clients_per_round", text, allowed) from error


def _with_data(
    log: AvailabilityLog, p: np.ndarray | None, given: Mapping[str, Any], plugins: Sequence[str]
) -> tuple[AvailabilityLog, np.ndarray | None]:
    """The log of the clients in the user's data, and their shares."""
    if given.get("task") != "file":
        return log, p
    from f3ast_tff.core.local_training import client_share
    from f3ast_tff.run.build import Builder
    from f3ast_tff.settings.resolve import resolve

    builder = Builder(resolve({**given, "availability": "always"}, registry_with(plugins)))
    train = builder.data.train
    log = log.of_clients([] if train.names is None else train.names.tolist())
    if log.masks.shape[1] != train.num_clients:
        many = f"the log has {log.masks.shape[1]} clients, the data {train.num_clients}"
        raise DataError(f"{many}, and they share no name")
    return log, client_share(train.sizes, builder.work, given.get("client_share", "equal"))


def _with_shares(path: Path, log: AvailabilityLog) -> tuple[AvailabilityLog, np.ndarray]:
    """The log of the clients with a share, and their shares in its order, `float64 [N]`."""
    try:
        frame = read_csv(path, header=None, dtype=str, keep_default_na=False, skipinitialspace=True)
        if str(frame.iat[0, -1]).strip().isidentifier():
            frame = frame.iloc[1:]
        values = [_share(line + 1, text) for line, text in frame.iloc[:, -1].items()]
    except (OSError, ValueError, IndexError) as error:
        reason = " ".join(str(error).split())
        raise ParameterError("shares", path, f"cannot be read: {reason}") from error
    if frame.shape[1] > 1:
        names = client_names(frame.iloc[:, 0])
        if len({*names}) < len(names):
            twice = next(name for name, many in Counter(names).items() if many > 1)
            allowed = f"names client {twice} twice: must be a line per client, client,share"
            raise ParameterError("shares", path, allowed)
        if not log.clients:
            # The page calls clients without a name by their numbers.
            log = replace(log, clients=tuple(map(str, range(log.masks.shape[1]))))
        try:
            log = log.of_clients(names)
        except DataError as error:
            raise ParameterError("shares", path, str(error)) from error
    n = log.masks.shape[1]
    if len(values) != n:
        raise ParameterError("shares", path, f"has {len(values)} shares, the log {n} clients")
    # Their sum may be beyond the largest number.
    shares = np.asarray(values) / max(values)
    if not (shares > _LEAST_SHARE).all():
        k = int(shares.argmin())
        allowed = f"has {values[k]:g} beside {max(values):g}: as shares of each other they are 0"
        raise ParameterError("shares", path, allowed)
    return log, shares


def _share(line: int, text: str) -> float:
    try:
        found = number_in(text)
    except ValueError:
        found = math.nan
    if not 0 < found < math.inf:
        raise ValueError(f"line {line} has {text.strip()!r}, must be a number above 0")
    return found
