"""Clients that attack, on the engines."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from f3ast_tff.attacks import AttackConfig, Noise, SignFlip
from f3ast_tff.attacks.attack import Attack
from f3ast_tff.core.local_training import LocalTraining
from f3ast_tff.methods.parts.memory import Client, RoundContext
from f3ast_tff.methods.parts.strategy import Cohort
from f3ast_tff.methods.scaffold import Scaffold
from f3ast_tff.methods.sum_and_mean import WeightedMean
from f3ast_tff.optimizers import Sgd
from tests.f3ast_tff.engines.test_local_work import DATA, P, moved, run
from tests.f3ast_tff.engines.test_messages import own_loop
from tests.f3ast_tff.engines.two_biases import ENGINES, ONE_ENGINE, biases, s

NOW = RoundContext(np, np.int32(3), 0.5, 1.0, np.zeros(4, np.float32), 2)


def by(config: AttackConfig, *ids: int) -> Attack:
    return Attack(config, ids, seed=5)


def sender(k: int) -> Client:
    return Client({}, share=0.5, steps=1, weight=1.0, id=np.int32(k))


@ENGINES
def test_a_flipped_sign_by_hand(made: Callable[..., Any]) -> None:
    """Client 1 of `two_biases` sends - 2 D_1 = s in place of -s / 2; p = (1/4, 3/4).

    Round 1, both: Delta = 1/4 * 1/4 + 3/4 * 1/2 = 7/16 = a. Round 2, client 0: (1 - s(7/8)) / 2.
    """
    attacked = by(SignFlip(attack_scale=2.0), 1).around(WeightedMean())
    rounds = [([0, 1], [0.25, 0.75]), ([0], [1.0])]
    found = biases(made, attacked, rounds)
    np.testing.assert_allclose(found, [7 / 16, 7 / 16 + (1 - s(7 / 8)) / 2], rtol=2e-6)


@ENGINES
def test_attackers_are_their_own_loop(made: Callable[..., Any]) -> None:
    """Client 3 sends noise; the others, and client 3 in what SCAFFOLD keeps, are honest."""
    attack = by(Noise(), 3)

    def delta(t: int, ids: list[int], w: np.ndarray, updates: np.ndarray) -> np.ndarray:
        now = NOW._replace(round_number=np.int32(t))
        for place, k in enumerate(ids):
            if k == 3:
                sent = attack.config.sent(updates[place].astype(np.float32), sender(3), now, 5)
                updates[place] = sent
        found: np.ndarray = updates.mean(axis=0)
        return found

    found = run(made, attack.around(WeightedMean()))
    np.testing.assert_allclose(found, own_loop(delta), atol=2e-6)


@ONE_ENGINE
def test_a_method_remembers_honest_updates(made: Callable[..., Any]) -> None:
    """All attack with scale 1: w moves by -D, while controls are of the steps made."""
    attacked = by(SignFlip(), 0, 1, 2, 3).around(Scaffold("mean"))
    work = LocalTraining(int(DATA.train.sizes.max()), epochs=4)
    given = {"client": Sgd(0.1), "p": P, "cohort_size": 4}
    engine = made(DATA, work, Sgd(1.0), attacked, **given)
    engine.run_rounds(1, [Cohort(np.array([2]), np.ones(1))])
    update = moved(2, np.zeros(len(engine.state()["server_average_control"])))
    flat = np.concatenate([np.ravel(weight) for weight in engine.weights()])
    np.testing.assert_allclose(flat, -update, atol=1e-6)
    np.testing.assert_allclose(engine.state()["client_control"][2], -update / 0.4, atol=1e-5)
