"""Attributes that a strategy may lack."""

from __future__ import annotations

import numpy as np

from f3ast_tff.methods.parts.strategy_facts import facts_of


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
