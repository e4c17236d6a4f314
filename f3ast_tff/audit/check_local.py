"""Local work: which mean of the clients' gradients is zero where the server comes to rest."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from f3ast_tff.audit.findings import NOTE, Finding
from f3ast_tff.audit.plays import played
from f3ast_tff.audit.targets import Target
from f3ast_tff.audit.weights import DENSE, LINEAR, Rule
from f3ast_tff.audit.world import Clients, everybody, optima, start_model

# Local steps and curvatures of the clients, in turn; rate of a local step.
_STEPS, _CURVATURES, _RATE = (1, 2, 4, 8), (0.5, 0.5, 0.5, 0.5, 2.0, 2.0, 2.0, 2.0), 0.05
_BURN_IN = 0.5
# Coordinates of the model that the optima do not explain, of its length.
_UNEXPLAINED = 0.05


def pulls(curvatures: np.ndarray, steps: np.ndarray, rate: float) -> np.ndarray:
    """Returns the share of the way to its optimum that each client goes, `float64 [N]`.

    E steps of rate a on c / 2 |w - b|^2 end at w + (1 - (1 - a c)^E) (b - w).
    """
    return np.asarray(1 - (1 - rate * curvatures) ** steps)


def gradient_weights(
    target: Target, examples: np.ndarray, rounds: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray] | None:
    """Returns the weights by which the clients' gradients add up to 0 at the fixed point.

    Everybody is there. With the model sum_k omega_k b_k at rest, sum_k g_k c_k (b_k - w) = 0 for
    g_k in proportion to omega_k / c_k. FedAvg has g_k in proportion to p_k (1 - (1 - a c_k)^E_k) /
    c_k, nearly p_k E_k: clients that take more steps count for more.

    Returns:
        g, of sum 1, local steps E and curvatures c of each client, `float64 [N]`; `None` if the
        optima do not explain the model.
    """
    n = len(examples)
    steps = np.resize(np.array(_STEPS), n)
    curvatures = np.resize(np.array(_CURVATURES), n)
    goals = optima(n, DENSE * n, 0)
    answer = Clients(goals, examples, rate=pulls(curvatures, steps, _RATE))
    schedule = everybody(rounds, n)
    trace = played(target, schedule, answer, rounds, start_model(DENSE * n))
    if len(trace.models) < rounds:
        return None
    mean = trace.flat()[int(_BURN_IN * rounds) :].mean(axis=0)
    omega = goals @ mean
    if not np.linalg.norm(mean - omega @ goals) < _UNEXPLAINED * np.linalg.norm(mean):
        return None
    weights = omega / curvatures
    return weights / weights.sum(), steps.astype(float), curvatures


def check_local(target: Target, rule: Rule, examples: np.ndarray, rounds: int) -> Iterator[Finding]:
    """Says what unequal local work makes of the objective; a server alone cannot mend it."""
    if rule.kind != LINEAR:
        return
    found = gradient_weights(target, examples, rounds)
    if found is None:
        return
    weights, steps, _ = found
    factors = weights / (examples / examples.sum())
    most, least = (float(factors[steps == each].mean()) for each in (max(_STEPS), min(_STEPS)))
    about = (
        f"clients of unequal curvature that take {max(_STEPS)} local steps have "
        f"{most / least:.1f} times the weight of those that take {min(_STEPS)}, where the "
        "gradients add up to 0"
    )
    advice = "Let clients take the same number of steps, or divide updates by them (FedNova)."
    yield Finding("weights", NOTE, about, advice, value=most / least)
