"""`f3ast-tff demo`: from nothing to a verdict and a picture, in half a minute."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from f3ast_tff.core.errors import DataError, Interrupted, ParameterError, RunFolderError
from f3ast_tff.files.exit_codes import BAD_INPUT, FAILED, fail, fail_of_machine, written
from f3ast_tff.files.messages import show
from f3ast_tff.files.progress import say
from f3ast_tff.files.signals import Signals
from f3ast_tff.settings import builtin_registry, parameter, parameters_of
from f3ast_tff.settings.flag_help import help_of
from f3ast_tff.settings.flags import UsageError, parse_flags, wants_help

if TYPE_CHECKING:
    from f3ast_tff.campaigns.planned import Campaign

_USAGE = """
F3AST, FedAvg without replacement, and a plain mean, on generated data: which is better, when, and
which clients does each neglect? 24 runs of 500 rounds, half a minute of one core.

f3ast-tff demo

Its grid is an example: f3ast-tff example demo.toml. Given again, it goes on.
"""
_GRID = Path(__file__).resolve().parents[1] / "examples/demo.toml"
_WIDTH = 100
# Methods of the picture; the first stands out.
_DRAWN = ("F3AST", "FedAvg, without replacement", "Plain mean")
_INTRODUCTION = """
100 clients train one model, each with its own data (Synthetic(1,1), no client above 1000 examples).
They are there as smartphones are: some often, some seldom, all by a daily wave. 10 may train in a
round. User accuracy is the mean over clients: each counts alike. Every method has the learning
rates that were best for it on other draws of the data.
"""
_NEXT = """
next:
  f3ast-tff report --runs={runs} --out=report  # this as a page, with curves
  f3ast-tff example  # lists files to begin with: a method, a log, a grid
  f3ast-tff try my_method.py  # is a method of your own better?
"""


@dataclass(frozen=True)
class Options:
    """Flags of the command."""

    output_dir: str = parameter("runs", "folder of the folder demo, which has the runs")
    out: str = parameter("", "folder of the pictures; default: the folder demo", is_path=True)
    processes: int | None = parameter(None, "runs at a time; default: one per core", minimum=1)


def demo(argv: Sequence[str], signals: Signals) -> int:
    """Runs the campaign, prints verdicts and draws the picture; returns the exit code."""
    words = list(argv[1:])
    try:
        if wants_help(words):
            show(help_of(_USAGE, parameters_of(Options)))
            return 0
        own = {p.name: p for p in parameters_of(Options)}
        given = parse_flags(words, own)
        options = Options(**{n: p.checked(given.get(n, p.default)) for n, p in own.items()})
        return _demo(options, signals)
    except (DataError, ParameterError, RunFolderError, UsageError) as error:
        return fail(error, BAD_INPUT)
    except BrokenPipeError:
        raise
    except OSError as error:
        return fail_of_machine(error)
    except Interrupted:
        say("interrupted: the same command goes on")
        return signals.exit_code


def _demo(options: Options, signals: Signals) -> int:
    from f3ast_tff.analysis.compare.scored import RunsError
    from f3ast_tff.campaigns import Options as CampaignOptions
    from f3ast_tff.campaigns.command import run_campaign
    from f3ast_tff.campaigns.grid import plan
    from f3ast_tff.campaigns.runs import is_finished

    if options.out:
        # Before the runs.
        with written("out", options.out):
            Path(options.out).mkdir(parents=True, exist_ok=True)
    given, registry = {"output_dir": options.output_dir}, builtin_registry()
    campaign = plan(_GRID, given, registry=registry)
    show(_INTRODUCTION.strip(), end="\n\n", flush=True)
    of_campaign = CampaignOptions(campaign=str(_GRID), processes=options.processes)
    code = run_campaign(of_campaign, given, registry, signals)
    if not all(map(is_finished, campaign.runs)):
        return code or FAILED
    try:
        _say_verdicts(campaign)
        pictures = _draw(campaign, Path(options.out or campaign.folder))
    except RunsError as error:
        return fail(error, BAD_INPUT)
    show(f"picture: {pictures[0]}, for dark pages {pictures[1]}")
    show(f"runs: {campaign.folder}")
    show(_NEXT.format(runs=campaign.folder).rstrip())
    return 0


def _by_name(campaign: Campaign) -> dict[str, list[Path]]:
    """Folders of the runs of each method."""
    from f3ast_tff.analysis.method_names import (
        algorithm_label,
        method_label,
        without_own_aggregation,
    )

    found: dict[str, list[Path]] = {}
    for run in campaign.runs:
        told = {n: v for n in ("aggregation", "baseline_sampling") if (v := run.settings.get(n))}
        told = without_own_aggregation(told, run.settings["algorithm"])
        name = method_label(algorithm_label(run.settings), told)
        found.setdefault(name, []).append(run.folder)
    return found


def _say_verdicts(campaign: Campaign) -> None:
    """Prints the sentence of each pair, and what they are about."""
    from f3ast_tff.analysis.compare.methods import heading, in_words
    from f3ast_tff.analysis.compare.times import PERIODS
    from f3ast_tff.analysis.results_frame import results_of
    from f3ast_tff.analysis.runs import read_run
    from f3ast_tff.analysis.score_directions import score_of_objective

    methods = {name: [*map(read_run, each)] for name, each in _by_name(campaign).items()}
    results = results_of(methods)
    table = results.differences()
    lines = [line for row in table.to_dict("records") for line in in_words(row)]
    show("\n".join(["", *lines]))
    score = score_of_objective(results.methods.groups)
    said = heading(results.methods, table, score, PERIODS[0])
    show(f"\n{textwrap.fill(said, _WIDTH)}\n")


def _draw(campaign: Campaign, folder: Path) -> list[Path]:
    from f3ast_tff.analysis.presence import WAITS, by_presence, draw_presence

    runs = _by_name(campaign)
    folder.mkdir(parents=True, exist_ok=True)
    drawn = {name: by_presence(runs[name]) for name in _DRAWN}
    return draw_presence(drawn, WAITS, folder / "presence.svg")
