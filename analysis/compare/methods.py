"""Compares the methods of any runs: paired differences, each with a verdict.

Two groups of runs are compared if all their common settings agree, except settings in which methods
may differ. A difference is over the pairs of data draw and seed that both ran. Intervals and p
values are corrected by Holm's rule for the number of differences in the table.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import pandas as pd

from f3ast_tff.analysis.compare import render
from f3ast_tff.analysis.compare.judge import BETTER, ERROR, WORSE, Claim, Verdict, judge
from f3ast_tff.analysis.compare.leads import over_time, saved
from f3ast_tff.analysis.compare.pairs import best_first, paired
from f3ast_tff.analysis.compare.scored import Scored, varying
from f3ast_tff.analysis.compare.times import (
    BEST,
    CHANGE,
    FINAL,
    LAST_10_PERCENT,
    PERIODS,
    SECOND_HALF,
    Time,
    at,
)
from f3ast_tff.analysis.method_names import method_label, without_own_aggregation
from f3ast_tff.analysis.report.variants import told_apart
from f3ast_tff.analysis.run_groups import (
    G,
    RunGroup,
    arranged,
    describe,
    is_own,
    partition,
    sortable,
)
from f3ast_tff.analysis.runs import SCORES
from f3ast_tff.analysis.score_directions import check_score
from f3ast_tff.analysis.study_runs import RATES
from f3ast_tff.analysis.texts import scored_on
from f3ast_tff.core.errors import ParameterError
from f3ast_tff.settings import builtin_registry
from f3ast_tff.settings.kinds import KINDS

# Largest number of methods compared each with each; more are compared with one of them.
MAX_METHODS = 6
_MAX_NAMED = 5
_USUAL_BASELINE = "fedavg"
COLUMNS = (
    "where", "a", "b", *render.COLUMNS, "sentence", "over_time", "saved", "differs_in"
)  # fmt: skip
# Periods in a sentence, before the last round.
_WHEN = {
    FINAL: "at",
    LAST_10_PERCENT: "in the last 10% up to",
    SECOND_HALF: "in the second half up to",
    BEST: "at the best evaluation up to",
    CHANGE: "as change between evaluations in the second half up to",
}
_LEARNING = ("client_optimizer", "server_optimizer", "model")
_LOCAL_WORK = ("local_epochs", "local_steps", "batch_size", "last_batch")


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
    theirs = [*may_differ, *_of_the_methods(groups), *_of_training_functions(groups)]
    return [group.with_own(theirs) for group in groups]


def _of_training_functions(groups: Sequence[RunGroup]) -> list[str]:
    """Model, engine and plug-in, if a method brings its own local training."""
    theirs = [group for group in groups if "model" in group.method_settings]
    if not theirs:
        return []
    plugins = {n for g in theirs for n in g.method_settings if n.startswith("plugin ")}
    return ["model", "engine", *sorted(plugins)]


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
    time: str | int | Time = PERIODS[0],
    baseline: str | None = None,
) -> pd.DataFrame:
    """Compares methods with a baseline, or each with each.

    Args:
        methods: The runs.
        score: Score to compare, which all runs have.
        time: Time of the score: a round, one of `PERIODS`, or a `Time`.
        baseline: A method, by its name in the settings or its label. `None` for all pairs of up to
            `MAX_METHODS` methods in a condition, the better one first; more are compared with
            FedAvg, or else with the first.

    Returns:
        A row per pair of methods and condition, of columns `where`, the settings that differ
        between conditions, in words; `a`, `b`; `difference`, the mean of a minus b; `low`, `high`,
        the ends of its interval over draws, NaN where there is none; `p`, corrected for the number
        of rows; `draws` and `pairs` that both have; `verdict` on a, one of `judge.WORDS`;
        `sentence`; `over_time`, a minus b at earlier times, and `saved`, the rounds or seconds
        that the better one saves, both in words, `""` where nothing is known; `differs_in`,
        settings of optimizers, penalty, local work and others that are the methods' but of no
        method alone, with both values.

    Raises:
        ParameterError: If no method is called `baseline`, or a run has no such score.
        RunsError: If a run was not evaluated at that time.
    """
    labels, world, when = methods.labels, varying(methods.groups, methods.conditions), at(time)
    known = dict.fromkeys(each for g in methods.groups for each in (g.algorithm, labels[g]))
    if baseline is not None and baseline not in known:
        allowed = f"must be a method of the runs: {', '.join(known)}"
        raise ParameterError("baseline", baseline, allowed)
    check_score(methods.groups, score)
    # Methods are ranked by the score, also if the time until one is compared.
    ranks = {group: best_first(group, score, _plain(when)) for group in methods.groups}
    chosen = []
    for members in partition(methods.groups, methods.conditions):
        here = _baseline(members, labels, baseline)
        # Two methods of a condition, the better first; or a method, then the baseline.
        found = [
            tuple(sorted(pair, key=lambda g: (g in here, ranks[g])))
            for pair in combinations(members, 2)
            if (not here and not baseline) or len(here.intersection(pair)) == 1
        ]
        chosen += sorted(found, key=lambda pair: [ranks[group] for group in pair])
    return judged(chosen, labels, world, score, when)


def judged(
    chosen: Sequence[tuple[RunGroup, ...]],
    labels: Mapping[RunGroup, str],
    world: Sequence[str],
    score: str = SCORES[0],
    time: str | int | Time = PERIODS[0],
) -> pd.DataFrame:
    """Judges pairs of methods, a and b of one condition, as one family.

    `world` are the settings that name the condition in `where`.

    Returns:
        A row per pair, in their order; see `differences`.
    """
    verdicts = judge([Claim(paired(a, b, score, time)) for a, b in chosen])
    rows = [
        {
            "where": _where(pair[0], world),
            "a": labels[pair[0]],
            "b": labels[pair[1]],
            **render.row(verdict),
            **_words(verdict, pair, score, at(time), labels),
        }
        for pair, verdict in zip(chosen, verdicts)
    ]
    return pd.DataFrame(rows, columns=COLUMNS)


def in_words(row: Mapping[Any, Any]) -> list[str]:
    """Returns a row of `differences` in words: verdict, known lead over time, unequal settings."""
    before = f"Before: {row['over_time']}." if row["over_time"] else ""
    more = " ".join(filter(None, [before, row["saved"]]))
    unequal = f"They differ in {row['differs_in']}." if row["differs_in"] else ""
    return [row["sentence"], *(f"  {line}" for line in (more, unequal) if line)]


def pair_in_words(
    verdict: Verdict,
    pair: tuple[RunGroup, ...],
    score: str,
    time: Time,
    labels: Mapping[RunGroup, str],
) -> list[str]:
    """Returns a verdict on a pair in words, as `in_words`."""
    return in_words(_words(verdict, pair, score, time, labels))


def _words(
    verdict: Verdict,
    pair: tuple[RunGroup, ...],
    score: str,
    time: Time,
    labels: Mapping[RunGroup, str],
) -> dict[str, str]:
    """The columns of words of `differences`."""
    a, b = pair
    return {
        "sentence": render.sentence(verdict, labels[a], labels[b], said_at(time, pair)),
        "over_time": render.earlier(over_time([(a, b)], score, time)[:-1]),
        "saved": saved_words(verdict, pair, score, time, labels),
        "differs_in": _differs_in(a, b),
    }


def saved_words(
    verdict: Verdict, pair: tuple[G, ...], score: str, time: Time, labels: Mapping[G, str]
) -> str:
    """Returns the rounds that the better method of a pair saves, in words; `""` without one."""
    a, b = pair
    if verdict.word not in (BETTER, WORSE) or time.reach is not None or time.period != FINAL:
        return ""
    ahead, behind = (a, b) if verdict.word == BETTER else (b, a)
    # With one evaluation nothing is known of the way there.
    if min(len(course["round"]) for course in ahead.courses.values()) < 2:
        return ""
    found = saved(ahead, behind, score, time)
    return "" if found is None else render.saved_sentence(found, labels[ahead], labels[behind])


def said_at(time: str | int | Time, groups: Sequence[Scored]) -> str:
    """Returns the time of a verdict in words, such as `at round 200`."""
    when = at(time)
    if when.reach is not None:
        unit = "simulated seconds" if when.seconds else "rounds"
        most = f", at most {when.seconds:g}" if when.seconds else ""
        return f"({unit} until {when.reach:g}{most})"
    if when.seconds is not None:
        return f"at {when.seconds:g} simulated seconds"
    rounds = {int(each["round"][-1]) for group in groups for each in group.courses.values()}
    last = f"round {rounds.pop()}" if len(rounds) == 1 else "the last round"
    if when.round is not None:
        return f"at round {when.round}"
    return f"{_WHEN[when.period]} {last}"


def _plain(time: Time) -> Time:
    """The time without a score to reach."""
    return Time(period=time.period, round=time.round, seconds=time.seconds)


def heading(
    methods: Methods,
    table: pd.DataFrame,
    score: str,
    time: str | int | Time,
    baseline: str | None = None,
) -> str:
    """Describes a table of `differences`: its runs, its intervals, and methods left out."""
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
        f"Differences in {at(time).name_of(score).replace('_', ' ')} on "
        f"{scored_on(methods.groups)} {said_at(time, methods.groups)}, over "
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
    """Settings with two values that neither algorithm nor aggregation declares, rates included."""
    every = {name for group in (a, b) for name in group.first.method_settings}
    told = every.difference(KINDS, RATES)
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


def _where(group: RunGroup, names: Sequence[str]) -> str:
    shown = {
        name: group.first.display(name) if name in ("task", "availability") else value
        for name, value in group.condition(names).items()
    }
    return describe(shown, shown)
