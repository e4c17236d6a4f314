"""Claims on a table of scores: written by the user, or each method against each, and judged."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd

from f3ast_tff.analysis.compare import render
from f3ast_tff.analysis.compare.judge import (
    BETTER,
    CLOSE,
    ERROR,
    FEWEST_PAIRS,
    NOT_JUDGED,
    WORSE,
    Claim,
    Verdict,
    judge,
)
from f3ast_tff.analysis.compare.leads import over_time
from f3ast_tff.analysis.compare.methods import MAX_METHODS, said_at, saved_words
from f3ast_tff.analysis.compare.paired_difference import LEVEL
from f3ast_tff.analysis.compare.pairs import best_first, mean_over, paired
from f3ast_tff.analysis.compare.scored import Kept, RunsError
from f3ast_tff.analysis.compare.seeds import MOST_SEEDS, seeds_for
from f3ast_tff.analysis.compare.single_runs import why_not_judged
from f3ast_tff.analysis.compare.table_roles import Columns
from f3ast_tff.analysis.compare.table_runs import (
    refuse_two_units,
    refuse_unequal,
    runs_in,
    without_score,
)
from f3ast_tff.analysis.compare.times import Time
from f3ast_tff.core.client_names import listed
from f3ast_tff.core.errors import ParameterError

_CLAIM = re.compile(
    r"(?P<a>.+?)\s*(?P<sign>[<>](?!=)|\bbeats\b)\s*(?P<b>.+?)"
    r"(?:\s+on\s+(?P<score>.+?))?(?:\s+at\s+(?P<at>\d+|final))?(?:\s+until\s+(?P<reach>\S+))?"
    r"(?:\s+within\s+(?P<within>.+))?"
)
_FORM = 'must be such as "mine > fedavg on accuracy at 100 within alpha"'


@dataclass(frozen=True)
class Asked:
    """A claim in words.

    Attributes:
        a: Method A.
        b: Method B.
        sign: `>` if A's score is higher, `<` if lower, `beats` if better; `""` for no claim.
        score: Column of the score; `""` for the table's.
        at: Round; `None` for the last one.
        reach: Score until which rounds count; `None` for the score itself.
        within: Conditions that are told apart; the others are averaged. `None` for all.
    """

    a: str
    b: str
    sign: str = ""
    score: str = ""
    at: int | None = None
    reach: float | None = None
    within: tuple[str, ...] | None = None

    @property
    def said(self) -> str:
        """The claim without its time."""
        return f"{self.a} {self.sign} {self.b}{f' on {self.score}' if self.score else ''}"


@dataclass(frozen=True, eq=False)
class Judged:
    """A verdict on a claim about a table.

    Attributes:
        asked: The claim.
        score: Column of the score.
        where: The condition in words; `""` without one.
        verdict: The verdict.
        sentence: The verdict in words.
        more: The lead at earlier rounds, the rounds saved, and seeds needed, in words.
    """

    asked: Asked
    score: str
    where: str
    verdict: Verdict
    sentence: str
    more: str

    @property
    def holds(self) -> bool | None:
        """Whether the claim holds; `None` if that is open, or nothing was claimed."""
        word, paired_ = self.verdict.word, self.verdict.claim.paired
        if not self.asked.sign or paired_ is None or word not in (BETTER, WORSE):
            return None
        says_better = self.asked.sign == "beats" or (self.asked.sign == ">") == (
            paired_.higher_is_better
        )
        return says_better == (word == BETTER)

    @property
    def row(self) -> dict[str, Any]:
        """The verdict by the columns of `compare.methods.differences`, and the claim."""
        return {
            "where": self.where,
            "score": self.score,
            "a": self.asked.a,
            "b": self.asked.b,
            **render.row(self.verdict),
            "sentence": self.sentence,
            "more": self.more,
            "claim": self.asked.said if self.asked.sign else "",
            "holds": "" if self.holds is None else str(self.holds).lower(),
        }


def claims_in(text: str) -> list[Asked]:
    """Reads claims, `;` between them.

    Raises:
        ParameterError: If one has another form.
    """
    found = []
    for part in filter(None, (each.strip() for each in text.split(";"))):
        match = _CLAIM.fullmatch(part)
        if match is None:
            raise ParameterError("claim", part, _FORM)
        told = match.groupdict()
        try:
            reach = None if told["reach"] is None else float(told["reach"])
        except ValueError as error:
            raise ParameterError("claim", part, _FORM) from error
        within = told["within"]
        found.append(
            Asked(
                told["a"].strip(),
                told["b"].strip(),
                sign=told["sign"],
                score=told["score"] or "",
                at=int(told["at"]) if told["at"] and told["at"] != "final" else None,
                reach=reach,
                within=None if within is None else tuple(re.split(r"\s*,\s*", within)),
            )
        )
    return found


def every_pair(groups: Sequence[Kept], metric: str, baseline: str | None) -> list[Asked]:
    """Returns each method against each, or against a baseline, without a claim.

    Raises:
        ParameterError: If no method is called `baseline`, or there are too many without one.
    """
    names = list(dict.fromkeys(group.algorithm for group in groups))
    if baseline is not None:
        _require_method("baseline", baseline, names)
        return [Asked(name, baseline) for name in names if name != baseline]
    if len(names) > MAX_METHODS:
        allowed = f"must be given for {len(names)} methods: one of {listed(names)}"
        raise ParameterError("baseline", "", allowed)
    ranks = {
        name: float(np.mean([best_first(g, metric, Time()) for g in groups if g.algorithm == name]))
        for name in names
    }
    return [Asked(a, b) for a, b in combinations(sorted(names, key=lambda n: ranks[n]), 2)]


def judged(
    table: pd.DataFrame,
    scores: Mapping[str, Columns],
    asked: Sequence[Asked],
    may_differ: Sequence[str] = (),
) -> tuple[list[Judged], list[str]]:
    """Judges claims on a table as one family.

    Args:
        table: The table.
        scores: Columns by the name of the score; `""` for the table's own.
        asked: The claims, at least one.
        may_differ: Columns in which methods may differ.

    Returns:
        The verdicts, and what was left out, in words.

    Raises:
        ParameterError: If a claim names no method or column of the table.
        RunsError: If methods have no common condition, or one run each.
    """
    found: list[tuple[Asked, str, Claim, tuple[Kept, Kept] | None, Time, Columns]] = []
    notes: dict[str, None] = {}
    groups_of = {}
    for name, columns in scores.items():
        refuse_unequal(table, columns, may_differ)
        refuse_two_units(table, columns)
        groups_of[name] = runs_in(table, columns)
        notes.update(dict.fromkeys(without_score(table, columns)))
    for each in asked:
        columns, groups = scores[each.score], groups_of[each.score]
        names = list(dict.fromkeys(group.algorithm for group in groups))
        for name in (each.a, each.b):
            _require_method("claim", name, names)
        parts, said = _parts(groups, each, columns)
        notes.update(dict.fromkeys(said))
        found += [(each, *part, columns) for part in parts]
    claims = [claim for _, _, claim, _, _, _ in found]
    if not any(claim.found is not None for claim in claims):
        one, where, claim, pair, _, columns = found[0]
        assert claim.paired is not None
        reason = why_not_judged(one.a, one.b, where, claim.paired, pair, columns.metric)
        raise RunsError(reason)
    results = []
    for (each, where, _, pair, time, columns), verdict in zip(found, judge(claims)):
        at = "" if columns.step is None or pair is None else said_at(time, pair)
        sentence = render.sentence(verdict, each.a, each.b, at)
        more = _more(verdict, pair, time, columns, each)
        results.append(
            Judged(
                each,
                score=columns.score,
                where=where,
                verdict=verdict,
                sentence=sentence,
                more=more,
            )
        )
    return results, list(notes)


def _parts(
    groups: Sequence[Kept], asked: Asked, columns: Columns
) -> tuple[list[tuple[str, Claim, tuple[Kept, Kept] | None, Time]], list[str]]:
    """A claim for each condition, with its pair of methods; `None` for a mean of conditions."""
    _refuse_ambiguous(asked, columns)
    split = columns.conditions if asked.within is None else asked.within
    by: dict[tuple[str, ...], dict[str, list[Kept]]] = {}
    for group in groups:
        if group.algorithm in (asked.a, asked.b):
            key = tuple(str(group.setting(name)) for name in split)
            by.setdefault(key, {}).setdefault(group.algorithm, []).append(group)
    found, notes = [], []
    for key, methods in by.items():
        where = ", ".join(f"{name} {value}" for name, value in zip(split, key))
        if len(methods) < 2:
            notes.append(f"left out: {where or 'runs'}, which only {next(iter(methods))} has")
            continue
        both = []
        for a in methods[asked.a]:
            others = [b for b in methods[asked.b] if _conditions_of(a) == _conditions_of(b)]
            both += [(a, b) for b in others]
        if not both:
            continue
        pairs = []
        for a, b in both:
            a, b, time, said = _at(a, b, asked, columns)
            notes += said
            pairs.append((_matched(a, b), time))
        parts = [paired(a, b, columns.metric, time) for (a, b), time in pairs]
        (one, other), time = pairs[0]
        claim = Claim(mean_over(parts))
        if len(pairs) > 1:
            over = [name for name in columns.conditions if name not in split]
            where = ", ".join(filter(None, [where, f"mean over {', '.join(over)}"]))
        found.append((where, claim, (one, other) if len(pairs) == 1 else None, time))
    if not found:
        raise RunsError(f"{asked.a} and {asked.b} have no condition in common: {', '.join(split)}")
    return found, notes


def _refuse_ambiguous(asked: Asked, columns: Columns) -> None:
    """Refuses `>` where higher is worse: it may mean either."""
    literal = asked.reach is None and (columns.higher or asked.sign == "<")
    if asked.sign in "<>" and asked.sign and not literal:
        what = "rounds" if asked.reach is not None else columns.score
        allowed = f"lower is better in {what}: say {asked.a} beats {asked.b}"
        raise ParameterError("claim", asked.said, allowed)


def _conditions_of(group: Kept) -> dict[str, Any]:
    return {name: value for name, value in group.settings.items() if name != "algorithm"}


def _at(a: Kept, b: Kept, asked: Asked, columns: Columns) -> tuple[Kept, Kept, Time, list[str]]:
    """The time of a claim, and the runs that were evaluated then; the others in words."""
    if columns.step is None and (asked.at is not None or asked.reach is not None):
        raise RunsError("no column is known as the round: --step= names it")
    if asked.reach is not None:
        return a, b, Time(round=asked.at, reach=asked.reach), []
    last, notes = asked.at, []
    if last is None:
        # Of each method the last round of most runs; a run that ended earlier is left out.
        ends = [Counter(int(c["round"][-1]) for c in g.courses.values()) for g in (a, b)]
        own = [max(each, key=lambda n: (each[n], n)) for each in ends]
        last = min(own)
        if own[0] != own[1]:
            said = f"{asked.a} to {columns.step} {own[0]}, {asked.b} to {own[1]}"
            notes.append(f"trained unequally long: {said}; compared at {last}")
    kept = []
    for group in (a, b):
        there = {p: c for p, c in group.courses.items() if (c["round"] == last).any()}
        if lost := sorted(pair.seed for pair in group.courses.keys() - there.keys()):
            who = f"{columns.unit or 'run'} {', '.join(map(str, lost))} of {group.algorithm}"
            notes.append(f"left out: {who}, without {columns.score} at {columns.step} {last}")
        if not there:
            at = f"{columns.step} {last}"
            raise RunsError(f"{group.algorithm} has no {columns.score} at {at}")
        kept.append(replace(group, courses=there))
    return kept[0], kept[1], Time(round=last), notes


def _matched(a: Kept, b: Kept) -> tuple[Kept, Kept]:
    """Both methods, paired by seed if half of the runs share it, and enough for a verdict."""
    common = len(a.courses.keys() & b.courses.keys())
    fewer = min(len(a.courses), len(b.courses))
    if common > 1 and 2 * common >= fewer and common >= min(fewer, FEWEST_PAIRS):
        return a, b
    return replace(a, independent=True), replace(b, independent=True)


def _more(
    verdict: Verdict, pair: tuple[Kept, Kept] | None, time: Time, columns: Columns, asked: Asked
) -> str:
    said = []
    if pair is not None and columns.step is not None:
        a, b = pair
        labels = {a: asked.a, b: asked.b}
        before = render.earlier(over_time([(a, b)], columns.metric, time)[:-1])
        said = [f"Before: {before}." if before else ""]
        said.append(saved_words(verdict, pair, columns.metric, time, labels))
    if pair is not None and not pair[0].independent:
        a, b = pair
        common = len(a.courses.keys() & b.courses.keys())
        for group in pair:
            if extra := len(group.courses) - common:
                said.append(
                    f"Not paired: {extra} of {len(group.courses)} runs of {group.algorithm}."
                )
    found = verdict.claim.found
    if found is not None and verdict.word in (CLOSE, NOT_JUDGED):
        needed = seeds_for(found, verdict.level or LEVEL)
        if needed is not None and needed > found.num_units:
            number = f"{needed} seeds" + " or more" * (needed == MOST_SEEDS)
            said.append(f"A difference as large would show with {number}.")
    return " ".join(filter(None, said))


def heading(scored: Sequence[Columns], results: Sequence[Judged]) -> str:
    """Describes how a table was read, and its intervals."""
    scores = ", ".join(
        f"{each.score} ({'higher' if each.higher else 'lower'} is better)" for each in scored
    )
    columns = scored[0]
    said = [f"method {columns.method}", f"score {scores}"]
    for role, name in (("seed", columns.seed), ("run", columns.run), ("draw", columns.draw)):
        said += [f"{role} {name}"] if name else []
    said += [f"round {columns.step}"] if columns.step else []
    said += [f"conditions {', '.join(columns.conditions)}"] if columns.conditions else []
    said += [f"methods differ in {', '.join(columns.own)}"] if columns.own else []
    tested = sum(each.verdict.error is not None for each in results)
    corrected = f", at levels that Holm's rule corrects for {tested} claims" * (tested > 1)
    return f"Columns: {'; '.join(said)}. Brackets hold {1 - ERROR:.0%} intervals{corrected}."


def _require_method(flag: str, name: str, names: Sequence[str]) -> None:
    if name not in names:
        raise ParameterError(flag, name, f"must be a method of the table: {listed(names)}")
