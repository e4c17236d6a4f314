"""Runs with late updates: each method, a kill and a resume, and the written files."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from f3ast_tff import simulate
from f3ast_tff.core.errors import ParameterError
from f3ast_tff.core.round_constraint import RoundConstraint
from f3ast_tff.delivery import Arrivals
from f3ast_tff.methods.f3ast import F3AST
from f3ast_tff.methods.parts.strategy import Round
from f3ast_tff.run.delivering import Payload
from f3ast_tff.run.in_flight import InFlight
from f3ast_tff.settings.registry import builtin_registry
from f3ast_tff.settings.resolve import resolve

pytestmark = pytest.mark.usefixtures("host_by_default")

SMALL: dict[str, Any] = {
    "num_clients": 12,
    "clients_per_round": 4,
    "rounds": 12,
    "eval_every": 4,
    "checkpoint_every": 2,
    "seed": 2,
    "availability": "four_classes",
    "delivery": "late",
    "late_by": "geometric",
}
GIVEN: dict[str, dict[str, Any]] = {
    "poc": {"poc_candidates": 6},
    "fedavg_then_fedlaavg": {"switch_round": 5},
    "fedbuff": {"buffer_size": 4},
    "fadas": {"buffer_size": 4},
    "f3ast": {"rates_follow": "both"},
    "f3ast_fixed": {"policy_states": 200},
    "amplified_fedavg": {"amplified_period": 3},
}
REFUSED = (
    *("scaffold", "amplified_scaffold", "focus", "fedawe", "fedprox", "feddyn", "feddc"),
    *("oort_loss", "sequential_sgd", "fedasync"),
)


def refusal(algorithm: str) -> ParameterError | None:
    """Why a method does not go with late updates, if it does not."""
    try:
        resolve({"algorithm": algorithm, **SMALL, **GIVEN.get(algorithm, {})})
    except ParameterError as error:
        return error
    return None


REFUSALS = {name: refusal(name) for name in builtin_registry().names("algorithm")}


@pytest.mark.parametrize("algorithm", [name for name, error in REFUSALS.items() if error])
def test_a_method_that_cannot_be_late_says_so(algorithm: str) -> None:
    error = REFUSALS[algorithm]
    assert error is not None and error.name in ("delivery", "availability")
    assert "must " in error.allowed and algorithm in error.allowed
    assert algorithm in REFUSED or "clients start from" in error.allowed


def test_these_cannot_be_late() -> None:
    assert all(REFUSALS[algorithm] for algorithm in REFUSED)


@pytest.mark.parametrize("algorithm", [name for name, error in REFUSALS.items() if not error])
def test_every_method_that_can_be_late_runs(algorithm: str) -> None:
    """Each selected client enters, is lost, or is in flight; no client is asked while in flight."""
    found = simulate(algorithm=algorithm, **{**SMALL, **GIVEN.get(algorithm, {})})
    record = found.selection
    asked, entered = record["num_selected"].sum(), record["num_delivered"].sum()
    assert asked - entered - record["late_lost"].sum() >= record["in_flight"][-1] >= 0
    if algorithm not in ("fedavg", "fedadam", "fedavg_then_fedlaavg", "fedavg_in_time"):
        # No client is drawn twice in a round.
        assert asked - entered - record["late_lost"].sum() == record["in_flight"][-1]
    assert found.summary["lost_updates"] == record["late_lost"].sum()
    assert all(np.isfinite(weight).all() for weight in found.weights)
    late = record["late_clients"] >= 0
    rounds = np.arange(1, 13)[:, None]
    assert (record["late_asked_in"][late] < np.broadcast_to(rounds, late.shape)[late]).all()
    assert late.any() == (algorithm != "fedavg_in_time")


def test_what_is_written_of_staleness(tmp_path: Path) -> None:
    """Each update is two rounds late: staleness 2 from round 3 on, with 8 updates in flight."""
    given = {"late_by": "fixed", "late_rounds": 2.0, "eval_every": 1, "availability": "always"}
    simulate(algorithm="uniform", folder=tmp_path / "run", **{**SMALL, **given})
    with open(tmp_path / "run" / "metrics.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["mean_staleness"] for row in rows[:4]] == ["nan", "nan", "2.0", "2.0"]
    assert [row["max_staleness"] for row in rows[2:]] == ["2.0"] * 10
    assert [row["num_in_flight"] for row in rows[:4]] == ["4", "8", "8", "8"]
    assert [row["num_delivered"] for row in rows[:4]] == ["0", "0", "4", "4"]


@pytest.mark.parametrize("algorithm", ["f3ast", "uniform", "mifa", "mimic"])
def test_with_no_delay_it_is_certain_delivery(algorithm: str) -> None:
    """Selection and weights agree bit for bit, models up to the order of sums."""
    small = {name: value for name, value in SMALL.items() if name not in ("delivery", "late_by")}
    given = {"algorithm": algorithm, "late_by": "fixed", "late_rounds": 0.0}
    late = simulate(**{**SMALL, **given})
    certain = simulate(algorithm=algorithm, **small)
    for name in ("selected", "weights", "delivered", "bytes_up", "num_available"):
        np.testing.assert_array_equal(late.selection[name], certain.selection[name])
    for one, other in zip(late.weights, certain.weights):
        np.testing.assert_allclose(one, other, atol=1e-6)


@pytest.mark.parametrize("follow", ["delivered", "selected"])
def test_rates_of_f3ast_follow_what_they_say(follow: str) -> None:
    """Rates follow the clients asked in the round, or the clients whose update enters then."""
    given = {"rates_follow": follow, "rate_beta": 0.1, "rate_init": "k_over_n"}
    found = simulate(algorithm="f3ast", **{**SMALL, **given}).selection
    rates = np.full(12, 4 / 12)
    for t in range(12):
        here = found["selected"][t][found["selected"][t] >= 0]
        if follow == "delivered":
            now = found["selected"][t][found["delivered"][t]]
            here = np.concatenate([now, found["late_clients"][t][found["late_clients"][t] >= 0]])
        rates = 0.9 * rates
        rates[here] += 0.1
    np.testing.assert_allclose(found["final_rates"], rates, rtol=1e-12)


@pytest.mark.long
@pytest.mark.parametrize("follow", ["delivered", "selected"])
def test_weights_of_f3ast_make_up_for_a_slow_client_by_hand(follow: str) -> None:
    """Two clients, always available, K = 2, p = 1/2, tau = 0 and 3: r = (1, 1/4).

    Client 1 is asked in rounds 1, 5, ... and enters in rounds 4, 8, ... So p / r is 1/2 for client
    0, and 2 in one round of four for client 1. The second rate moves around 1/4 by at most
    beta / 2, 1% of it, so its weights are within 2% of 2.
    """

    class TwoSpeeds:
        is_late = True

        def arrivals(self, round_number: int, ids: np.ndarray) -> Arrivals:
            everybody, none = np.ones(len(ids), bool), np.full(len(ids), np.nan)
            return Arrivals(everybody, none, np.nan, rounds=np.array([0, 3])[ids])

    strategy = F3AST.start([0.5, 0.5], 2, rate_beta=0.005, rates_follow=follow)
    flying, there, weights = InFlight(), np.ones(2, bool), np.zeros((2000, 2))
    for t in range(1, 2001):
        now = Round(t, flying.free(there, t), RoundConstraint(2))
        done = flying.deliver(TwoSpeeds(), strategy, Payload(), now, strategy.select(now), [], 2)
        weights[t - 1, done.cohort.ids] = done.cohort.weights
    assert (weights[-400:, 1] > 0).reshape(-1, 4).sum(axis=1).tolist() == [1] * 100
    np.testing.assert_allclose(weights[-400:].mean(axis=0), [0.5, 0.5], rtol=0.02)


@pytest.mark.slow
@pytest.mark.tff
@pytest.mark.parametrize("algorithm", ["f3ast", "fedbuff", "fadas", "mifa", "fedvarp"])
def test_engines_agree(algorithm: str) -> None:
    given = {"algorithm": algorithm, **SMALL, **GIVEN.get(algorithm, {})}
    fused, tff = (simulate(engine=engine, **given) for engine in ("fused", "tff"))
    for one, other in zip(fused.weights, tff.weights):
        np.testing.assert_allclose(one, other, atol=1e-5)
    for name in ("train_loss", "update_norm", "test_sample_loss", "mean_staleness"):
        np.testing.assert_allclose(fused.metrics[name], tff.metrics[name], atol=1e-5)


class TwoRounds:
    """A delivery of one's own: each update enters two rounds later."""

    is_late = True

    def arrivals(self, round_number: int, ids: np.ndarray) -> Arrivals:
        m = len(ids)
        two = np.full(m, 2)
        return Arrivals(np.ones(m, bool), np.full(m, np.nan), float("nan"), rounds=two)


@pytest.mark.parametrize("algorithm", ["fedbuff", "aced", "fedavg_in_time"])
def test_a_late_delivery_of_ones_own_is_late(algorithm: str) -> None:
    """As `late` with fixed delays, bit for bit, also for methods of late updates alone."""
    given = {**SMALL, **GIVEN.get(algorithm, {}), "algorithm": algorithm, "late_by": "fixed"}
    late = simulate(**given, late_rounds=2)
    own = {n: v for n, v in given.items() if n not in ("delivery", "late_by")}
    found = simulate(**own, delivery=TwoRounds())
    assert found.selection["late_weights"].any() == (algorithm != "fedavg_in_time")
    for one, other in zip(found.weights, late.weights):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"private": "head"}, "must not be late with private=head"),
        ({"algorithm": "poc", "poc_loss": "training_loss"}, "must be mean with delivery"),
        ({"algorithm": "fedasync"}, "must be asynchronous with algorithm fedasync"),
    ],
    ids=str,
)
def test_what_late_updates_refuse_refuses_ones_own(given: dict[str, Any], says: str) -> None:
    common = {name: value for name, value in SMALL.items() if name != "late_by"}
    with pytest.raises(ParameterError, match=says):
        simulate(**{**common, "delivery": TwoRounds(), **given})
