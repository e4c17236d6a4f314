"""The audit of a target: all schedules, all checks; an error or a hang is a finding."""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from f3ast_tff.audit.check_replies import check_broken, check_empty
from f3ast_tff.audit.check_rounds import COURSE, check_course, course_of
from f3ast_tff.audit.check_server import (
    check_determinism,
    check_forgets,
    check_fraction,
    check_liveness,
    check_memory,
    check_restart,
)
from f3ast_tff.audit.check_weights import (
    check_axes,
    check_clusters,
    check_influence,
    check_left_out,
    check_local,
    check_presence,
    check_weights,
)
from f3ast_tff.audit.findings import CHECKS, NOTE, OPEN, RIGHT, WRONG, Audit, Finding, merged
from f3ast_tff.audit.given_targets import target_of
from f3ast_tff.audit.influence import Influence, influences_of
from f3ast_tff.audit.plays import NoStepError, calls_of, played, step
from f3ast_tff.audit.targets import Target
from f3ast_tff.audit.weights import (
    RANDOM,
    ROBUST,
    UNKNOWN,
    Rule,
    Weights,
    rule_of,
    speeds_of,
    weights_in,
)
from f3ast_tff.audit.world import EXAMPLES, Fixed, Schedule, everybody, examples_for, presence_of
from f3ast_tff.availability.renewal import Renewal
from f3ast_tff.availability.spell_laws import Weibull
from f3ast_tff.core.randomness import generator

ROUNDS, _FEWEST, _DAY = 300, 100, 24
# Error of an array that the audit's dict does not have; ids of clients are numbers.
_NO_NAME = "KeyError: '"
# Second step over the first.
_STAYS = 0.01


def audit(
    target: Any,
    arguments: Mapping[str, Any] | None = None,
    *,
    objective: str | None = None,
    log: np.ndarray | None = None,
    rounds: int = ROUNDS,
    model: str | None = None,
) -> Audit:
    """Returns the audit of a server.

    Args:
        target: Function, class, object, Flower strategy, or a text; see `given_targets.target_of`.
        arguments: Arguments of a class.
        objective: Objective that the target states, of `targets.OBJECTIVES`.
        log: Masks of the user's log, `bool [T, N]`; `None` for none.
        rounds: Rounds of each schedule, at least 100.
        model: How the model is made of arrays: `array`, `layers`, `dict`, or names with commas; by
            default as the target says, or as it is found to work.

    Raises:
        ParameterError: If the target cannot be imported or made.

    Examples:
        >>> import numpy as np
        >>> from f3ast_tff.audit.audit import audit
        >>> def aggregate(model, updates, weights):
        ...     return model + np.mean(updates, axis=0)
        >>> [found.check for found in audit(aggregate, rounds=100).wrong()]
        ['weights', 'scale']
    """
    found = target if isinstance(target, Target) else target_of(target, arguments, objective, model)
    if not found.parts:
        return _audited(found, log, rounds)
    parts = {name: replace(found, make=make, seen=name) for name, make in found.parts.items()}
    return merged(found, {name: _audited(part, log, rounds) for name, part in parts.items()})


def _audited(found: Target, log: np.ndarray | None, rounds: int) -> Audit:
    begun = time.perf_counter()
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        examples = examples_for(found.least or 0)
        # Many clients take fewer rounds in the same time.
        rounds = max(rounds * len(EXAMPLES) // len(examples), min(rounds, _FEWEST))
        found = replace(found, calls=calls_of(found, examples))
        rule = rule_of(found, examples)
        every = schedules(rounds, len(examples), log=log)
        weights: list[Weights] = []
        influence: list[Influence] = []
        findings = [] if rule.kind == RANDOM else [*_kind(found, rule, examples)]
        # The steps of a model that is replaced in each round say nothing, nor do its weights.
        replaced = any(each.verdict == WRONG for each in findings)
        if rule.kind not in (UNKNOWN, RANDOM):
            speeds = speeds_of(found, rule, examples, max(rounds, COURSE))
            for schedule in every:
                n = schedule.masks.shape[1]
                sizes = examples if n == len(examples) else np.full(n, 20.0)
                weights.append(
                    weights_in(found, schedule, sizes, rounds, scale=rule.length, speeds=speeds)
                )
            if not replaced:
                findings += _of_steps(found, rule, examples, weights, every[1], rounds, speeds)
            findings += check_liveness(found, weights, examples)
            findings += check_memory(found, examples)
            findings += check_forgets(found, examples)
            findings += check_restart(found, examples)
        findings += check_fraction(found, examples)
        if rule.kind != UNKNOWN:
            findings += check_determinism(found, every[1], examples, rule)
        if found.gathers:
            calls = found.calls[1]
            about = f"replies of {calls} rounds are used together: the audit takes {calls} as one"
            findings.insert(0, Finding("scale", NOTE, about, value=calls))
        if rule.kind == ROBUST and not replaced:
            influence, why = influences_of(found, examples)
            findings += check_influence(influence, why)
    findings.sort(key=lambda each: list(CHECKS).index(each.check))
    named = [] if rule.kind == ROBUST or replaced else weights
    return Audit(found, rule, named, influence, findings, time.perf_counter() - begun)


def _kind(target: Target, rule: Rule, examples: np.ndarray) -> Iterator[Finding]:
    n = len(examples)
    if rule.kind == UNKNOWN:
        about, advice = f"a first round with all {n} clients fails: {rule.error}", ""
        waits = (target.least or 0) > n
        if waits:
            advice = f"The audit has {n} clients: give least numbers of clients below that."
        elif target.messages:
            advice = "The audit's clients reply one record of arrays, num-examples, losses and "
            advice += "accuracies."
        elif "returns None" in rule.error:
            advice = "Return the new model; a model that is changed in place is not seen."
        elif not target.parts:
            advice = "Of a list or dict of arrays, annotate the model, or give --model=layers|dict."
        # A strategy may need what other clients reply.
        unknown = target.messages
        if target.parts and rule.error.startswith(_NO_NAME):
            about += "; the audit's dict has other names: name yours, --model=fc.weight,fc.bias"
            unknown = True
        yield Finding("liveness", OPEN if unknown and not waits else WRONG, about, advice)
        return
    updates = np.random.default_rng(0).standard_normal((n, 4 * n))
    try:
        low, high = (step(target, updates, examples, start=start) for start in (0.0, 8.0))
    except NoStepError as error:
        yield Finding("scale", OPEN, f"a step is not seen: {error}")
        return
    value = float(np.linalg.norm(high - low) / max(float(np.linalg.norm(low)), 1e-30))
    trace = played(target, Fixed(updates, examples), 2)
    first, *more = np.abs(np.diff(trace.flat(), axis=0, prepend=0.0)).sum(axis=1)
    if value > 0.05:
        about = f"the same updates move a model of 8 otherwise than one of 0, by {value:.1f} steps"
        advice = "Return the model plus the mean update, not the mean update."
        yield Finding("scale", WRONG, f"the model is replaced: {about}", advice, value)
    elif more and more[0] < _STAYS * first:
        about = "the same updates move it in the first round, and not in the second"
        advice = "Add the mean update to the model of the last round, not to an older one."
        yield Finding("scale", WRONG, f"the model is replaced: {about}", advice, more[0] / first)
    else:
        yield Finding("scale", RIGHT, "a step is the same from any model", value=value)


def _of_steps(
    target: Target,
    rule: Rule,
    examples: np.ndarray,
    weights: list[Weights],
    independent: Schedule,
    rounds: int,
    speeds: np.ndarray,
) -> Iterator[Finding]:
    course = course_of(target, rule, examples)
    if rule.kind != ROBUST:
        yield from check_weights(target, rule, weights, course.by_age)
        yield from check_presence(weights)
        yield from check_left_out(weights)
    yield from check_clusters(weights)
    yield from check_local(target, rule, examples, rounds)
    yield from check_axes(target, independent, rule, examples, rounds)
    yield from check_course(target, rule, examples, course, speeds)
    yield from check_empty(target, rule, examples)
    yield from check_broken(target, rule, examples)


def schedules(
    rounds: int, num_clients: int, seed: int = 0, log: np.ndarray | None = None
) -> list[Schedule]:
    """Returns all schedules, with some rounds to spare for servers that wait.

    Args:
        rounds: Rounds of the server.
        num_clients: Number of clients, even.
        seed: Seed of the draws.
        log: Masks of the user, `bool [T, N]`, which repeat; `None` for none.
    """
    length, n, presence = 2 * rounds, num_clients, presence_of(num_clients)
    draw = generator(seed, "audit schedules").random((length, n))
    hours = np.arange(length)[:, None]
    phase = np.arange(n) * 5 % _DAY
    wave = np.clip(presence * (1 + np.sin(2 * np.pi * (hours - phase) / _DAY)), 0, 1)
    own = draw < presence
    away = np.ones((length, n), bool)
    away[rounds // 4 : 3 * rounds // 4, 0] = False
    nobody = own | (np.arange(n) == n - 1)
    nobody[np.arange(length) % 25 >= 20] = False
    found = [
        everybody(length, n),
        # Each client with its own probability, from .1 to 1.
        Schedule("independent", own),
        # Rounds of an hour; each client in its own half of the day, the rare ones less.
        Schedule("daily wave", draw < wave),
        # Spells of Weibull laws of shape .5, so that some absences are very long.
        Schedule("heavy tails", _spells(length, presence, seed)),
        # Two halves that come and go together, one a third as often.
        Schedule("groups", np.repeat(draw[:, :2] < [0.3, 0.9], n // 2, axis=1)),
        # The first client gone for half of the rounds, then back.
        Schedule("long absence", away),
        # Every 25 rounds nobody for 5 rounds.
        Schedule("nobody", nobody),
        Schedule("lost replies", own, lost=0.5),
        # One to three rounds late.
        Schedule("late replies", own, late=0.5),
    ]
    if log is not None:
        found.append(Schedule("log", np.resize(log, (length, log.shape[1]))))
    return found


def _spells(length: int, presence: np.ndarray, seed: int) -> np.ndarray:
    """Client k is up for 4 rounds on average, and down so long that this is its share."""
    found = []
    for k, share in enumerate(presence):
        # The mean of a Weibull law of shape .5 is twice its scale.
        down = Weibull(0.5, max(2.0 * (1 / share - 1), 1e-3))
        process = Renewal(1, up=Weibull(0.5, 2.0), down=down, seed=seed * len(presence) + k)
        found.append([bool(process.mask(t)[0]) for t in range(1, length + 1)])
    return np.array(found).T
