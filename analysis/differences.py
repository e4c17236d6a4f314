"""Compares methods: paired differences of any runs, each with a verdict.

Two groups of runs are compared if all their common settings agree, except settings in which methods
may differ. A difference is over the pairs of data draw and seed that both ran. Intervals and p
values are corrected by Holm's rule for the number of differences in the table.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import pandas as pd

from f3ast_tff.analysis.method_names import method_label, without_own_aggregation
from f3ast_tff.analysis.paired_difference import LEVEL
from f3ast_tff.analysis.report.variants import told_apart
from f3ast_tff.analysis.run_groups import (
    RunGroup,
    arranged,
    describe,
    is_own,
    partition,
    sortable,
    summarised,
    varying,
)
from f3ast_tff.analysis.runs import PERIODS, SCORES
from f3ast_tff.analysis.score_directions import check_score
from f3ast_tff.analysis.texts import over, scored_on
from f3ast_tff.analysis.verdicts import (
    ERROR,
    HOLDS,
    OPEN,
    REVERSED,
    Question,
    Verdict,
    adjusted,
    judge_family,
    question,
)
from f3ast_tff.core.errors import ParameterError
from f3ast_tff.settings import builtin_registry
from f3ast_tff.settings.kinds import KINDS

# Largest number of methods compared each with each; more are compared with one of them.
MAX_METHODS = 6
_MAX_NAMED = 5
_USUAL_BASELINE = "fedavg"
BETTER, WORSE, CLOSE, NO_VERDICT = "better", "worse", "too close to call", "no verdict"
_PERIODS = {"final": "at the last round", "mean_of_last_10_percent": "in the last 10%"}
VERDICTS = (BETTER, WORSE, CLOSE, NO_VERDICT)
COLUMNS = (
    "where",
    "a",
    "b",
    "difference",
    "low",
    "high",
    "p",
    "draws",
    "pairs",
    "verdict",
    "sentence",
    "differs_in",
)
_LEARNING = ("client_optimizer", "server_optimizer", "model")
_LOCAL_WORK = ("local_epochs", "local_steps", "batch_size", "last_batch")
_WORDS = {HOLDS: BETTER, REVERSED: WORSE, OPEN: CLOSE, None: NO_VERDICT}


@dataclass(frozen=True, eq=False)
class Methods:
    """Groups of runs as methods under conditions.

    Attributes:
        groups: Groups of runs, by condition, then in the order of their algorithms.
        conditions: Settings that two methods must share to be compared, of `arranged`.
        own: Further settings of `arranged`, in which the forms of a method differ.
        labels: Name of each group's method, with the settings that distinguish its forms.
    """

    groups: list[RunGroup]
    conditions: list[str]
    own: list[str]
    labels: dict[RunGroup, str]


def methods_of(groups: Sequence[RunGroup], may_differ: Sequence[str] = ()) -> Methods:
    """Arranges finished runs as methods under conditions; see `with_what_is_theirs`."""
    ordered, names = arranged(with_what_is_theirs(groups, may_differ))
    own = [name for name in names if is_own(name, ordered)]
    told = told_apart(ordered)
    labels = {}
    for group in ordered:
        said = {n: v for n, v in told[group].items() if n in group.method_settings}
        said = without_own_aggregation(said, group.algorithm)
        labels[group] = method_label(group.display, said)
    conditions = [name for name in names if name not in own]

    def place(group: RunGroup) -> list[tuple[int, float, str]]:
        values = [*map(group.setting, conditions), group.first.order("algorithm"), labels[group]]
        return list(map(sortable, values))

    return Methods(sorted(ordered, key=place), conditions, own, labels)


def with_what_is_theirs(
    groups: Sequence[RunGroup], may_differ: Sequence[str] = ()
) -> list[RunGroup]:
    """Returns the groups with all that methods may differ in among their own settings.

    These are, besides the settings that a method declares, optimizers, penalties and local work,
    unless a method ran with several values: those are conditions then.

    Args:
        groups: The runs.
        may_differ: Further settings in which methods may differ.

    Raises:
        ParameterError: If the runs have no setting of such a name.
    """
    known = {name for group in groups for name in group.settings}
    for name in may_differ:
        if name not in known:
            near = ", ".join(sorted(varying(groups))) or "none"
            allowed = f"must be settings of the runs; these differ: {near}"
            raise ParameterError("may_differ", ",".join(may_differ), allowed)
    theirs = [*may_differ, *_of_the_methods(groups)]
    return [group.with_own(theirs) for group in groups]


def _of_the_methods(groups: Sequence[RunGroup]) -> list[str]:
    """Settings of optimizers, penalty and local work of which every method has one value."""
    components = builtin_registry().components
    declared = {
        parameter.name
        for kind in _LEARNING
        for component in components[kind].values()
        for parameter in component.parameters
    }
    names = {*declared, *_LOCAL_WORK, *(kind for kind in _LEARNING if kind != "model")}
    methods = partition(groups, ("algorithm", "aggregation"))
    return [
        name
        for name in varying(groups)
        if name in names and not any(varying(method, [name]) for method in methods)
    ]


def differences(
    methods: Methods,
    score: str = SCORES[0],
    period: str | int = PERIODS[0],
    baseline: str | None = None,
) -> pd.DataFrame:
    """Compares methods with a baseline, or each with each.

    Args:
        methods: The runs.
        score: Score to compare, which all runs have.
        period: Time of the score, of `runs.PERIODS`, or a round; see `RunGroup.scores`.
        baseline: A method, by its name in the settings or its label. `None` for all pairs of up to
            `MAX_METHODS` methods in a condition, the better one first; more are compared with
            FedAvg, or else with the first.

    Returns:
        A row per pair of methods and condition, of columns `where`, the settings that differ
        between conditions, in words; `a`, `b`; `difference`, the mean of a minus b; `low`, `high`,
        the ends of its interval over draws, NaN where there is none; `p`, corrected for the number
        of rows; `draws` and `pairs` that both have; `verdict` on a, one of `VERDICTS`; `sentence`;
        `differs_in`, settings of optimizers, penalty, local work and others that are the methods'
        but of no method alone, with both values.

    Raises:
        ParameterError: If no method is called `baseline`, or a run has no such score.
        RunsError: If a run was not evaluated in the round.
    """
    labels, world = methods.labels, varying(methods.groups, methods.conditions)
    known = dict.fromkeys(each for g in methods.groups for each in (g.algorithm, labels[g]))
    if baseline is not None and baseline not in known:
        allowed = f"must be a method of the runs: {', '.join(known)}"
        raise ParameterError("baseline", baseline, allowed)
    sign = 1 if check_score(methods.groups, score) else -1
    means = {group: summarised(group.scores(score, period)).mean for group in methods.groups}

    def rank(group: RunGroup) -> float:
        # A method with a mean that is not finite has diverged and comes last.
        return sign * means[group] if math.isfinite(means[group]) else -math.inf

    chosen = []
    for members in partition(methods.groups, methods.conditions):
        here = _baseline(members, labels, baseline)
        # Two methods of a condition, the better first; or a method, then the baseline.
        found = [
            tuple(sorted(pair, key=lambda g: (g in here, -rank(g))))
            for pair in combinations(members, 2)
            if (not here and not baseline) or len(here.intersection(pair)) == 1
        ]
        chosen += sorted(found, key=lambda pair: [-rank(group) for group in pair])
    return judged(chosen, labels, world, score, period)


def judged(
    chosen: Sequence[tuple[RunGroup, ...]],
    labels: Mapping[RunGroup, str],
    world: Sequence[str],
    score: str = SCORES[0],
    period: str | int = PERIODS[0],
) -> pd.DataFrame:
    """Judges pairs of methods, a and b of one condition, as one family.

    `world` are the settings that name the condition in `where`.

    Returns:
        A row per pair, in their order; see `differences`.
    """
    questions = [question(a, b, score, period) for a, b in chosen]
    verdicts = judge_family(questions)
    tested = [n for n, verdict in enumerate(verdicts) if verdict.confidence is not None]
    p_values = [found.p_value for n in tested if (found := questions[n].found) is not None]
    corrected = dict(zip(tested, adjusted(p_values)))
    rows = []
    for number, ((a, b), asked, verdict) in enumerate(zip(chosen, questions, verdicts)):
        low, high = _interval(asked, verdict, a.first.generates_data)
        common = a.runs.keys() & b.runs.keys()
        row = {
            "where": _where(a, world),
            "a": labels[a],
            "b": labels[b],
            "difference": _mean(a, b, asked, score, period),
            "low": low,
            "high": high,
            "p": corrected.get(number, math.nan),
            "draws": len({pair.draw for pair in common}),
            "pairs": len(common),
            "verdict": NO_VERDICT if asked.obstacle else _WORDS[verdict.direction],
        }
        row["sentence"] = _sentence(row, asked, a.first.generates_data)
        rows.append({**row, "differs_in": _differs_in(a, b)})
    return pd.DataFrame(rows, columns=COLUMNS)


def heading(
    methods: Methods,
    table: pd.DataFrame,
    score: str,
    period: str | int,
    baseline: str | None = None,
) -> str:
    """Describes a table of `differences`: its runs, its intervals, and methods left out.

    `period` may also be a time in words, such as "at 600 simulated seconds".
    """
    at = f"in round {period}" if isinstance(period, int) else _PERIODS.get(period, period)
    tested = int(table["p"].notna().sum())
    corrected = f", at levels that Holm's rule corrects for {tested} differences" * (tested > 1)
    world = varying(methods.groups, methods.conditions)
    there = {(row["where"], row[side]) for row in table.to_dict("records") for side in "ab"}
    alone = [g for g in methods.groups if (_where(g, world), methods.labels[g]) not in there]
    reasons = list(dict.fromkeys(_apart(group, methods, baseline) for group in alone))
    more = len(reasons) - _MAX_NAMED
    reasons = reasons if more < 2 else [*reasons[:_MAX_NAMED], f"and {more} more"]
    left_out = f"Not compared: {'; '.join(reasons)}."
    if table.empty:
        return left_out
    left_out = f" {left_out}"
    shares = {str(group.settings.get("client_share")) for group in methods.groups}
    mixed = " Runs with p_k = 1 / N among them have the objective of --score=user_accuracy."
    left_out = left_out if alone else ""
    left_out += mixed if {"equal"} < shares and score == SCORES[0] else ""
    return (
        f"Differences in {score.replace('_', ' ')} on {scored_on(methods.groups)} {at}, over "
        f"runs of the same data draw and seed. Brackets hold {1 - ERROR:.0%} intervals{corrected}."
        f"{left_out}"
    )


def _apart(group: RunGroup, methods: Methods, baseline: str | None) -> str:
    """Why a group is compared with no other one: the nearest one, and what they differ in."""
    names = [*methods.conditions]
    others = [
        other
        for other in methods.groups
        if other is not group
        and (baseline is None or baseline in (other.algorithm, methods.labels[other]))
        and (other.algorithm, methods.labels[other]) != (group.algorithm, methods.labels[group])
    ]
    label = methods.labels[group]
    if not others:
        return f"{label}, the only method" if baseline is None else label
    nearest = min(others, key=lambda other: len(varying([group, other], names)))
    differing = varying([group, nearest], names)
    said = ", ".join(f"{n} {_values(n, group, nearest)}" for n in differing)
    flag = f"--may_differ={','.join(differing)} compares them"
    return f"{label} with {methods.labels[nearest]}, they differ in {said} [{flag}]"


def _differs_in(a: RunGroup, b: RunGroup) -> str:
    """Settings with two values that neither algorithm nor aggregation declares."""
    told = {name for group in (a, b) for name in group.first.method_settings if name not in KINDS}
    names = [n for n in varying([a, b]) if n in a.own or n in b.own]
    shown = [
        n
        for n in names
        if n not in told and n not in ("algorithm", "aggregation") and not n.startswith("plugin ")
    ]
    return ", ".join(f"{name} {_values(name, a, b)}" for name in shown)


def _values(name: str, a: RunGroup, b: RunGroup) -> str:
    of_a, of_b = (
        g.first.display(name) if name in ("task", "availability") else g.condition([name])[name]
        for g in (a, b)
    )
    return f"({of_a}, {of_b})"


def _baseline(
    members: Sequence[RunGroup], labels: Mapping[RunGroup, str], name: str | None
) -> set[RunGroup]:
    """The baseline of one condition; empty if few methods are compared, each with each."""
    if name is None and len(members) <= MAX_METHODS:
        return set()
    wanted = name or _USUAL_BASELINE
    called = [g for g in members if labels[g] == wanted or g.algorithm == wanted]
    # The form without further settings in its label, if any.
    plain = [group for group in called if labels[group] in (wanted, group.display)]
    return {*(plain or called or (members[:1] if name is None else []))}


def _mean(a: RunGroup, b: RunGroup, asked: Question, score: str, period: str | int) -> float:
    """The mean of a minus b, also of a single common pair; NaN without one."""
    if asked.found is not None:
        return asked.found.mean
    common = a.runs.keys() & b.runs.keys()
    of_a, of_b = (group.scores(score, period) for group in (a, b))
    return next((of_a[pair] - of_b[pair] for pair in common), math.nan)


def _interval(asked: Question, verdict: Verdict, generates_data: bool) -> tuple[float, float]:
    """Ends of the interval at the corrected level (95% without a verdict); NaN for one draw."""
    found = asked.found
    one_draw = found is not None and found.num_draws == 1 and generates_data
    if found is None or one_draw or found.num_diverged or asked.divergence.loser:
        return math.nan, math.nan
    return found.interval(LEVEL if verdict.confidence is None else verdict.confidence)


def _where(group: RunGroup, names: Sequence[str]) -> str:
    shown = {
        name: group.first.display(name) if name in ("task", "availability") else value
        for name, value in group.condition(names).items()
    }
    return describe(shown, shown)


def _sentence(row: Mapping[str, Any], asked: Question, generates_data: bool) -> str:
    """The verdict in words: by how much a is better or worse, else the number a - b."""
    a, b, verdict = row["a"], row["b"], row["verdict"]
    between = f"[{_signed(row['low'])}, {_signed(row['high'])}]"
    diverged = asked.divergence.said(a, b)
    if not row["pairs"]:
        return f"{a} and {b} have no run in common."
    if verdict == NO_VERDICT:
        if diverged:
            return f"{diverged}; {asked.obstacle}."
        if math.isnan(row["low"]):
            one = f"one {'draw' if row['draws'] == 1 and generates_data else 'run each'}"
            return f"{a} minus {b}: {_signed(row['difference'])}; {one}: no interval."
        return f"{a} minus {b}: {_signed(row['difference'])} {between}; {asked.obstacle}."
    if math.isnan(row["low"]):
        words = {BETTER: f"{a} is better than {b}", WORSE: f"{a} is worse than {b}"}
        return f"{words.get(verdict, f'{a} and {b}: {CLOSE}')}; {diverged}."
    taken = f"over {over(asked.found)}" + (f"; the loss of {diverged}" if diverged else "")
    if row["difference"] == row["low"] == row["high"] == 0:
        return f"{a} and {b} are equal in every run, {taken}."
    if verdict == CLOSE:
        return f"{a} and {b}: {CLOSE}, {_signed(row['difference'])} {between} {taken}."
    turn = asked.sign if verdict == BETTER else -asked.sign
    low, high = sorted(turn * row[end] for end in ("low", "high"))
    size = _short(turn * row["difference"])
    return f"{a} is {verdict} than {b} by {size} [{_short(low)}, {_short(high)}] {taken}."


def _short(value: float) -> str:
    """A number with three decimals, without the 0 before the point; of four digits from 100."""
    text = f"{value:.4g}" if abs(value) >= 100 else f"{value:.3f}"
    return text[1:] if text.startswith("0.") else text


def _signed(value: float) -> str:
    return f"{'-' if value < 0 else '+'}{_short(abs(value))}"
