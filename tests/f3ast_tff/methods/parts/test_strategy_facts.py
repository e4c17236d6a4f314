"""Attributes that a strategy may lack."""

from __future__ import annotations

import numpy as np

from f3ast_tff.methods.parts.strategy_facts import StrategyFacts, facts_of


def test_a_strategy_without_attributes_has_the_defaults() -> None:
    assert facts_of(object()) == StrategyFacts("sum", "mean", frozenset(), None)


def test_its_own_attributes_count() -> None:
    class Means:
        aggregation, may_select, client_loss = "mean", ("unavailable",), "one_batch"

    assert facts_of(Means()) == StrategyFacts("mean", "one_batch", ("unavailable",), None)


def test_the_number_of_clients_is_the_length_of_an_array_p() -> None:
    class Plain:
        def __init__(self, p: object) -> None:
            self.p = p

    assert facts_of(Plain(np.full(4, 0.25))).num_clients == 4
    assert facts_of(Plain([0.25] * 4)).num_clients is None
