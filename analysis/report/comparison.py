"""Two methods under equal conditions: their paired difference, and the claim it bears on."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from f3ast_tff.analysis.paired_difference import PairedDifference, paired_difference
from f3ast_tff.analysis.report.claims import Claim
from f3ast_tff.analysis.run_groups import RunGroup, higher_is_better
from f3ast_tff.analysis.runs import Pair
from f3ast_tff.analysis.verdicts import (
    Divergence,
    Question,
    Verdict,
    judge_family,
    obstacle_to_verdict,
)


@dataclass(frozen=True)
class Comparison:
    """One line of a table of claims.

    Attributes:
        claim: What is compared; a claim of no paper has source "".
        at: The column.
        found: A - B over common pairs of data draw and seed; `None` for fewer than 2.
        obstacle: Why there can be no verdict, `""` if there can.
        divergence: In how many of the common runs A and B diverged.
        verdict: The verdicts; `None` for what no paper claims, and before `judged`.
    """

    claim: Claim
    at: object
    found: PairedDifference | None
    obstacle: str = ""
    divergence: Divergence = Divergence(0, 0, 0)
    verdict: Verdict | None = None


def compare(
    claim: Claim,
    at: object,
    a: RunGroup | None,
    b: RunGroup | None,
    period: str,
    rounds: int | None,
) -> Comparison:
    """Compares A with B.

    Args:
        claim: Which metric, and what is claimed of it.
        at: The column.
        a: Runs of `claim.a`; `None` if there are none.
        b: Those of `claim.b`, comparable with A's.
        period: As `RunGroup.scores` takes it.
        rounds: The paper's number of rounds; `None` if it gives none.
    """
    if a is None or b is None:
        return Comparison(claim, at, None, "not run")
    found = _difference(*(_ranked(group, claim.metric, period) for group in (a, b)))
    common = a.runs.keys() & b.runs.keys()
    of_a, of_b = (len(common & _diverged(group, claim.metric, period)) for group in (a, b))
    obstacle = obstacle_to_verdict((a, b), found, claim.seeds, rounds)
    return Comparison(claim, at, found, obstacle, Divergence(of_a, of_b, len(common)))


def widening(
    claim: Claim,
    ends: tuple[Any, Any],
    found: Mapping[tuple[str, str, Any], RunGroup],
    period: str,
    rounds: int | None,
) -> Comparison:
    """Compares the lead of A over B in two columns: "the gap widens" (F3AST Fig. 4).

    Args:
        claim: Which lead; its relation is not used.
        ends: The first and the last column.
        found: Groups by task, algorithm and column; A and B are there at both ends.
        period: As `RunGroup.scores` takes it.
        rounds: The paper's number of rounds; `None` if it gives none.
    """
    leads, groups = [], []
    for at in ends:
        pair = [found[claim.task, name, at] for name in (claim.a, claim.b)]
        a, b = (_ranked(group, claim.metric, period) for group in pair)
        leads.append({each: a[each] - b[each] for each in a.keys() & b.keys()})
        groups += pair
    difference = _difference(leads[1], leads[0])
    wider = replace(claim, what="gap widens", relation="better", paper=None)
    obstacle = obstacle_to_verdict(groups, difference, claim.seeds, rounds)
    return Comparison(wider, f"{ends[0]} to {ends[1]}", difference, obstacle)


def judged(
    comparisons: Sequence[Comparison], direction_alone: bool = False
) -> tuple[Comparison, ...]:
    """Returns the comparisons of one table with verdicts; the claims of a source are a family.

    Args:
        comparisons: Those of the table, which may hold the claims of a figure beside its own.
        direction_alone: Whether the paper's difference is of another network: it then judges
            nothing, and runs are not measured by it.
    """
    verdicts: dict[int, Verdict] = {}
    for source in dict.fromkeys(each.claim.source for each in comparisons if each.claim.source):
        places = [n for n, each in enumerate(comparisons) if each.claim.source == source]
        family = [_question(comparisons[place], direction_alone) for place in places]
        verdicts.update(zip(places, judge_family(family)))
    return tuple(
        replace(each, verdict=verdicts.get(place)) for place, each in enumerate(comparisons)
    )


def _question(each: Comparison, direction_alone: bool) -> Question:
    claim = each.claim
    return Question(
        claim.relation,
        higher_is_better(claim.metric),
        None if direction_alone else claim.paper,
        each.found,
        each.obstacle,
        each.divergence,
    )


def _ranked(group: RunGroup, metric: str, period: str) -> dict[Pair, float]:
    """Scores by pair; one that is not finite is worse than any other."""
    worst = -math.inf if higher_is_better(metric) else math.inf
    scores = group.scores(metric, period)
    return {pair: value if math.isfinite(value) else worst for pair, value in scores.items()}


def _diverged(group: RunGroup, metric: str, period: str) -> set[Pair]:
    """The runs of which the score, or the sample loss at the same time, is not finite."""
    every = [group.scores(name, period) for name in (metric, "sample_loss")]
    return {pair for scores in every for pair, value in scores.items() if not math.isfinite(value)}


def _difference(a: Mapping[Pair, float], b: Mapping[Pair, float]) -> PairedDifference | None:
    return paired_difference(a, b) if len(a.keys() & b.keys()) > 1 else None
