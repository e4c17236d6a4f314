"""Effects of a log on FedAvg and F3AST."""

from __future__ import annotations

import sys

import numpy as np
import pytest

from f3ast_tff.advice.plan import plan, total_variation, trained_by_fedavg


def test_what_fedavg_trains() -> None:
    """Client 0 is alone in round 1 and weighs 1; in round 2 it weighs p_0 / (p_0 + p_1) = 1 / 4.

    Round 3 trains no client.
    """
    masks = np.array([[1, 0], [1, 1], [0, 0]], bool)
    found = trained_by_fedavg(masks, np.array([0.25, 0.75]))
    np.testing.assert_allclose(found, [5 / 8, 3 / 8])
    assert total_variation(np.array([0.25, 0.75]), found) == pytest.approx(3 / 8)


@pytest.mark.long
@pytest.mark.parametrize(("objective", "bound"), [("p", 2.0), ("p_squared", 1.0)])
def test_two_clients_who_take_turns(objective: str, bound: float) -> None:
    """Each is available every second round: r* = (1/2, 1/2), H = 2 (1/2) / (1/2), 2 (1/4) / (1/2).

    If both were always available, K = 1 would give the same rates and H.
    """
    masks = np.array([[1, 0], [0, 1]] * 20, bool)
    found = plan(masks, np.full(2, 0.5), 1, objective)
    np.testing.assert_allclose(found.rates, 0.5)
    assert found.bound == pytest.approx(bound)
    assert found.bound_if_always == pytest.approx(found.bound)
    assert found.short_rounds == 0
    assert found.largest_weight == pytest.approx(1.0)
    assert found.bias_later < 0.01


@pytest.mark.long
def test_f3ast_removes_the_bias_of_fedavg() -> None:
    """Half of the clients are online in 9 rounds of 10, the other half in 3."""
    q = np.repeat([0.9, 0.3], 10)
    masks = np.random.default_rng(0).random((500, 20)) < q
    p = np.full(20, 0.05)
    found = plan(masks, p, 3, "p_squared")
    assert total_variation(p, trained_by_fedavg(masks, p)) > 0.2
    assert found.bias_later < 0.02
    assert found.rates.sum() == pytest.approx(3, abs=0.05)
    assert plan(masks, p, 15, "p_squared").short_rounds > 0.5


@pytest.mark.long
@pytest.mark.parametrize("most", [10**6, 5000])
def test_a_rare_client_of_a_long_log_keeps_its_share_of_rounds(
    monkeypatch: pytest.MonkeyPatch, most: int
) -> None:
    """With K = N every r*_k is k's share of rounds online, also if most rounds are left out.

    `most` limits rounds times clients.
    """
    monkeypatch.setattr(sys.modules[plan.__module__], "_MAX_STATES", most)
    masks = np.ones((1000, 20), bool)
    masks[:, 0] = False
    masks[[501, 777], 0] = True
    found = plan(masks, np.full(20, 0.05), 20, "p_squared")
    np.testing.assert_allclose(found.rates, masks.mean(axis=0))
    assert found.rounds_used == (1000 if most == 10**6 else pytest.approx(251, abs=1))
