"""Whom the model is of: weights in each schedule against the objective that the rule states."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from f3ast_tff.audit.findings import NOTE, OPEN, RIGHT, WRONG, Finding
from f3ast_tff.audit.targets import OBJECTIVES, Target
from f3ast_tff.audit.weights import (
    ADAPTIVE,
    BY_LOSS,
    CLIPS,
    LINEAR,
    Rule,
    Weights,
    apart,
    weights_in,
)
from f3ast_tff.audit.world import Schedule

_CHECK = "weights"
# Distances from the objective above which weights are wrong, in errors and as such.
_ERRORS, _EXACT, _LOOSE = 4.0, 0.02, 0.08
# Part of the distance of a mean of those present that counts as nearer to all clients.
_NEARER = 0.8
# Part of its weight below which a client counts as left out.
_LEFT_OUT = 0.5
# Correlation that says whose weight is too large.
_EXPLAINED = 0.8
_ROTATIONS, _CLIPS = (None, 1, 2, 3), (0.1, 1.0, 10.0)


def check_weights(
    target: Target, rule: Rule, found: Sequence[Weights], by_age: bool = False
) -> Iterator[Finding]:
    """Judges the weights in all schedules.

    Args:
        target: Audited server.
        rule: Kind of its rule.
        found: Its weights.
        by_age: Whether replies of clients that were away count for less.
    """
    named = [each for each in found if each.named]
    unnamed = [each.schedule for each in found if not each.named]
    if unnamed:
        about = "R^2 is below .95, or there are too few rounds, in: "
        yield Finding(_CHECK, OPEN, f"no weights are named: {about}{', '.join(unnamed)}")
    if not named:
        return
    skips = max(named, key=lambda w: w.skipped)
    if skips.skipped > _EXACT and not target.gathers:
        about = (
            f"in {skips.schedule} {skips.skipped:.0%} of the rounds with replies leave the model "
        )
        about += "as it is: their clients are not taken for clients whose replies arrive"
        yield Finding(_CHECK, NOTE, about, value=skips.skipped)
    said = OBJECTIVES[target.objective]
    if target.objective in ("all", "latest"):
        yield _nearer(target, named, said)
        return

    def allowed(found: Weights) -> float:
        # Late updates, and gathered ones, are computed at older models; draws are few.
        exact = rule.kind == LINEAR and found.schedule != "late replies"
        exact = exact and target.objective != "drawn" and not target.gathers
        return max(_EXACT if exact else _LOOSE, _ERRORS * found.distance_error)

    far = [w for w in named if w.distance > allowed(w)]
    worst = max(far or named, key=lambda w: w.distance)
    value, error = worst.distance, worst.distance_error
    number = f"{value:.3f} of the weight is elsewhere in {worst.schedule}"
    if not far:
        about = f"the mean of {said}: at most {number}, of {len(named)} schedules"
        yield Finding(_CHECK, RIGHT, about, value=value, error=error)
        return
    advice = (
        f"Weigh each reply that arrives by its examples over their sum. If another objective is "
        f"meant, name it: --objective={'|'.join(OBJECTIVES)}."
    )
    schedules = ", ".join(w.schedule for w in far)
    steady = any(w.schedule == "always" and w not in far for w in named)
    if rule.kind == BY_LOSS or by_age and steady:
        by = "losses" if rule.kind == BY_LOSS else "the time since a client's last reply"
        about = f"goes by {by}: beside the mean of {said}, {number}{_towards(worst)}"
        yield Finding(_CHECK, NOTE, about, value=value, error=error)
        return
    about = f"not the mean of {said}: {number}{_towards(worst)} (wrong in: {schedules})"
    yield Finding(_CHECK, WRONG, about, advice, value, error)


def check_presence(found: Sequence[Weights]) -> Iterator[Finding]:
    """Says what a mean of those present makes of the rare clients."""
    for each in found:
        if each.schedule == "independent" and each.named:
            value = apart(each.omega, each.p)
            about = f"from the shares of the examples of all clients: {value:.2f} of the weight is"
            about += (
                f" elsewhere; from shares of presence {apart(each.omega, _by_presence(each)):.2f}"
            )
            yield Finding(_CHECK, NOTE, about, value=value)


def check_left_out(found: Sequence[Weights]) -> Iterator[Finding]:
    """Names clients that the rule leaves out though all are there."""
    every = [each for each in found if each.named and each.schedule == "always"]
    for each in every:
        # Of a client that is never asked no reply counts.
        due = np.where(each.present > 0, np.minimum(each.p, each.present), each.p)
        share, bound = each.omega / due, _LEFT_OUT - _ERRORS * each.errors / due
        out = np.flatnonzero((each.presence > 0) & (share < bound))
        if len(out):
            named = ", ".join(
                f"{k} ({round(each.omega[k], 4) + 0.0:.1%} for {each.p[k]:.1%})" for k in out[:5]
            )
            more = f" and {len(out) - 5} more" if len(out) > 5 else ""
            about = "left out most of the time though all are there, weight for share of the "
            about += f"examples: client {named}{more}; together {each.p[out].sum():.0%} of the data"
            yield Finding(_CHECK, NOTE, about, value=float(each.p[out].sum()))


def check_axes(
    target: Target, schedule: Schedule, rule: Rule, examples: np.ndarray, rounds: int
) -> Iterator[Finding]:
    """Rotates the optima of a rule that depends on the axes; scales those of one that clips."""
    if rule.kind == ADAPTIVE:
        turned = [weights_in(target, schedule, examples, rounds, rotation=n) for n in _ROTATIONS]
        named = [each.omega for each in turned if each.named]
        if len(named) > 1:
            spread = float(np.std(named, axis=0, ddof=1).max())
            about = f"by axes: over {len(named)} directions of the optima a weight strays by"
            yield Finding(_CHECK, NOTE, f"{about} {spread:.3f}", value=spread)
    if rule.kind == CLIPS:
        for factor in _CLIPS:
            one = weights_in(target, schedule, examples, rounds, scale=factor * rule.clip)
            about = f"optima {factor:g} clips away (a clip of {rule.clip:.2g}): "
            about += (
                f"{one.distance:.2f} of the weight is elsewhere than without a clip, sum "
                f"{one.omega.sum():.2f}, R^2 {one.r2:.2f}"
            )
            yield Finding(_CHECK, NOTE, about, value=one.distance, error=one.distance_error)


def _towards(found: Weights) -> str:
    """Says whose weight is too large, where presence or examples explain it."""
    more = found.omega - found.stated
    words = {
        ", with clients that are seldom there": -found.presence,
        ", with clients that are often there": found.presence,
        ", with clients of few examples": -found.p,
        ", with clients of many examples": found.p,
    }
    same = {said: float(np.corrcoef(more, by)[0, 1]) for said, by in words.items() if np.ptp(by)}
    best = max(same, key=lambda said: same[said], default="")
    return best if best and same[best] > _EXPLAINED else ""


def _nearer(target: Target, named: Sequence[Weights], said: str) -> Finding:
    """Judges a rule for all clients: its weights must be nearer to p than those of the present."""
    rows = [(apart(w.omega, w.p), apart(w.present, w.p), w) for w in named]
    far = [row for row in rows if row[0] > row[1] + max(_EXACT, _ERRORS * row[2].distance_error)]
    far += [row for row in rows if row[2].schedule == "independent" and row[0] > _NEARER * row[1]]
    own, other, worst = max(far or rows, key=lambda row: row[0])
    about = f"the mean of {said}: {own:.2f} of the weight is elsewhere, of a mean of those present "
    about += f"{other:.2f} ({worst.schedule}, the worst)"
    if far:
        advice = "Divide each weight by the client's rate of participation, and do not normalise."
        return Finding(_CHECK, WRONG, f"not {about}", advice, own, worst.distance_error)
    return Finding(_CHECK, RIGHT, f"nearer to {about}", value=own, error=worst.distance_error)


def _by_presence(each: Weights) -> np.ndarray:
    found = each.presence * each.p
    return np.asarray(found / found.sum())
