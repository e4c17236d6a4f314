"""Cohorts, and the losses of a round."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from f3ast_tff.core.errors import ComponentError, ParameterError
from f3ast_tff.core.randomness import generator
from f3ast_tff.core.round_constraint import RoundConstraint
from f3ast_tff.methods.parts.strategy import (
    BaseStrategy,
    Cohort,
    Losses,
    Outcome,
    Round,
    facts_of,
    participation_rates,
)
from tests.f3ast_tff.methods.small_world import Spy


def test_length_is_the_number_of_clients() -> None:
    assert len(Cohort(np.array([3, 1, 3]), np.ones(3))) == 3
    assert len(Cohort(np.zeros(0, np.int64), np.zeros(0))) == 0


TWO = np.arange(2)


@pytest.mark.parametrize(
    ("kind", "columns", "says"),
    [
        (Cohort, (np.arange(3), np.zeros(2)), r"must be \[m\]"),
        (Cohort, (np.arange(3), np.zeros((3, 1))), r"must be \[m\]"),
        (Cohort, (np.zeros((3, 1), int), np.zeros((3, 1))), r"must be \[m\]"),
        (Cohort, (TWO, [0.5, 0.5]), r"weights must be an array \[m\], not list"),
        (Cohort, ([0, 1], np.ones(2)), r"^ids must be an array \[m\], not list"),
        (Outcome, (TWO, np.array([1, 0]), np.ones(2)), "delivered has dtype int64: must be bool"),
        (Outcome, (TWO, [True, False], np.ones(2)), r"delivered must be an array \[m\], not list"),
        (
            Outcome,
            (TWO, np.ones(3, bool), np.ones(2)),
            r"delivered \(3,\) and losses \(2,\) must be",
        ),
        (Outcome, (TWO, np.ones(2, bool), np.ones(0)), r"losses \(0,\) must be \[m\], of one len"),
    ],
)
def test_other_columns_are_refused(kind: Any, columns: tuple[Any, ...], says: str) -> None:
    with pytest.raises(ValueError, match=says):
        kind(*columns)


def a_round(losses: Losses) -> Round:
    return Round(1, np.ones(3, bool), RoundConstraint(2), losses)


def test_the_same_clients_are_asked_once() -> None:
    spy = Spy([0.5, 1.0, 2.0])
    now = a_round(spy)
    asked = [now.losses(np.array(ids)).tolist() for ids in ([0, 2], [2, 1], [0, 2])]
    assert asked == [[0.5, 2.0], [2.0, 1.0], [0.5, 2.0]]
    assert spy.asked == [[0, 2], [2, 1]]


@pytest.mark.parametrize(
    ("answer", "given"),
    [
        (np.ones(3), r"shape \[3\] of float64"),
        ([1.0, 1.0], r"shape \[2\] of list"),
        (None, "NoneType"),
        (np.array([1j, 2.0]), r"shape \[2\] of complex128"),
        (np.array(["1", "2"]), r"shape \[2\] of <U1"),
        (np.array([1.0, None]), r"shape \[2\] of object"),
    ],
)
def test_an_answer_that_is_not_a_loss_per_client_is_refused(answer: Any, given: str) -> None:
    told = rf"losses = {given}: must return an array of shape \[2\], a loss per client asked"
    with pytest.raises(ParameterError, match=told):
        a_round(lambda ids: answer).losses(np.array([0, 1]))


@pytest.mark.parametrize("name", ["number", "request"])
def test_a_round_is_numbered_from_0(name: str) -> None:
    with pytest.raises(ParameterError, match=f"{name} = -1: must be"):
        replace(a_round(Spy([])), **{name: -1})  # type: ignore[arg-type]


def test_draws_are_of_the_round_and_of_the_request() -> None:
    """A first request draws as a round without requests, so that recorded runs repeat."""
    now = a_round(Spy([]))
    draws = [replace(now, request=request).generator(seed=5).random() for request in (0, 1, 2)]
    assert draws[0] == generator(5, "selection", 1).random()
    assert len(set(draws)) == 3


class Rated(BaseStrategy):
    """Tells given rates."""

    def __init__(self, rates: Any) -> None:
        self.rates = rates

    def participation_rates(self) -> Any:
        return self.rates


def test_rates_are_told_by_strategies_that_track_them() -> None:
    told = participation_rates(Rated([1, 0]), 2)
    assert told is not None and told.dtype == np.float64 and told.tolist() == [1, 0]
    assert participation_rates(Rated(None), 2) is None
    without: Any = object()
    assert participation_rates(without, 2) is None
    with pytest.raises(ComponentError, match=r"Rated: .* shape \(2,\): must be \(3,\)"):
        participation_rates(Rated([1, 0]), 3)


def test_a_strategy_without_attributes_has_the_defaults() -> None:
    facts = facts_of(object())
    assert (facts.aggregation, facts.client_loss) == ("sum", "mean")
    assert not facts.may_select and facts.num_clients is None
    assert facts.participation_rates() is None


def test_its_own_attributes_count() -> None:
    class Means:
        aggregation, may_select, client_loss = "mean", ("unavailable",), "one_batch"

    facts = facts_of(Means())
    found = facts.aggregation, facts.client_loss, facts.may_select
    assert found == ("mean", "one_batch", ("unavailable",))


def test_the_number_of_clients_is_the_length_of_an_array_p() -> None:
    class Plain:
        def __init__(self, p: object) -> None:
            self.p = p

    assert facts_of(Plain(np.full(4, 0.25))).num_clients == 4
    assert facts_of(Plain([0.25] * 4)).num_clients is None
