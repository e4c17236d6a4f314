"""Rules for selected clients: available, each once, within the constraint."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from f3ast_tff.availability.round_clients import available_clients
from f3ast_tff.core.errors import ComponentError, ParameterError
from f3ast_tff.core.rates import ParticipationRates
from f3ast_tff.methods import BaseStrategy, Outcome, Round, RoundConstraint
from f3ast_tff.methods.f3ast import F3AST
from f3ast_tff.methods.fedau import FedAU
from f3ast_tff.methods.fedavg import FedAvg, Uniform
from f3ast_tff.methods.fedlaavg import Switching
from f3ast_tff.methods.oort_loss import OortLoss
from f3ast_tff.methods.parts.all_available import AllAvailable
from f3ast_tff.methods.parts.wrappers import Separated
from f3ast_tff.methods.power_of_choice import PowerOfChoice
from f3ast_tff.run.given_objects import check_observes, check_repeats
from f3ast_tff.run.selecting import select_clients, weigh_updates

N = 12
AVAILABLE = np.arange(N) < 8
P = np.full(N, 1 / N)
NUMBER = RoundConstraint(3)
BYTES = RoundConstraint(9, cost=np.full(N, 2.0), budget=5.0)
GROUPS = RoundConstraint(3, group=np.zeros(N, int), minimum=np.array([2]))


class Returns(BaseStrategy):
    """Returns the given ids."""

    def __init__(self, *ids: int) -> None:
        self.ids = np.array(ids, np.int64)

    def select(self, now: Round) -> np.ndarray:
        return self.ids


# Ids, the constraint, the broken rule, and the message.
REFUSED: dict[str, tuple[tuple[int, ...], RoundConstraint, str, str]] = {
    "one_away": ((0, 9), NUMBER, "unavailable", "client 9, not available in this round"),
    "many_away": (
        (8, 9, 10, 11, 8, 9, 10),
        RoundConstraint(9),
        "unavailable",
        "clients 8, 9, 10, 11, 8 and 2 more, not available in this round",
    ),
    "twice": ((4, 4), NUMBER, "repeated", "client 4 more than once"),
    "four": ((0, 1, 2, 3), NUMBER, "too_many", "4 clients: must be at most 3"),
    "cost": ((0, 1, 2), BYTES, "too_many", "clients of cost 6: must be at most 5"),
}


@pytest.mark.parametrize(("ids", "constraint", "rule", "says"), REFUSED.values(), ids=REFUSED)
def test_a_selection_against_the_rules_is_refused_unless_the_class_says_that_it_may(
    ids: tuple[int, ...], constraint: RoundConstraint, rule: str, says: str
) -> None:
    now = Round(7, AVAILABLE, constraint)
    with pytest.raises(ComponentError) as caught:
        select_clients(Returns(*ids), now)
    assert str(caught.value) == f"algorithm Returns: select in round 7 returned {says}"

    class May(Returns):
        may_select = frozenset({"unavailable", "repeated", "too_many"})

    assert select_clients(May(*ids), now).tolist() == list(ids)
    May.may_select = frozenset({"unavailable", "repeated", "too_many"} - {rule})
    with pytest.raises(ComponentError, match="algorithm May: select in round 7"):
        select_clients(May(*ids), now)


@pytest.mark.parametrize(
    ("ids", "constraint"), [((), NUMBER), ((7, 0, 3), NUMBER), ((1, 2), BYTES), ((5,), GROUPS)]
)
def test_what_keeps_to_the_rules_passes(ids: tuple[int, ...], constraint: RoundConstraint) -> None:
    """A method may exclude clients of a group with a minimum of 2, as CA-Fed does."""
    now = Round(1, AVAILABLE, constraint)
    assert select_clients(Returns(*ids), now).tolist() == list(ids)


def test_masks_without_a_seed_are_refused() -> None:
    rng = np.random.default_rng(0)
    process = SimpleNamespace(mask=lambda round_number: rng.random(50) < 0.5)
    with pytest.raises(
        ComponentError, match="two results: it must be a function of seed and round"
    ):
        check_repeats("availability", process, lambda t: available_clients(process, 50, t))


def test_an_observe_that_nobody_would_call_is_refused() -> None:
    class Learns(Returns):
        def observe(self, round_number: int, outcome: Outcome) -> None:
            self.ids = outcome.ids

    with pytest.raises(ComponentError, match="Learns: has an observe, which is only called with"):
        check_observes(Learns(0))
    Learns.needs_outcome = True
    check_observes(Learns(0))


def test_masks_that_are_none_are_refused() -> None:
    """NumPy would take zeros and ones as ids of clients."""
    strategy, ids = FedAvg.start(P, 1), np.array([3, 1])
    masks: list[Any] = [AVAILABLE.astype(int), np.array([1, 3]), AVAILABLE[None], AVAILABLE[1:]]
    for available in (*masks, AVAILABLE.tolist()):
        with pytest.raises(
            ParameterError, match=r"available = .*: must be an array of bool \[12\]"
        ):
            select_clients(strategy, Round(1, available, NUMBER))
    others: list[Any] = [np.array([0, 1]), np.array([True]), [True, False]]
    for delivered in others:
        with pytest.raises(ParameterError, match=r"delivered = .*: must be an array of bool \[2\]"):
            weigh_updates(strategy, Round(1, AVAILABLE, NUMBER), ids, delivered)


def test_no_ids_of_any_type_is_an_empty_round() -> None:
    strategy = Returns()
    strategy.ids = np.array([])
    assert len(select_clients(strategy, Round(1, AVAILABLE, NUMBER))) == 0


def f3ast(fill: bool) -> F3AST:
    return F3AST.tracking(
        P, ParticipationRates(P, 0.1), short_rounds="fill_unavailable" if fill else "available_only"
    )


def test_a_method_says_what_its_variant_may() -> None:
    """Drawing with replacement repeats clients; the released F3AST adds absent clients."""
    assert f3ast(True).may_select == {"unavailable"}
    assert f3ast(False).may_select == frozenset()
    assert FedAvg.start(P, 1).may_select == {"repeated"}
    assert FedAvg.start(P, 1, baseline_sampling="without_replacement").may_select == frozenset()
    assert PowerOfChoice.start(P, 1, poc_pool="with_replacement").may_select == {"repeated"}
    assert Separated(f3ast(True), 2, N).may_select == {"unavailable"}
    first = FedAvg.start(P, 1)
    assert Switching.start(P, 1, switch_round=5).may_select == {"repeated"}
    few = Round(1, np.arange(N) == 0, RoundConstraint(3))
    assert select_clients(f3ast(True), few).tolist() == [0, 1, 2]
    assert select_clients(first, few).tolist() == [0, 0, 0]


@pytest.mark.parametrize(
    ("ids", "says"),
    [
        ([0, 0], "has client 0 more than once"),
        ([11, -1], r"has client -1: must be in 0 \.\. 11"),
        ([0], "has client 0, not available in this round"),
        ([1, 2, 3, 4], "has 4 clients: must be at most 3"),
        ([0.5], "has ids of dtype float64: must be integers"),
    ],
)
def test_clients_that_were_not_selected_are_not_weighed(ids: list[Any], says: str) -> None:
    """A retry or a late reply in a server of one's own; the rates stay."""
    strategy = F3AST.start(P, 3)
    before = strategy.state()
    there = np.arange(N) > 0 if ids == [0] else np.ones(N, bool)
    with pytest.raises(ParameterError, match=says):
        weigh_updates(
            strategy, Round(1, there, RoundConstraint(3)), np.array(ids), np.ones(len(ids), bool)
        )
    np.testing.assert_array_equal(strategy.state()["rates"], before["rates"])


@pytest.mark.parametrize(
    "losses", [lambda ids: np.ones(N + 1), lambda ids: None, lambda ids: 1.0], ids=["N", "no", "1"]
)
def test_losses_are_one_per_client_asked(losses: Any) -> None:
    now = Round(1, np.ones(N, bool), RoundConstraint(3), losses)
    with pytest.raises(ParameterError, match=r"losses = .*: must return an array of shape \["):
        select_clients(PowerOfChoice.start(P, 3), now)


TWELVE = "must have the 12 clients"


@pytest.mark.parametrize(
    ("method", "p", "joined", "rate", "error", "says"),
    [
        (F3AST, P, [0], np.nan, ParameterError, "initial_rate = nan: must be in"),
        (F3AST, P, [0], 0.0, ParameterError, "initial_rate = 0.0: must be in"),
        (F3AST, P, [-1], 0.5, ParameterError, r"joined = .*: must be clients, 0 \.\. 11"),
        (
            F3AST,
            P[1:] * 12 / 11,
            [0],
            0.5,
            ParameterError,
            rf"p = shape \[11\]: {TWELVE} of before",
        ),
        *[
            (method, *given)
            for method in (PowerOfChoice, FedAvg, Uniform, AllAvailable, FedAU)
            for given in (
                (np.full(2, 0.5), [0], 0.5, ParameterError, rf"p = shape \[2\]: {TWELVE}"),
                (P / 2, [0], 0.5, ValueError, "must sum to 1"),
            )
        ],
    ],
)
def test_clients_join_with_shares_and_rates_that_make_sense(
    method: Any, p: np.ndarray, joined: list[int], rate: float, error: type[Exception], says: str
) -> None:
    with pytest.raises(error, match=says):
        method.start(P, 3).renewed(p, np.array(joined), rate)
    assert isinstance(method.start(P, 3).renewed(P.tolist(), np.array([2]), 0.5), method)


def test_sizes_are_one_per_client() -> None:
    with pytest.raises(ParameterError, match=r"sizes = shape \[4\]: must be \[12\]"):
        OortLoss.start(P, 3, sizes=np.ones(4))


def test_a_state_of_more_than_the_method_keeps_is_refused() -> None:
    saved = F3AST.start(P, 3, rates_follow="both").state()
    with pytest.raises(ValueError, match="unexpected saved state: selected_"):
        F3AST.start(P, 3).restore(saved)
