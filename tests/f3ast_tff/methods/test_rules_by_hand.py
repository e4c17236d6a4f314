"""Rules of memories as pure functions, by hand: one client, a model of two numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from f3ast_tff.methods.amplified_scaffold import AmplifiedScaffold
from f3ast_tff.methods.fedawe import FedAwe
from f3ast_tff.methods.feddyn import FedDyn
from f3ast_tff.methods.fednova import FedNova
from f3ast_tff.methods.parts.memory import Client, CohortSums, RoundContext
from f3ast_tff.methods.scaffold import Scaffold

MODEL, UPDATE = np.array([1.0, 2.0]), np.array([-1.0, 2.0])
# Round 5, client rate 1/2, server rate 2.
NOW = RoundContext(np, 5, 0.5, 2.0, MODEL, 2)


def client(steps: int = 2, **kept: Any) -> Client:
    return Client(kept, share=0.5, steps=steps)


def test_fedawe() -> None:
    """Three rounds missed; (x_k - w) / eta_g = (2, -2) / 2."""
    rules, one = FedAwe(), client(model=np.array([3.0, 0.0]), last_round=2)
    start = rules.client(one, {}, NOW)
    assert (start.model.tolist(), start.scale, start.shift.tolist()) == ([3, 0], 3, [1, -1])
    last = rules.after_client(one, UPDATE, {}, NOW)["last_round"]
    assert (last, last.dtype) == (5, np.float32)
    scored = [
        FedAwe(fedawe_scored=own).evaluated({"average_model": 7}, 8)
        for own in ("own_models", "server_model")
    ]
    assert scored == [7, 8]


def test_scaffold() -> None:
    """Mean gradient over 2 steps -D / (2 x 1/2) = (1, -2), over 1 step (2, -4)."""
    rules, server = Scaffold("mean"), {"average_control": np.array([0.5, 0.5])}
    control = np.array([1.0, 0.0])
    assert rules.client(client(control=control), server, NOW).offset.tolist() == [-0.5, 0.5]
    for steps, expected in ((2, [1.5, -2.5]), (1, [2.5, -4.5]), (0, [1, 0])):
        kept = rules.after_client(client(steps, control=control), UPDATE, server, NOW)
        assert kept["control"].tolist() == expected


def test_amplified_scaffold() -> None:
    """Rounds 5 and 6 are period 3: (2, 2) takes effect, then the mean of (2.5, -0.5), (3.5, -2.5).

    The gradients are (1, -2) of two steps and (2, -4) of one, plus 3/2, the own less the common
    control. Round 6 ends the period, whose movement (2, 2) counts 1.5 times.
    """
    rules, server = AmplifiedScaffold("mean", 2, 1.5), {"control": np.array([0.5, 0.5])}
    kept: Any = {"control": np.array([1.0, 0.0]), "next": np.array([2.0, 2.0])}
    kept |= {"rounds": 4.0, "period": 2.0}
    assert rules.client(client(**kept), server, NOW).offset.tolist() == [-1.5, -1.5]
    kept = rules.after_client(client(2, **kept), UPDATE, server, NOW)
    assert (kept["control"].tolist(), kept["next"].tolist()) == ([2, 2], [2.5, -0.5])
    later = NOW._replace(round_number=6)
    for steps in (1, 0):
        kept = rules.after_client(client(steps, **kept), UPDATE, server, later)
        assert (kept["control"].tolist(), kept["next"].tolist()) == ([2, 2], [3, -1.5])
        assert (kept["rounds"], kept["period"]) == (2, 3)
    server = {"period_start": np.zeros(2), "control": np.ones(2), "average_next": np.full(2, 4.0)}
    for now, control, model in ((NOW, 1, 2), (later, 4, 3)):
        found, moved = rules.end_round(server, np.full(2, 2.0), now)
        assert (found["control"].tolist(), moved.tolist()) == ([control] * 2, [model] * 2)


def test_feddyn() -> None:
    """alpha = 1/2: lambda = (1, -1) - (-1, 2) / 2; the model moves by -h / alpha = (-2, -4)."""
    rules, one = FedDyn("mean", 0.5), client(gradient=np.array([1.0, -1.0]))
    start = rules.client(one, {}, NOW)
    assert (start.offset.tolist(), start.pull) == ([-1, 1], 0.5)
    assert rules.after_client(one, UPDATE, {}, NOW)["gradient"].tolist() == [1.5, -2]
    server = {"average_gradient": np.array([1.0, 2.0])}
    for model, expected in (([1.0, 3.0], [-1, -1]), (MODEL.tolist(), [1, 2])):
        assert rules.end_round(server, np.array(model), NOW)[1].tolist() == expected


@pytest.mark.parametrize(("steps", "scale"), [(4, 0.25), (1, 1), (0, 1)])
def test_fednova_sends_the_update_per_step(steps: int, scale: float) -> None:
    assert FedNova("mean").client(client(steps), {}, NOW).scale == scale


@pytest.mark.parametrize(
    ("weight", "steps", "expected"), [(2.0, 6.0, [-3, 6]), (0.5, 1.0, [-2, 4]), (0.0, 0.0, [0, 0])]
)
def test_fednova_multiplies_by_the_mean_steps(
    weight: float, steps: float, expected: list[float]
) -> None:
    now = NOW._replace(cohort=CohortSums(weight, steps))
    assert FedNova("mean").aggregated(UPDATE, {}, now).tolist() == expected
