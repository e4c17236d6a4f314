"""Weights in a model against closed forms."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from f3ast_tff import F3AST, Round, RoundConstraint
from f3ast_tff.audit.audit import audit, schedules
from f3ast_tff.audit.check_weights import gradient_weights
from f3ast_tff.audit.given_targets import target_of
from f3ast_tff.audit.weights import LINEAR, rule_of, weights_in
from f3ast_tff.audit.world import EXAMPLES, Clients, Fixed, Schedule, presence_of, start_model
from f3ast_tff.run.selecting import select_clients, weigh_updates
from tests.f3ast_tff.audit.servers import aggregate


def chain(rounds: int, seed: int) -> np.ndarray:
    """A client that comes with probability .1 and goes with .3: there in .1 / .4 of the rounds."""
    random, there, found = np.random.default_rng(seed), False, []
    for draw in random.random(rounds):
        there = draw >= 0.3 if there else draw < 0.1
        found.append(there)
    return np.array(found)


@pytest.mark.long
def test_two_clients_of_a_known_chain_have_their_weights_within_the_stated_error() -> None:
    """Client 0 is always there, client 1 in 1/4 of the rounds: E m = (1 - q/2) e_0 + q/2 e_1.

    w <- w + a (m - w) has the mean of m: weights 7/8 and 1/8.
    """
    target, z = target_of(aggregate), []
    for seed in range(4):
        there = chain(2500, seed)
        schedule = Schedule("chain", np.stack([np.ones_like(there), there], axis=1))
        found = weights_in(target, schedule, np.ones(2), 2500)
        assert found.r2 > 0.999 and found.omega.sum() == pytest.approx(1, abs=1e-3)
        z.append((found.omega[1] - 1 / 8) / found.errors[1])
    assert np.abs(z).max() < 4
    assert 0.4 < np.sqrt(np.mean(np.square(z))) < 2


def mean_of_models(model: Any, models: Any, weights: Any) -> Any:
    return np.average(models, axis=0, weights=weights)


def test_a_model_at_rest_is_no_skipped_round() -> None:
    """With all there the mean of models comes to rest in `float32`; it uses all replies."""
    always = Schedule("always", np.ones((250, 8), bool))
    found = weights_in(target_of(mean_of_models), always, EXAMPLES, 250)
    assert (np.diff(found.trace.flat(), axis=0) == 0).all(axis=1).any() and found.skipped == 0
    np.testing.assert_allclose(found.omega, EXAMPLES / EXAMPLES.sum(), atol=1e-3)


class F3ASTServer:
    """F3AST with half of the clients a round, as in docs/own_server.md."""

    def __init__(self, beta: float) -> None:
        p = EXAMPLES / EXAMPLES.sum()
        self.strategy = F3AST.start(p, k=4, seed=0, rate_beta=beta)

    def select(self, t: int, clients: list[int]) -> list[int]:
        self.now = Round(t, np.isin(np.arange(len(EXAMPLES)), clients), RoundConstraint(4))
        self.ids = select_clients(self.strategy, self.now)
        return self.ids.tolist()

    def aggregate(self, model: Any, updates: Any, weights: Any, clients: Any) -> Any:
        delivered = np.isin(self.ids, clients)
        cohort = weigh_updates(self.strategy, self.now, self.ids, delivered)
        of_client = dict(zip(clients, updates))
        return model + sum(
            w * of_client[k] for k, w in zip(cohort.ids.tolist(), cohort.weights.tolist())
        )


@pytest.mark.long
def test_the_weights_of_f3ast_tend_to_the_shares_as_beta_falls() -> None:
    far = []
    for beta, rounds in ((0.1, 500), (0.02, 1000), (0.004, 3000)):
        masks = np.random.default_rng(0).random((rounds, 8)) < presence_of(8)
        target = target_of(F3ASTServer, {"beta": beta}, "all")
        found = weights_in(target, Schedule("independent", masks), EXAMPLES, rounds)
        far.append(found.distance)
        assert apart_of_present(found) > 0.2
    assert far[0] > far[1] > far[2] and far[2] < 0.03


def apart_of_present(found: Any) -> float:
    return float(np.abs(found.present - found.p).sum() / 2)


@pytest.mark.long
def test_a_mean_of_those_present_is_reproduced_exactly() -> None:
    target = target_of(aggregate)
    assert rule_of(target, EXAMPLES).kind == LINEAR
    for schedule in schedules(100, 8)[:8]:
        found = weights_in(target, schedule, EXAMPLES, 100)
        assert found.distance < 1e-4, schedule.name


@pytest.mark.long
def test_a_log_is_one_more_schedule() -> None:
    """Two clients by turns, one there three times as often."""
    log = np.array([[True, False], [True, False], [True, False], [False, True]])
    found = audit(aggregate, log=log, rounds=100)
    last = found.weights[-1]
    assert last.schedule == "log" and not found.wrong()
    np.testing.assert_allclose(last.omega, [0.75, 0.25], atol=0.02)
    assert "have half (" in found.sentence


@pytest.mark.parametrize("mu", [0.0, 1.0])
def test_gradients_at_rest_are_weighed_by_the_local_work(mu: float) -> None:
    """The mean of the replies is at rest where sum_k p_k s_k (b_k - w) = 0: g_k ~ p_k s_k / c_k.

    s is that of E steps played one by one.
    """
    found = gradient_weights(target_of(aggregate), EXAMPLES, 300, mu)
    assert found is not None
    s = []
    for curvature, steps in zip(found.curvatures, found.steps):
        w = 0.0
        for _ in range(int(steps)):
            w -= 0.05 * (curvature * (w - 1) + mu * w)
        s.append(w)
    expected = EXAMPLES * s / found.curvatures
    assert found.weights == pytest.approx(expected / expected.sum(), rel=1e-3)


@pytest.mark.long
def test_what_unequal_local_work_does_is_said() -> None:
    (said,) = [f for f in audit(aggregate, rounds=300).findings if "local steps" in f.found]
    assert "have 6.5 times the weight" in said.found and "term of 1: 5.5 and 0.86" in said.found


@pytest.mark.long
def test_clients_that_a_rule_never_takes_are_named() -> None:
    """The three smallest of eight, 0, 2 and 5, are taken when all are there."""

    def smallest_three(model: Any, updates: Any, weights: Any) -> Any:
        keep = np.argsort(weights, kind="stable")[:3]
        chosen, sizes = np.asarray(updates)[keep], np.asarray(weights)[keep]
        return model + np.average(chosen, axis=0, weights=sizes)

    (said,) = (f.found for f in audit(smallest_three, rounds=100).findings if "left out" in f.found)
    assert "client 1 (0.0% for 20.0%), 3 (0.0% for 15.0%), 4" in said
    assert "together 80% of the data" in said


def test_losses_are_half_the_squared_distance_from_the_optimum() -> None:
    """At 0 an optimum of length 1 costs 1/2; after a tenth of the way .9^2 / 2; update 3: 9/2."""
    goals = np.eye(2, 4)
    clients = Clients(goals, np.ones(2), rate=0.1)
    (reply,) = clients(0, 1, start_model(4))
    losses = [reply.loss, clients.loss(0, reply.model), clients.loss(1, reply.model)]
    assert losses == pytest.approx([0.5, 0.405, 0.505])
    fixed = Fixed(3 * goals, np.ones(2))
    assert fixed.loss(0, start_model(4)) == 4.5
    assert Fixed(3 * goals, np.ones(2), same_loss=True).loss(0, start_model(4)) == 1
