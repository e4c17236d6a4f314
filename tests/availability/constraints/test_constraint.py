"""Constraints as one word, and their configurations."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest

from f3ast_tff.availability import (
    ByteBudget,
    CommunicationConstraint,
    FixedK,
    MarkovK,
    PoissonK,
    Schedule,
    Steps,
    UniformK,
    constraint_from_text,
)
from f3ast_tff.core.errors import ParameterError
from f3ast_tff.settings import builtin_registry

REGISTRY = builtin_registry()
REFUSED = [
    *(
        (text, "must be " + form)
        for text, form in (
            ("cycle:", "cycle:K,K,..."),
            ("cycle:a", "cycle:K,K,..."),
            ("hold:1,", "hold:K,K,..."),
            ("steps:1", "steps:ROUND=K,ROUND=K,..."),
            ("uniform:5", "uniform:LEAST:MOST"),
            ("poisson:x", "poisson:MEAN"),
            ("markov:5", "markov:K,K,...:MEMORY"),
            ("bytes:many", "bytes:BUDGET,..."),
        )
    ),
    ("cycle:2,0", "must be one or more numbers, each at least 1"),
    ("uniform:9:5", "the first must be at least 1 and at most the second"),
    ("uniform:5:61", "K must be at most num_clients, 60"),
    ("poisson:nan", "the mean must be above 0 and finite, the maximum at least 1"),
    ("markov:5:1", "memory must be in [0, 1)"),
    ("steps:2=5", "first rounds must be 1 and then increase, one for each value"),
    ("fixed:5", "must be a number alone"),
]


def built(text: str, num_clients: int = 60, update_bytes: int = 4) -> CommunicationConstraint:
    return constraint_from_text(text, num_clients, 7, REGISTRY, update_bytes)


def config(text: str) -> Any:
    name, _, arguments = text.partition(":")
    made = REGISTRY.find("communication", name).config()
    return dataclasses.replace(made, arguments=arguments)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("10", FixedK(10)),
        ("cycle:5,10", Schedule((5, 10))),
        ("hold:5,10", Schedule((5, 10), "hold")),
        ("steps:1=10,100=50", Steps((1, 100), (10, 50))),
        ("uniform:5:20", UniformK(5, 20, 7)),
        ("poisson:10", PoissonK(10.0, 60, 7)),
        ("markov:5,10:0.9", MarkovK((5, 10), 0.9, 7)),
    ],
)
def test_each_form(text: str, expected: CommunicationConstraint) -> None:
    assert built(text) == expected


def test_a_budget_needs_sizes() -> None:
    found = built("bytes:5e6,10", 2, 4)
    assert isinstance(found, ByteBudget)
    assert (found.budgets, found.sizes.tolist()) == ((5_000_000, 10), [4, 4])
    with pytest.raises(ParameterError, match="communication = bytes:10: no sizes"):
        built("bytes:10", update_bytes=0)
    with pytest.raises(ParameterError, match="communication = bytes:10: .*largest update, 40"):
        built("bytes:10", update_bytes=40)


@pytest.mark.parametrize(("text", "allowed"), REFUSED)
def test_what_is_not_allowed_is_refused_with_the_text(text: str, allowed: str) -> None:
    """When it is built, and before, when settings are checked."""
    settings = {"num_clients": 60, "communication": text}
    for refuse in (lambda: built(text), lambda: config(text).check(settings)):
        with pytest.raises(ParameterError) as error:
            refuse()
        found = error.value
        assert (found.name, found.value, found.allowed) == ("communication", text, allowed)


def test_without_a_number_of_clients_the_form_is_checked_alone() -> None:
    config("uniform:5:61").check({})
    with pytest.raises(ParameterError, match=r"communication = uniform:x: must be uniform:LEAST"):
        config("uniform:x").check({"num_clients": None})


@pytest.mark.parametrize("text", ["", "ten", "1,2", "x:1", "-3"])
def test_what_names_no_constraint_is_refused(text: str) -> None:
    with pytest.raises(ParameterError, match="must be one of fixed, cycle, hold"):
        built(text)


def test_a_fixed_k_is_at_most_the_number_of_clients() -> None:
    with pytest.raises(ParameterError, match="communication = 61: must be at most num_clients, 60"):
        built("61")
    with pytest.raises(ParameterError, match="communication = 0: must be at least 1"):
        built("0")
    fixed = REGISTRY.find("communication", "fixed").config(clients_per_round=61)
    for refuse in (lambda: fixed.build(60, 0, 4), lambda: fixed.check({"num_clients": 60})):
        with pytest.raises(ParameterError) as error:
            refuse()
        assert str(error.value) == "clients_per_round = 61: must be at most num_clients, 60"
    fixed.check({})


@pytest.mark.parametrize("name", REGISTRY.names("communication"))
def test_every_constraint_says_its_form(name: str) -> None:
    component = REGISTRY.find("communication", name)
    assert component.about.startswith(component.config.form + ": ")


def test_a_budget_is_that_of_the_model() -> None:
    np.testing.assert_array_equal(config("bytes:90").build(3, 0, 30).sizes, [30, 30, 30])
