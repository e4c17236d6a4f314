"""Clients' weights in the model, in each schedule, against the objective that the rule states.

Local work: clients descend c / 2 |w - b|^2 + mu / 2 |w - w_0|^2 from the model w_0 that they got,
by E steps of rate a; mu > 0 is FedProx's proximal term. They end at w_0 + s (b - w_0), with

    s = c / (c + mu) (1 - (1 - a (c + mu))^E)

Reported is the mean of the clients' gradients that is zero where the server comes to rest.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from f3ast_tff.audit.findings import NOTE, OPEN, RIGHT, WRONG, Finding
from f3ast_tff.audit.influence import Influence
from f3ast_tff.audit.plays import played
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
from f3ast_tff.audit.world import Clients, Schedule, everybody, optima

_CHECK = "weights"
# Distances from the objective above which weights are wrong: in standard errors, and absolute.
_ERRORS, _EXACT, _LOOSE = 4.0, 0.02, 0.08
# Part of the distance of the present clients' mean that counts as nearer to all clients.
_NEARER = 0.8
# Part of its weight below which a client counts as left out.
_LEFT_OUT = 0.5
# Fewest common rounds of two clients; least share of them with one model, and with two models.
_TOGETHER, _TURNS = 10, 0.2
# Correlation that says whose weight is too large.
_EXPLAINED = 0.8
_ROTATIONS, _CLIPS = (None, 1, 2, 3), (0.1, 1.0, 10.0)
# Local steps and curvatures of the clients: each pair once; rate of a local step.
_STEPS, _CURVATURES, _RATE = (1, 2, 4, 8), (0.5, 0.5, 0.5, 0.5, 2.0, 2.0, 2.0, 2.0), 0.05
_PROXIMAL = 1.0
# Distance from a gain of 1 that is noted; share of the steps that is reported.
_WHOLE, _OFTEN = 0.05, 0.02
_AT_REST = 0.5
# Part of the model's length that the optima may leave unexplained.
_UNEXPLAINED = 0.05


def check_weights(
    target: Target, rule: Rule, found: Sequence[Weights], by_age: bool = False
) -> Iterator[Finding]:
    """Judges the weights in all schedules; `by_age`: replies count for less after an absence."""
    named = [each for each in found if each.named]
    unnamed = [each.schedule for each in found if not each.named]
    if unnamed:
        about = "R^2 is below .95, or there are too few rounds, in: "
        yield Finding(_CHECK, OPEN, f"no weights are named: {about}{', '.join(unnamed)}")
    if not named:
        return
    skips = max(named, key=lambda w: w.skipped)
    if skips.skipped > _EXACT and not target.gathers:
        about = f"in {skips.schedule} {skips.skipped:.0%} of the rounds with replies leave the "
        about += "model as it is: their clients are not taken for clients whose replies arrive"
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
    advice = "Weigh each reply that arrives by its examples over their sum. If another objective "
    advice += f"is meant, name it: --objective={'|'.join(OBJECTIVES)}."
    if any(len({*row.values()}) > 1 for w in named for row in w.trace.sent):
        about = f"clients get several models; in the one that the server returns {number}"
        yield Finding(_CHECK, OPEN, about, value=value, error=error)
        return
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
    """Reports how far the weights are from shares of the examples, and of presence."""
    for each in found:
        if each.schedule == "independent" and each.named:
            value = apart(each.omega, each.p)
            shares = each.presence * each.p
            there = apart(each.omega, shares / shares.sum())
            about = f"from the shares of the examples of all clients: {value:.2f} of the weight is"
            about += f" elsewhere; from shares of presence {there:.2f}"
            yield Finding(_CHECK, NOTE, about, value=value)


def check_left_out(found: Sequence[Weights]) -> Iterator[Finding]:
    """Names clients that the rule leaves out although all are present."""
    for each in (each for each in found if each.named and each.schedule == "always"):
        # A client that is never asked has no replies to count.
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


def check_clusters(found: Sequence[Weights]) -> Iterator[Finding]:
    """Judges a server that gives its clients several models: each client must keep its cluster."""
    # A trace without rounds has no weights.
    for each in (each for each in found if each.schedule == "independent" and each.named):
        sent = each.trace.sent[len(each.trace.sent) // 2 :]
        got = np.array([[row.get(k, 0) for k in range(len(each.p))] for row in sent])
        asked = got != 0
        both = (asked[:, :, None] & asked[:, None]).sum(axis=0)
        same = ((got[:, :, None] == got[:, None]) & asked[:, :, None]).sum(axis=0)
        share = same / np.maximum(both, 1)
        turns = np.argwhere((both >= _TOGETHER) & (share > _TURNS) & (share < 1 - _TURNS))
        if len(turns):
            i, j = turns[0]
            about = f"clients get several models by turns: {i} and {j} get the same one in "
            about += f"{share[i, j]:.0%} of the rounds in which both train"
            yield Finding(_CHECK, WRONG, about, "Keep the cluster of each client.", share[i, j])


def check_axes(
    target: Target, schedule: Schedule, rule: Rule, examples: np.ndarray, rounds: int
) -> Iterator[Finding]:
    """Rotates the optima for a rule that depends on the axes; scales them for a rule that clips."""
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
            about += f"{one.distance:.2f} of the weight is elsewhere than without a clip, sum "
            about += f"{one.omega.sum():.2f}, R^2 {one.r2:.2f}"
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
    """Judges a rule for all clients: it must be nearer to p than a mean of the present clients."""
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


@dataclass(frozen=True, eq=False)
class GradientWeights:
    """Weights by which the clients' gradients add up to 0 at the fixed point.

    Attributes:
        weights: g, of sum 1, `float64 [N]`.
        factors: g_k over the client's share of the examples.
        steps: Local steps E of each client.
        curvatures: Curvature c of each client's loss.
    """

    weights: np.ndarray
    factors: np.ndarray
    steps: np.ndarray
    curvatures: np.ndarray

    def ratio(self, by: np.ndarray) -> float:
        """Mean factor of the clients with the largest value of `by`, over that of the smallest."""
        return float(self.factors[by == by.max()].mean() / self.factors[by == by.min()].mean())


def pulls(curvatures: np.ndarray, steps: np.ndarray, rate: float, mu: float = 0.0) -> np.ndarray:
    """Returns s, the share of the way to its optimum that each client goes, `float64 [N]`."""
    whole = curvatures + mu
    return np.asarray(curvatures / whole * (1 - (1 - rate * whole) ** steps))


def gradient_weights(
    target: Target, examples: np.ndarray, rounds: int, mu: float = 0.0
) -> GradientWeights | None:
    """Returns the weights by which the clients' gradients add up to 0 at the fixed point.

    Everybody is there. With the model sum_k omega_k b_k at rest, sum_k g_k c_k (b_k - w) = 0 for
    g_k in proportion to omega_k / c_k. FedAvg has g_k in proportion to p_k s_k / c_k, for small
    a E nearly p_k E_k: clients that take more steps count for more.

    Returns:
        The weights; `None` if the optima do not explain the model.
    """
    n = len(examples)
    steps = np.resize(np.array(_STEPS, float), n)
    curvatures, goals = np.resize(np.array(_CURVATURES), n), optima(n)
    answer = Clients(goals, examples, pulls(curvatures, steps, _RATE, mu), steps)
    trace = played(target, answer, rounds, everybody(rounds, n))
    if len(trace.models) < rounds:
        return None
    mean = trace.flat()[int(_AT_REST * rounds) :].mean(axis=0)
    omega = goals @ mean
    if not np.linalg.norm(mean - omega @ goals) < _UNEXPLAINED * np.linalg.norm(mean):
        return None
    weights = omega / curvatures / (omega / curvatures).sum()
    return GradientWeights(weights, weights * examples.sum() / examples, steps, curvatures)


def check_local(target: Target, rule: Rule, examples: np.ndarray, rounds: int) -> Iterator[Finding]:
    """Reports how unequal local work changes the weights; a server alone cannot mend it."""
    mu = _PROXIMAL if target.proximal is None else target.proximal
    if rule.kind != LINEAR or (plain := gradient_weights(target, examples, rounds)) is None:
        return
    if (near := gradient_weights(target, examples, rounds, mu)) is None:
        return
    (steps, bent), (near_steps, near_bent) = (
        (each.ratio(each.steps), each.ratio(each.curvatures)) for each in (plain, near)
    )
    about = (
        f"where the gradients add up to 0, clients that take {max(_STEPS)} local steps have "
        f"{steps:.1f} times the weight of those that take {min(_STEPS)}, and clients of curvature "
        f"{max(_CURVATURES):g} have {bent:.2f} times that of {min(_CURVATURES):g}; with a proximal "
        f"term of {mu:g}: {near_steps:.1f} and {near_bent:.2f} times"
    )
    advice = "Let clients take the same number of steps, or divide updates by them (FedNova)."
    yield Finding(_CHECK, NOTE, about, advice, value=steps)


def check_influence(found: Sequence[Influence], why: str) -> Iterator[Finding]:
    """Says how often clients are selected, and how far each moves the step."""
    if not found:
        yield Finding("weights", OPEN, f"no linear weights, and no influence is seen: {why}")
        return
    everybody, by_presence = found
    order = np.argsort(everybody.noise)
    low, high = order[0], order[-1]
    share, error = everybody.shares, everybody.errors * len(everybody.mean)
    about = (
        "no linear weights. With all there the client that strays least has "
        f"{share[low]:.2f} +- {error[low]:.2f} of the influence that an equal mean gives, and is "
        f"selected in {everybody.selected[low]:.0%} of the coordinates; the one that strays most "
        f"{share[high]:.2f} +- {error[high]:.2f}, {everybody.selected[high]:.0%}"
    )
    if (often := float(everybody.own.sum())) > _OFTEN:
        about += f"; {often:.0%} of the steps are one client's own reply"
    yield Finding("weights", NOTE, about, value=float(share[low]), error=float(error[low]))
    about = f"if all replies move by 1, the step moves by {everybody.gain:.2f}"
    verdict = RIGHT if abs(everybody.gain - 1) <= _WHOLE else NOTE
    yield Finding("scale", verdict, about, value=everybody.gain)
    if still := by_presence.still:
        about = f"of rounds with some of the clients {still:.0%} leave the model as it is"
        yield Finding("scale", NOTE, about, value=still)
