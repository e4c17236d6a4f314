"""Compares the methods of a folder of runs: a table, verdicts, and a picture of the curves.

f3ast-tff compare runs/demo
f3ast-tff compare runs/demo --out=accuracy.png --baseline=fedavg
f3ast-tff compare runs/mine --plan=mine.toml    # the questions of a campaign's [plan], no others
"""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path

from f3ast_tff.analysis.command_line import (
    command,
    may_differ_flag,
    names_in,
    read_finished,
    require_ending,
    runs_flag,
    say_left_out,
)
from f3ast_tff.analysis.compare.equal_seconds import AtSeconds, arrived
from f3ast_tff.analysis.compare.methods import Methods, differences, heading, in_words, methods_of
from f3ast_tff.analysis.compare.plan import read_plan
from f3ast_tff.analysis.compare.scored import RunsError, summarised, varying
from f3ast_tff.analysis.compare.times import CLOCK, Time
from f3ast_tff.analysis.curves import X_AXES, draw_curves
from f3ast_tff.analysis.line_styles import Look, looks_of
from f3ast_tff.analysis.report.variants import told_apart
from f3ast_tff.analysis.results_frame import final_table, render
from f3ast_tff.analysis.run_groups import RunGroup, collect, describe
from f3ast_tff.analysis.score_directions import own_scores_said, score_of_objective
from f3ast_tff.analysis.texts import several_versions, users_scored, write_csv
from f3ast_tff.campaigns.progress import first_start
from f3ast_tff.core.errors import ParameterError
from f3ast_tff.files.exit_codes import written
from f3ast_tff.files.messages import show
from f3ast_tff.settings import parameter

_WIDTH = 100
# The other flags say what is compared.
_WITH_PLAN = ("runs", "plan", "out", "csv")


@dataclass(frozen=True)
class Flags:
    """Flags of this command."""

    runs: str = runs_flag()
    out: str | None = parameter(
        None,
        "picture of the curves to write or replace, .png, .svg or .pdf; its folder must exist",
        is_path=True,
    )
    colour: str | None = parameter(
        None, "setting whose values have lines in one panel, coloured; default: the algorithm"
    )
    baseline: str | None = parameter(
        None, "method that all others are compared with; default: each with each, or FedAvg if many"
    )
    may_differ: str = may_differ_flag()
    score: str | None = parameter(
        None,
        "score that methods are compared by, such as sample_loss; default: the accuracy of the "
        "runs' objective (the loss, if labels are values), over users for p_k = 1 / N, else over "
        "samples",
    )
    x: str = parameter(
        "rounds",
        "what curves are drawn against; with simulated_seconds methods are compared at equal "
        "seconds",
        choices=tuple(X_AXES),
    )
    seconds: float | None = parameter(
        None,
        "simulated time at which methods are compared; default: that at which the first run ends",
        above=0,
        units="seconds",
    )
    reach: float | None = parameter(
        None, "compare the simulated seconds until the score has this value, up to --seconds"
    )
    csv: str | None = parameter(None, "CSV file to write the table into", is_path=True)
    plan: str | None = parameter(
        None, "campaign, built in or a TOML file: judge the questions of its [plan] alone"
    )


@command(Flags, __doc__)
def main(flags: Flags) -> None:
    """Prints the table and draws the curves."""
    if flags.out is not None:
        require_ending("out", flags.out, ".png", ".svg", ".pdf")
    if flags.plan is not None:
        _judge_plan(flags, flags.plan)
        return
    collected = collect(flags.runs)
    if not collected.groups:
        lines = [*collected.damaged, *collected.unfinished]
        raise RunsError(f"no finished run (one with a summary.json) among: {'; '.join(lines)}")
    colour = None if flags.colour == "algorithm" else flags.colour
    if colour is not None:
        _require_setting(colour, collected.groups)
    groups, may_differ, at = collected.groups, names_in(flags.may_differ), _at_seconds(flags)
    if at is not None:
        may_differ = list(dict.fromkeys([*may_differ, *at.theirs(groups)]))
        groups = replace(at, reach=None).cut(groups)
    methods = methods_of([g.with_own([colour] if colour else []) for g in groups], may_differ)
    say_left_out((*collected.damaged, *collected.repeated, *collected.unfinished))
    looks = _looks(methods, colour)
    names = [*methods.conditions, *dict.fromkeys([*methods.own, *([colour] if colour else [])])]
    table = final_table(methods.groups, names, methods.labels)
    score = flags.score or score_of_objective(methods.groups)
    # A colour draws other conditions in one panel; it does not make them equal.
    equal = methods_of(collected.groups, may_differ)
    time = Time() if at is None else at.time(collected.groups)
    compared = differences(equal, score, time, flags.baseline)
    last = {} if at is None else {"final": f"by {time.seconds:g} s"}
    show(render(table, names[len(methods.conditions) :], **last))
    if better := own_scores_said(methods.groups):
        show(f"\n{better}")
    if time.reach is not None:
        show("\n".join(["", *_arrived(equal, time, score)]))
    for where, part in compared.groupby("where", sort=False):
        lines = [str(where)] if where else []
        lines += [line for row in part.to_dict("records") for line in in_words(row)]
        show("\n".join(["", *lines]))
    if len(set(equal.labels.values())) > 1:
        said = heading(equal, compared, score, time, flags.baseline)
        show(f"\n{textwrap.fill(said, _WIDTH)}\n")
    if users := users_scored(collected.groups):
        show(textwrap.fill(users, _WIDTH))
    if versions := several_versions(collected.groups):
        show(textwrap.fill(versions, _WIDTH))
    if flags.out is not None:
        draw_curves(
            methods.groups,
            names=methods.conditions,
            path=Path(flags.out),
            looks=looks,
            num_unfinished=len(collected.unfinished),
            x=flags.x if at is None else CLOCK,
            score=flags.score,
        )
    if flags.csv is not None:
        with written("csv", flags.csv):
            write_csv(table, flags.csv)
        show(f"table: {flags.csv}")
    if flags.out is not None:
        show(f"curves: {flags.out}")


def _judge_plan(flags: Flags, plan: str) -> None:
    """Prints the verdicts on the questions of a plan."""
    from f3ast_tff.analysis.compare import plan_verdicts
    from f3ast_tff.analysis.tidy_scores import scores_of_runs

    for each in fields(Flags):
        value = getattr(flags, each.name)
        if each.name not in _WITH_PLAN and value != each.default:
            raise ParameterError(each.name, value, "must not be given with plan, which says it")
    try:
        questions = read_plan(plan)
    except ParameterError as error:
        raise ParameterError("plan", error.value, error.allowed) from error
    if not questions:
        raise RunsError(f"{plan} has no [plan]")
    first = first_start(Path(flags.runs))
    asked = [replace(q, first_scores=q.first_scores or first) for q in questions]
    scores = scores_of_runs(read_finished(flags.runs))
    table = plan_verdicts.verdicts_of_plan(asked, scores)
    show(plan_verdicts.sentences(table))
    if flags.csv is not None:
        plan_verdicts.write_verdicts(table, flags.csv)
    if flags.out is not None:
        plan_verdicts.draw_first_family(table, flags.out)


def _at_seconds(flags: Flags) -> AtSeconds | None:
    """The time at which methods are compared; `None` for the last round."""
    if flags.seconds is None and flags.reach is None and flags.x != CLOCK:
        return None
    if flags.x == "bytes":
        raise ParameterError("x", flags.x, f"must be {CLOCK} with seconds or reach")
    return AtSeconds(flags.seconds, flags.reach)


def _arrived(methods: Methods, time: Time, score: str) -> list[str]:
    """How many runs of each method reach a score, and when on average, none left out."""
    name, shown = score.replace("_", " "), varying(methods.groups, methods.conditions)
    lines = []
    for group in methods.groups:
        mean = summarised(group.at(score, time)).mean
        where = describe(group.condition(shown), shown)
        said = ", ".join(filter(None, [methods.labels[group], where]))
        many = f"{arrived(group, score, time)} of {len(group.runs)} runs"
        lines.append(f"{said}: {many} reach {name} {time.reach:g}, {mean:.4g} s on average")
    return lines


def _looks(methods: Methods, colour: str | None) -> dict[RunGroup, Look]:
    """Looks of the lines: by method and varying settings, or by the values of `colour`."""
    told = told_apart(methods.groups)
    names = [colour] if colour else methods.own
    shown = {
        group: {n: group.setting(n) for n in names if group.has(n) and (colour or n in told[group])}
        for group in methods.groups
    }
    looks = looks_of(methods.groups, shown, always=colour is not None)
    return {group: replace(look, label=methods.labels[group]) for group, look in looks.items()}


def _require_setting(colour: str, groups: Sequence[RunGroup]) -> None:
    if any(group.has(colour) for group in groups):
        return
    differing = ", ".join(varying(groups))
    said = f"; these differ: {differing}" if differing else ""
    raise ParameterError("colour", colour, f"must be a setting of the runs{said}")
