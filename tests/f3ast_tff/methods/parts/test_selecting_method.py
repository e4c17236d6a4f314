"""A method in one class: a declaration of parameters, and copies of it that play."""

from __future__ import annotations

from dataclasses import FrozenInstanceError, dataclass
from typing import Any

import numpy as np
import pytest

from benchmarks.tiny import tiny_data
from f3ast_tff import simulate
from f3ast_tff.core.errors import ComponentError
from f3ast_tff.methods import Cohort, Round
from f3ast_tff.methods.parts.algorithm import AlgorithmConfig, StrategyContext
from f3ast_tff.methods.parts.memory import Client, ClientInit, RoundContext, Values
from f3ast_tff.methods.parts.method import MeanOfAvailable, method
from f3ast_tff.methods.parts.selecting_method import RenewedMethod
from f3ast_tff.run.object_identity import identity_of
from f3ast_tff.settings import parameter, parameters_of
from f3ast_tff.settings.component import component_of
from tests.f3ast_tff.methods.small_world import N, played, small_world

P = np.full(N, 1 / N)


@method("fewest", "Fewest", about="clients with the fewest updates so far", client_share="equal")
@dataclass(frozen=True)
class Fewest(RenewedMethod):
    fewest_first: int = parameter(0, "updates of each client before round 1", minimum=0)

    def first_state(self, world: StrategyContext) -> dict[str, Any]:
        first = np.full(world.num_clients, self.fewest_first)
        return {"counts": first, "rounds": np.zeros((), np.int64)}

    def select(self, now: Round) -> np.ndarray:
        there = np.flatnonzero(now.available)
        return now.constraint.admit(there[np.argsort(self.kept["counts"][there], kind="stable")])

    def weigh(self, now: Round, ids: np.ndarray, delivered: np.ndarray) -> Cohort:
        self.kept["counts"][ids[delivered]] += 1
        self.kept["rounds"] += 1
        return Cohort(ids[delivered], self.p[ids[delivered]])


def test_one_class_is_config_and_strategy() -> None:
    component = component_of(Fewest)
    assert (component.kind, component.name, component.config) == ("algorithm", "fewest", Fewest)
    assert [each.name for each in parameters_of(Fewest)] == ["fewest_first"]
    assert (Fewest.client_share, AlgorithmConfig.client_share) == ("equal", "examples")


def test_copies_play_and_the_declaration_stays() -> None:
    """K = 2: clients 0 and 1, then 2 and 3. Another copy begins anew."""
    declared = Fewest(2)
    first, other = declared.build(small_world(p=P)), declared.build(small_world(p=P))
    cohorts = [played(first, t, np.ones(N, bool), 2).ids.tolist() for t in (1, 2)]
    assert cohorts == [[0, 1], [2, 3]]
    assert first.state()["counts"].tolist() == [3, 3, 3, 3, 2, 2]
    assert other.state()["counts"].tolist() == [2] * N
    assert not hasattr(declared, "kept") and not declared.plays and first.plays
    with pytest.raises(FrozenInstanceError):
        first.fewest_first = 0  # type: ignore[misc]
    with pytest.raises(ValueError, match="p sums to"):
        declared.build(small_world(p=P / 2))


def test_a_client_that_joins_starts_anew_and_the_old_strategy_stays() -> None:
    strategy = Fewest.start(P, 3, fewest_first=1)
    played(strategy, 1, np.ones(N, bool), 3)
    renewed = strategy.renewed(np.array([0.5, 0.5, 0, 0, 0, 0]), np.array([1, 2]), 0.5)
    assert renewed.state()["counts"].tolist() == [2, 1, 1, 1, 1, 1]
    assert (int(renewed.state()["rounds"]), renewed.p[0]) == (1, 0.5)
    assert strategy.state()["counts"].tolist() == [2, 2, 2, 1, 1, 1]


def test_a_run_takes_the_config_the_class_or_a_copy_that_plays() -> None:
    """The copy has arrays of its own, so nothing identifies it."""
    given: dict[str, Any] = {"rounds": 2, "clients_per_round": 2, "availability": "always"}
    data = tiny_data()
    shares = np.full(data.train.num_clients, 1 / data.train.num_clients)
    for algorithm in (Fewest, Fewest(0), Fewest.start(shares, 2)):
        result = simulate(data, algorithm, **given)
        assert sorted(result.selection["selected"][0].tolist()) == [0, 1]
    declared, playing = Fewest(0), Fewest.start(shares, 2)
    assert identity_of(declared) == identity_of(Fewest(0))
    assert identity_of(declared)[1] and not identity_of(playing)[1]
    assert identity_of(playing) != identity_of(Fewest.start(shares, 2))


def test_a_class_that_neither_selects_nor_has_rules_is_refused() -> None:
    with pytest.raises(ComponentError, match="must derive from SelectingMethod or MethodRules"):
        method("mine", about="nothing")(AlgorithmConfig)


@method("pulled", "Pulled", about="clients are pulled to their start")
@dataclass(frozen=True)
class Pulled(MeanOfAvailable):
    client_share = "examples"
    step_scale = 1

    pulled_mu: float = parameter(0.0, "mu of the pull", minimum=0)

    def client(self, client: Client, server: Values, now: RoundContext) -> ClientInit:
        return ClientInit(pull=self.pulled_mu)


def test_what_a_class_of_rules_declares_is_of_its_algorithm() -> None:
    config = Pulled.algorithm
    assert (config.client_share, config.step_scale, config.unbiased) == ("examples", 1, None)


@method("fewest_pulled", about="the fewest updates first, each client pulled to its start")
@dataclass(frozen=True)
class Both(Fewest, Pulled):
    """Selects, and has rules."""


def test_one_class_may_have_both_halves() -> None:
    """The rules have the parameters of the class and of its rules' base, not of its selection's."""
    rules = Both.rules
    assert (component_of(Both).kind, component_of(rules).kind) == ("algorithm", "aggregation")
    assert [each.name for each in parameters_of(rules)] == ["cohort_weights", "pulled_mu"]
    assert rules("mean", 0.5).memory == rules(cohort_weights="mean", pulled_mu=0.5)
    given: dict[str, Any] = {"engine": "host", "rounds": 3, "availability": "always"}
    given |= {"clients_per_round": 2}
    plain = simulate(tiny_data(), Fewest, aggregation="mean", **given)
    pulled = simulate(tiny_data(), Both, pulled_mu=5.0, **given)
    without = simulate(tiny_data(), Both, **given)
    assert pulled.selection["selected"].tolist() == plain.selection["selected"].tolist()
    apart = [np.abs(a - b).max() for a, b in zip(pulled.weights, plain.weights)]
    assert max(apart) > 1e-3
    for a, b in zip(without.weights, plain.weights):
        np.testing.assert_allclose(a, b, atol=1e-6)


@pytest.mark.parametrize(
    ("bases", "given", "wanted"),
    [
        ((MeanOfAvailable, Fewest), {}, "must derive from SelectingMethod before the base of its"),
        ((Fewest, MeanOfAvailable), {"selects": Fewest}, "must select itself, or by selects=, not"),
        ((Fewest,), {"selects": Fewest}, "must select itself, or by selects=, not"),
    ],
)
def test_halves_that_contradict_each_other_are_refused(
    bases: tuple[type, ...], given: dict[str, Any], wanted: str
) -> None:
    declared = dataclass(frozen=True)(type("Contradicts", bases, {}))
    with pytest.raises(ComponentError, match=wanted):
        method("contradicts", about="nothing", **given)(declared)


def test_a_run_takes_the_class_of_rules_too() -> None:
    """It stands for the algorithm that `method` made of it."""
    given: dict[str, Any] = {"engine": "host", "rounds": 2, "clients_per_round": 2}
    for algorithm in (Pulled, Pulled(pulled_mu=0.5), Pulled.algorithm):
        known = {} if isinstance(algorithm, Pulled) else {"pulled_mu": 0.5}
        chosen = simulate(tiny_data(), algorithm, **known, **given).configuration.settings
        assert chosen.algorithm == chosen.aggregation == "pulled" and chosen["pulled_mu"] == 0.5
