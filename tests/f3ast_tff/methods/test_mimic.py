"""MimiC's memory: the distance of each client's last update from the whole step."""

from __future__ import annotations

import numpy as np

from f3ast_tff.engines.host.rules_in_numpy import RulesInNumpy, updates_of
from f3ast_tff.methods.mimic import Mimic
from f3ast_tff.methods.parts.strategy import Cohort

N, SIZE = 5, 3
P = np.full(N, 1 / N)


def test_each_is_moved_by_what_it_lacked_in_its_last_round() -> None:
    """Delta = mean_S (D_k - y_k + Delta of k's last round), computed from y and those Deltas."""
    rules = RulesInNumpy(Mimic(), P, np.zeros(SIZE))
    latest, steps = np.zeros((N, SIZE)), np.zeros((N, SIZE))
    rng = np.random.default_rng(3)
    for t in range(1, 100):
        # Some clients are drawn twice, as with replacement.
        ids, weights = rng.integers(N, size=3), rng.random(3) + 0.1
        a = weights / weights.sum()
        rate = 0.9**t
        updates = (rate * rng.normal(size=(N, SIZE))).astype(np.float32)
        expected = a @ (updates[ids] / rate - latest[ids] + steps[ids])
        found, _ = rules.round(t, Cohort(ids, weights), updates_of(updates), rate)
        np.testing.assert_allclose(found / rate, expected, atol=1e-5)
        latest[ids], steps[ids] = updates[ids] / rate, expected
        np.testing.assert_allclose(rules.kept["client_offset"], steps - latest, atol=1e-5)


def test_without_clients_it_does_not_step() -> None:
    rules, updates = RulesInNumpy(Mimic(), P, np.zeros(SIZE)), np.ones((N, SIZE), np.float32)
    moves = []
    for t, ids in enumerate(([], [1, 2], []), start=1):
        cohort = Cohort(np.array(ids, int), np.ones(len(ids)))
        _, advanced = rules.round(t, cohort, updates_of(updates))
        assert advanced is not None
        moves.append(advanced.moves)
    assert moves == [False, True, False]
    np.testing.assert_array_equal(rules.model, np.ones(SIZE))
