"""Local work: which mean of the clients' gradients is zero where the server comes to rest.

Clients descend c / 2 |w - b|^2 + mu / 2 |w - w_0|^2 from the model w_0 that they got, by E steps of
rate a; mu > 0 is FedProx's proximal term. They end at w_0 + s (b - w_0), with

    s = c / (c + mu) (1 - (1 - a (c + mu))^E)
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from f3ast_tff.audit.findings import NOTE, Finding
from f3ast_tff.audit.plays import played
from f3ast_tff.audit.targets import Target
from f3ast_tff.audit.weights import DENSE, LINEAR, Rule
from f3ast_tff.audit.world import Clients, everybody, optima, start_model

# Local steps and curvatures of the clients: each pair once; rate of a local step.
_STEPS, _CURVATURES, _RATE = (1, 2, 4, 8), (0.5, 0.5, 0.5, 0.5, 2.0, 2.0, 2.0, 2.0), 0.05
_PROXIMAL = 1.0
_BURN_IN = 0.5
# Coordinates of the model that the optima do not explain, of its length.
_UNEXPLAINED = 0.05


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

    @property
    def of_steps(self) -> float:
        """Weight of clients with the most steps over that of clients with the fewest."""
        return self._ratio(self.steps)

    @property
    def of_curvature(self) -> float:
        """Weight of clients of the largest curvature over that of clients of the smallest."""
        return self._ratio(self.curvatures)

    def _ratio(self, by: np.ndarray) -> float:
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
    curvatures = np.resize(np.array(_CURVATURES), n)
    goals = optima(n, DENSE * n, 0)
    rate = pulls(curvatures, steps, _RATE, mu)
    answer = Clients(goals, examples, rate=rate, steps=steps)
    schedule = everybody(rounds, n)
    trace = played(target, schedule, answer, rounds, start_model(DENSE * n))
    if len(trace.models) < rounds:
        return None
    mean = trace.flat()[int(_BURN_IN * rounds) :].mean(axis=0)
    omega = goals @ mean
    if not np.linalg.norm(mean - omega @ goals) < _UNEXPLAINED * np.linalg.norm(mean):
        return None
    weights = omega / curvatures / (omega / curvatures).sum()
    return GradientWeights(weights, weights * examples.sum() / examples, steps, curvatures)


def check_local(target: Target, rule: Rule, examples: np.ndarray, rounds: int) -> Iterator[Finding]:
    """Says what unequal local work makes of the objective; a server alone cannot mend it."""
    if rule.kind != LINEAR:
        return
    mu = _PROXIMAL if target.proximal is None else target.proximal
    plain, near = (gradient_weights(target, examples, rounds, each) for each in (0.0, mu))
    if plain is None or near is None:
        return
    about = (
        f"where the gradients add up to 0, clients that take {max(_STEPS)} local steps have "
        f"{plain.of_steps:.1f} times the weight of those that take {min(_STEPS)}, and clients of "
        f"curvature {max(_CURVATURES):g} have {plain.of_curvature:.2f} times that of "
        f"{min(_CURVATURES):g}; with a proximal term of {mu:g}: {near.of_steps:.1f} and "
        f"{near.of_curvature:.2f} times"
    )
    advice = "Let clients take the same number of steps, or divide updates by them (FedNova)."
    yield Finding("weights", NOTE, about, advice, value=plain.of_steps)
