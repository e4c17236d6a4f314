"""One course of rounds in which clients leave, return, and lose replies; steps and their weights.

Clients always reply the model plus their own update u_k; the u_k are orthogonal, so that a round's
step is sum_k l_k u_k with weights l_k.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from f3ast_tff.audit.findings import NOTE, OPEN, RIGHT, WRONG, Finding
from f3ast_tff.audit.plays import NoStepError, played, step
from f3ast_tff.audit.targets import Target
from f3ast_tff.audit.weights import ADAPTIVE, BY_LOSS, CLIPS, LINEAR, Rule, apart
from f3ast_tff.audit.world import DENSE, Reply, Schedule, Trace, fixed, shares_of
from f3ast_tff.core.randomness import generator
from f3ast_tff.models.leaf_patterns import is_buffer

# Rounds: all there; client 0 away; back; few there; all; replies lost; all; a reply twice.
_ALL, _AWAY, _BACK, _FEW, _REST, _LOST, _AFTER, _TWICE = 60, 50, 6, 50, 20, 50, 4, 12
_LOSES = _ALL + _AWAY + _BACK + _FEW + _REST
COURSE = _LOSES + _LOST + _AFTER + _TWICE
_WEIGHT, _TWICE_AS_FAR, _DROPPED = 0.05, 1.3, 1e-6
# Weight over share below which a rule does not use a client.
_NO_WEIGHT = 0.01
# Rounds of the running median of a server's rate; its least part of the usual one.
_WINDOW, _AT_REST = 11, 1e-3
_ERRORS = 4.0
# Objectives whose weights vary by round, with the reason.
_OWN = {"all": "weights p / r", "drawn": "draws with replacement"}
_REPEATS = 5
_BUFFER = "Take the mean of the clients' buffers: another step can make a variance negative."
# Part of a whole round's move below which a server skips the round.
_STAYS = 1e-3


@dataclass(frozen=True, eq=False)
class Course:
    """Steps of a server in the course.

    Attributes:
        steps: Moves of the model, `float64 [R, d]`.
        updates: Updates of the clients, `float64 [N, d]`.
        trace: Record of the rounds.
        few: Clients that are there in the rounds of few.
    """

    steps: np.ndarray
    updates: np.ndarray
    trace: Trace
    few: int

    @cached_property
    def weights(self) -> np.ndarray:
        """l_k of each round, `float64 [R, N]`."""
        return np.asarray(self.steps @ np.linalg.pinv(self.updates))

    @property
    def noise(self) -> float:
        """Standard deviation of a weight, by the steps that no update explains."""
        (n, size), length = self.updates.shape, np.linalg.norm(self.updates[0])
        left = self.steps - self.weights @ self.updates
        return float(np.sqrt((left**2).sum() / (len(left) * (size - n))) / length)

    @cached_property
    def shares(self) -> np.ndarray:
        """Shares of the delivered clients by examples, `float64 [R, N]`."""
        rows, n = map(shares_of, self.trace.delivered), len(self.updates)
        return np.array([[row.get(k, 0.0) for k in range(n)] for row in rows]).reshape(-1, n)

    @property
    def by_age(self) -> bool:
        """Whether the returning client counts for less in its first round, and in no other."""
        back = np.flatnonzero(self.shares[: _ALL + _AWAY + _BACK, 0])
        back, usual = back[back >= _ALL + _AWAY], back[(back < _ALL) & (back > _ALL // 2)]
        if len(back) < 2 or not len(usual):
            return False
        with np.errstate(all="ignore"):
            own = self.weights[:, 0] / self.shares[:, 0] / self.weights.sum(axis=1)
        first, second = own[back[:2]] / own[usual].mean()
        # A reply of no weight at all is dropped.
        return bool(_DROPPED < first < 1 / _TWICE_AS_FAR and abs(second - 1) < _WEIGHT)

    def part(self, first: int, length: int) -> np.ndarray:
        """The last rounds of a part, which begins after `first` rounds, with any reply."""
        places = np.arange(first, min(first + length, len(self.steps)))
        return places[self.shares[places].sum(axis=1) > 0][-5:]


def course_of(target: Target, rule: Rule, examples: np.ndarray) -> Course:
    """Plays the course; updates are short beside a clip."""
    n, few = len(examples), min(max(2, target.least or 0), len(examples))
    parts = [(_ALL, range(n)), (_AWAY, range(1, n)), (_BACK, range(n)), (_FEW, range(n - few, n))]
    parts.append((_REST + _LOST + _AFTER + _TWICE + 100, range(n)))
    masks = np.concatenate([np.tile(np.isin(range(n), there), (m, 1)) for m, there in parts])

    def spoilt(t: int, reply: Reply) -> list[Reply]:
        if _LOSES < t <= _LOSES + _LOST and reply.client < n // 2:
            return []
        twice = t > COURSE - _TWICE and reply.client == _REPEATS
        return [reply, reply] if twice else [reply]

    answer = fixed(examples, spoilt, rule.length)
    # Kept replies of a node that returns under another id count beside its new ones.
    new_ids = target.messages and target.objective == "latest"
    schedule = Schedule("the course", masks, new_ids=new_ids)
    trace = played(target, answer, COURSE, schedule)
    models = np.vstack([np.zeros(DENSE * n), *trace.flat()])
    return Course(np.diff(models, axis=0), answer.updates, trace, few)


def check_course(
    target: Target, rule: Rule, examples: np.ndarray, course: Course, speeds: np.ndarray
) -> Iterator[Finding]:
    """Judges the scale of rounds, the returning client, and lost and repeated replies.

    `speeds` is what `weights.speeds_of` returns, at least so many rounds.
    """
    why = course.trace.failure
    if not why and not np.isfinite(course.steps).all():
        why = "the model is not finite"
    if why:
        yield Finding("scale", WRONG, f"when clients leave and return, it ends: {why}")
        return
    if rule.kind not in (LINEAR, BY_LOSS, CLIPS):
        if rule.kind == ADAPTIVE and is_buffer(target.seen):
            yield Finding("scale", WRONG, "a buffer takes steps by axes", _BUFFER)
        yield from _of_same(target, rule, examples)
        yield _lengths(course)
        return
    away, usual = _ALL + _AWAY, course.part(0, _ALL)
    pace, shares = _pace(speeds, usual), course.shares
    # Rounds are compared with one of all clients in the same round of the server.
    weights = course.weights / pace[:, None]
    sums, noise = weights.sum(axis=1), course.noise / np.abs(pace)
    whole = float(sums[usual].mean())
    own_weights = _OWN.get(target.objective, "")
    # How many replies a server gathers decides how often it moves.
    gathers = "servers that gather replies" if target.gathers else own_weights
    few, lost = course.part(away + _BACK, _FEW), course.part(_LOSES, _LOST)
    error = float(sums[usual].std() / max(abs(whole), 1e-12))
    for who, places in (
        (f"a round with {course.few} of {len(course.updates)} clients", few),
        ("a round that loses half of its replies", lost),
    ):
        yield _ratio(float(sums[places].mean() / whole), who, error, gathers)
    about = f"weights of a round with all clients sum to {whole:.2f}"
    changes = float(np.nanmax(pace[5:]) - np.nanmin(pace[5:])) > 2 * _WEIGHT
    if changes:
        about += f" in round {_ALL}, and change with the round: {speeds[0]:.2f} in the first, "
        about += f"{speeds[COURSE - 1]:.2g} in round {COURSE}"
    yield _scale(target, about, whole, float(speeds[0]), changes)
    with np.errstate(all="ignore"):
        own = weights[:, 0] / shares[:, 0]
    before = np.flatnonzero(shares[:_ALL, 0] > 0)[5:]
    # A rule that leaves out replies at random uses this client's in some rounds: their mean counts.
    usual_own, most, mean_share = math.nan, math.nan, math.nan
    if len(before):
        usual_own, mean_share = float(own[before].mean()), float(shares[before, 0].mean())
        # Ratios to the rounding of a client that the rule never uses say nothing.
        usual_own = usual_own if abs(usual_own) >= _NO_WEIGHT else math.nan
        most = float(np.abs(own[before]).max() / abs(usual_own))
    # A server that wants all waits for the client.
    left = [t for t in course.part(_ALL, _AWAY) if 0 not in course.trace.there[t]]
    gone = [k for k in range(len(course.updates) // 2) if (shares[usual, k] > 0).any()]
    for check, who, values, by, due in (
        (
            "returning",
            "after 50 rounds away a client has",
            weights[left, 0],
            noise[left],
            usual_own * mean_share,
        ),
        (
            "replies",
            "clients whose replies are lost have",
            weights[lost][:, gone].sum(axis=1),
            noise[lost] * math.sqrt(len(gone)),
            weights[usual][:, gone].sum(axis=1).mean(),
        ),
    ):
        value, error = _mean_of(values, by) / np.array([due, abs(due)])
        yield _stale(check, value, error, who, target)
    back = [t for t in range(away, away + _BACK) if shares[t, 0] > 0]
    if not back or not math.isfinite(usual_own * own[back[0]]):
        why = "the returning client has no weight, or was not chosen in six rounds"
        yield Finding("returning", OPEN, why)
    else:
        yield _return(float(own[back[0]] / usual_own), max(_TWICE_AS_FAR, most), own_weights)
    yield _repeated(target, course, weights[:, _REPEATS])
    if rule.kind == BY_LOSS:
        yield _alike(weights[usual].mean(axis=0) / whole, shares[usual])


def _scale(target: Target, about: str, whole: float, first: float, changes: bool) -> Finding:
    """The sum of the weights when all are there; `first` is the server's rate in round 1."""
    if abs(whole) <= _DROPPED:
        stays = abs(first) <= _DROPPED
        about += ": the model stays" if stays else ": the model no longer moves"
        return Finding("scale", WRONG if stays else NOTE, about, value=whole)
    if whole < 0:
        advice = "Add the mean update: a client's model minus the one that it got."
        return Finding("scale", WRONG, f"{about}: against the updates", advice, whole)
    off = abs(whole - 1) > _WEIGHT or changes
    if off and is_buffer(target.seen):
        return Finding("scale", WRONG, f"{about}, of a buffer", _BUFFER, whole)
    return Finding("scale", NOTE if off else RIGHT, about, value=whole)


def _alike(weights: np.ndarray, shares: np.ndarray) -> Finding:
    """Of a rule that goes by losses: in the course all losses are the same."""
    equal = (shares > 0) / (shares > 0).sum(axis=1, keepdims=True)
    means = {"by their examples": shares, "each alike": equal}
    away, how = min((apart(weights, each.mean(axis=0)), how) for how, each in means.items())
    if away <= _WEIGHT:
        found = f"goes by losses; replies of the same loss count {how}"
        return Finding("weights", RIGHT, found, value=away)
    found = f"replies of the same loss count neither by their examples nor alike: {away:.2f} "
    return Finding("weights", WRONG, f"{found}of the weight is elsewhere", "", away)


def _pace(speeds: np.ndarray, usual: np.ndarray) -> np.ndarray:
    """The server's rate in each round of the course, over the one in usual rounds; 1 if it ends."""
    if len(speeds) < COURSE:
        return np.ones(COURSE)
    wide = np.pad(speeds[:COURSE], _WINDOW // 2, mode="edge")
    smooth = np.median(np.lib.stride_tricks.sliding_window_view(wide, _WINDOW), axis=1)
    pace = smooth / smooth[usual].mean()
    if not np.isfinite(pace).all():
        return np.ones(COURSE)
    # Of a server that is at rest steps are rounding.
    return np.where(np.abs(pace) < _AT_REST, math.nan, pace)


def _mean_of(values: np.ndarray, noise: np.ndarray) -> np.ndarray:
    """The mean of some rounds, and its standard error by the noise of each."""
    if not len(values):
        return np.full(2, math.nan)
    return np.array([values.mean(), math.sqrt((noise**2).sum()) / len(values)])


def _of_same(target: Target, rule: Rule, examples: np.ndarray) -> Iterator[Finding]:
    """The step of one update that all reply: whatever the rule, how many reply changes nothing."""
    n = len(examples)
    few = min(max(n // 2, target.least or 0), n)
    one = generator(0, "audit same updates").standard_normal(DENSE * n)
    same = np.tile(rule.length * one / np.linalg.norm(one), (n, 1))
    try:
        whole, some = (step(target, same, examples, np.arange(n) >= k) for k in (0, n - few))
    except NoStepError:
        return
    if whole.any() and not rule.noise:
        value = float(some @ whole / (whole @ whole))
        yield _ratio(value, f"a round with {few} of {n} clients", 0, _OWN.get(target.objective, ""))


def _lengths(course: Course) -> Finding:
    """The length of the step at a return, for rules without weights."""
    lengths = np.linalg.norm(course.steps, axis=1)
    at = _ALL + _AWAY
    ratio = float(lengths[at : at + 3].max() / max(np.median(lengths[at - 10 : at]), 1e-30))
    about = f"at a client's return the step is {ratio:.2f} times the usual one"
    return Finding("returning", RIGHT if ratio < 2 else WRONG, about, value=ratio)


def _ratio(value: float, who: str, error: float, why: str) -> Finding:
    if not math.isfinite(value):
        return Finding("scale", OPEN, f"how far {who} moves the model is not seen: it stays")
    found = f"{who} moves the model {value:.2f} times as far along the updates as one with all"
    if abs(value - 1) <= max(_WEIGHT, _ERRORS * error):
        return Finding("scale", RIGHT, found, value=value, error=error)
    if abs(value) <= _STAYS:
        about = f"{who} leaves the model as it is: its replies count for nothing"
        return Finding("scale", NOTE, about, "", value, error)
    if why:
        return Finding("scale", NOTE, f"{found}, as {why} do", "", value, error)
    advice = "Divide by the examples of the replies that arrived; a missing reply is no reply of 0."
    return Finding("scale", WRONG, found, advice, value, error)


def _stale(check: str, value: float, error: float, who: str, target: Target) -> Finding:
    if not math.isfinite(value):
        return Finding(check, OPEN, f"whether {who} a weight is not seen")
    if abs(value) <= _WEIGHT + _ERRORS * error and _ERRORS * error > _WEIGHT:
        found = f"whether {who} a weight is not seen in the server's noise"
        return Finding(check, OPEN, f"{found}: {value:.2f}, with an error of {error:.2f}")
    # No -0.00.
    found = f"{who} {round(value, 2) + 0.0:.2f} of their usual weight in a step"
    if target.objective == "latest":
        return Finding(check, RIGHT if value > _WEIGHT else NOTE, found, value=value)
    if not abs(value) <= _WEIGHT:
        advice = "Do not put kept arrays in place of a missing reply; leave the client out."
        return Finding(check, WRONG, found, advice, value)
    return Finding(check, RIGHT, found, value=value)


def _return(value: float, most: float, why: str) -> Finding:
    found = f"in its first step after 50 rounds away a client counts {value:.2f} times as usual"
    if abs(value) > most:
        if why:
            return Finding("returning", NOTE, f"{found}, as {why} do", "", value)
        advice = "Count a returning client once: its new reply in place of its kept one."
        return Finding("returning", WRONG, found, advice, value)
    if value < 1 / _TWICE_AS_FAR:
        found += ", as with momentum or weights by age"
        return Finding("returning", NOTE, found, value=value)
    return Finding("returning", RIGHT, found, value=value)


def _repeated(target: Target, course: Course, of_client: np.ndarray) -> Finding:
    if not target.knows_clients:
        about = "which client a reply is of is not told to the function: twice is not seen"
        return Finding("replies", OPEN, about)
    chosen = course.shares[:, _REPEATS] > 0
    twice = np.flatnonzero(chosen[-_TWICE:])
    if not len(twice) or not chosen[:_ALL].any():
        return Finding("replies", OPEN, "the client whose reply comes twice was not chosen")
    usual = float(np.median(of_client[:_ALL][chosen[:_ALL]]))
    if not abs(usual) >= _NO_WEIGHT * course.shares[:_ALL, _REPEATS].max():
        return Finding("replies", OPEN, "the client whose reply comes twice has no weight")
    value = float(of_client[-_TWICE:][twice[0]] / usual)
    if not math.isfinite(value):
        return Finding("replies", OPEN, "whether a reply twice counts twice is not seen: it stays")
    found = f"a reply that arrives twice counts {value:.2f} times"
    return Finding("replies", NOTE if value > _TWICE_AS_FAR else RIGHT, found, value=value)
