"""`f3ast-tff try`: from a plug-in to a verdict."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from f3ast_tff.cli.flags import plugins_given, setting_flags
from f3ast_tff.core.errors import (
    ComponentError,
    DataError,
    Interrupted,
    ParameterError,
    RunFolderError,
)
from f3ast_tff.files.exit_codes import BAD_INPUT, FAILED, fail
from f3ast_tff.files.messages import show
from f3ast_tff.files.progress import say
from f3ast_tff.files.signals import Signals
from f3ast_tff.settings import parameter, parameters_of
from f3ast_tff.settings.flag_help import help_of
from f3ast_tff.settings.flags import UsageError, parse_flags, wants_help
from f3ast_tff.settings.registry import Registry, registry_with

USAGE = """
Tunes a method of a plug-in and others on draws held out, and judges them on sixteen others.

f3ast-tff try my_method.py
f3ast-tff try my_method.py --against=fedavg,f3ast,scaffold --availability=smartphones
f3ast-tff try my_method.py --tune='client_lr=0.01,0.03,0.1;mu=0.1,1'

It says its cost first. Grids and runs stay in the folder of --out; given again, it goes on. Every
setting of `f3ast-tff run` is a flag, for all methods alike.
"""
_INTERRUPTED = "interrupted: the same command goes on"


@dataclass(frozen=True)
class Options:
    """Flags of the command, besides the settings of its runs."""

    against: str = parameter(
        "fedavg+baseline_sampling=without_replacement,fedavg_all+mean,f3ast,scaffold",
        "the other methods: an algorithm, then +aggregation, +setting=value (of optimizers too)",
    )
    method: str = parameter(
        "", "method of the plug-in, in the same form; default: the one that it registers"
    )
    tune: str = parameter(
        "client_lr=0.001,0.003,0.01,0.03;server_lr=1,3,10,30",
        "values of each parameter to tune; a method without it passes over it",
    )
    widen: int = parameter(
        2, "values that a parameter gets beyond an end at which most methods are best", minimum=0
    )
    score: str = parameter(
        "", "score that decides, such as user_mae; default: the accuracy of the objective, or loss"
    )
    out: str = parameter("", "folder of grids and runs; default: runs/try_NAME", is_path=True)
    processes: int | None = parameter(None, "runs at a time; default: one per core", minimum=1)


def try_method(argv: Sequence[str], signals: Signals) -> int:
    """Parses the command line, runs both campaigns, prints the verdict; returns the exit code."""
    words = list(argv[1:])
    try:
        if wants_help(words):
            show(help_of(USAGE, parameters_of(Options)))
            return 0
        if not words or words[0].startswith("-"):
            raise UsageError("a plug-in must be named first: f3ast-tff try FILE.py; see --help")
        plugins = [_plugin(words[0]), *map(_plugin, plugins_given(words[1:]))]
        registry = registry_with(plugins)
        own = {p.name: p for p in parameters_of(Options)}
        given = parse_flags(words[1:], {**setting_flags(registry), **own}, plugins=True)
        options = Options(**{n: p.checked(given.pop(n, p.default)) for n, p in own.items()})
        for name in ("seed", "data_seed", "output_dir", "run_name"):
            if name in given:
                raise ParameterError(name, given[name], "is set by the command")
        return _try(plugins, registry, options, given, signals)
    except (ComponentError, DataError, ParameterError, RunFolderError, UsageError) as error:
        return fail(error, BAD_INPUT)
    except Interrupted:
        say(_INTERRUPTED)
        return signals.exit_code


def _plugin(name: str) -> str:
    """The plug-in's file by its absolute path; a module as it is."""
    return os.path.abspath(os.path.expanduser(name)) if name.endswith(".py") else name


def _own_method(registry: Registry, source: str) -> str:
    """The method that a plug-in registers."""
    components = registry.plugins[0].components
    names = [each.name for each in components if each.kind == "algorithm"]
    if not names:
        sums = [each.name for each in components if each.kind == "aggregation"]
        names = [f"fedavg+{name}" for name in sums]
    if len(names) != 1:
        said = f"{source} registers {len(names)} methods" + (
            f": {', '.join(names)}" if names else ""
        )
        more = "" if names else "; name one to run on it, such as f3ast"
        raise ParameterError("method", "", f"must be given: {said}{more}")
    return names[0]


def _warn(registry: Registry) -> None:
    """Says which quick properties a component of the plug-in lacks."""
    from f3ast_tff.conformance.case import Case
    from f3ast_tff.conformance.table import KINDS as TESTED
    from f3ast_tff.conformance.table import findings

    for each in registry.plugins[0].components:
        if each.kind not in TESTED:
            continue
        with tempfile.TemporaryDirectory() as folder, suppress(ParameterError):
            # The small problem may lack a setting that the component needs.
            case = Case(kind=each.kind, name=each.name, registry=registry, folder=Path(folder))
            told: set[str] = set()
            for found in findings(case, quick=True):
                if found.holds is False and found.cause not in told:
                    told.add(found.cause)
                    say(f"WARNING: {each.kind} {each.name}: {found.name} fails: {found.said}")


def _try(
    plugins: Sequence[str],
    registry: Registry,
    options: Options,
    given: dict[str, Any],
    signals: Signals,
) -> int:
    from f3ast_tff.advice.ladders import ends_of
    from f3ast_tff.advice.own_method import comparison
    from f3ast_tff.advice.own_verdict import Outcome
    from f3ast_tff.analysis.report.render import write
    from f3ast_tff.campaigns import Options as CampaignOptions
    from f3ast_tff.campaigns.command import run_campaign
    from f3ast_tff.campaigns.estimate import MeasurementError, print_estimate
    from f3ast_tff.campaigns.planned import Campaign
    from f3ast_tff.campaigns.processes import default_processes
    from f3ast_tff.campaigns.runs import is_finished

    _warn(registry)
    method = options.method or _own_method(registry, plugins[0])
    others = [each.strip() for each in options.against.split(",") if each.strip()]
    stem = Path(plugins[0]).stem
    folder = Path(options.out or Path("runs") / f"try_{stem}").absolute()
    made = comparison(
        plugins=plugins,
        registry=registry,
        methods=[method, *others],
        tune=options.tune,
        given=given,
        folder=folder,
        score=options.score,
    )
    tuning = made.tuning()
    judging = made.judged({each.name: made.choices(each)[0] for each in made.methods})
    show(f"{len(tuning.runs)} runs to tune, then {len(judging.runs)} to judge")
    if options.widen and any(map(ends_of, made.ladders.values())):
        show("a parameter gets more values where most methods are best at its end (--widen)")
    if options.score and not any(map(is_finished, tuning.runs)):
        made.check_score()
    if left := [run for run in tuning.runs if not is_finished(run)]:
        processes = options.processes or default_processes(run.environment for run in left)
        try:
            # Rates cost no time: those that are to be judged are not known yet.
            later = [run for run in judging.runs if not is_finished(run)]
            print_estimate([*left, *later], processes, tuning.folder, signals)
        except MeasurementError as error:
            return fail(error, FAILED)

    def finishes(campaign: Campaign) -> int:
        own = CampaignOptions(
            campaign=str(folder / f"{campaign.name}.toml"), processes=options.processes
        )
        code = run_campaign(own, {"output_dir": str(folder)}, registry, signals)
        return 0 if all(map(is_finished, campaign.runs)) else code or FAILED

    while True:
        if code := finishes(tuning):
            return code
        chosen = made.chosen(tuning)
        wider = made.wider(chosen, options.widen)
        if wider is None:
            break
        before, values = len(tuning.runs), wider.ladders
        added = [f"{n} {v[-1]}" for n, v in wider.added.items() if values[n] != made.ladders[n]]
        made, tuning = wider, wider.tuning()
        more = f"{len(tuning.runs) - before} runs more"
        show(f"most methods are best at an end of the grid: {', '.join(added)} too, {more}")
    judged = made.judged(chosen)
    if code := finishes(judged):
        return code
    score, higher = made.scored(judged)
    outcome = Outcome(made, made.outcome(judged, chosen), chosen, score, higher)
    write(outcome.document(made.scores_of(tuning)), folder, name="verdict")
    show(f"\n{outcome}")
    show(f"\npage: {folder / 'verdict.html'}, {folder / 'verdict.md'}")
    show(f"more: f3ast-tff report --runs={judged.folder} --out=report")
    return 0
