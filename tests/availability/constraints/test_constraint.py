"""Constraints given as one word: the values refused at building and at the check of settings."""

from __future__ import annotations

from typing import Any

import pytest

from f3ast_tff.core.errors import ParameterError
from f3ast_tff.settings import builtin_registry
from f3ast_tff.settings.configuration import Settings

REGISTRY = builtin_registry()
REFUSED = {
    "cycle:": "must be cycle:K,K,...",
    "cycle:a": "must be cycle:K,K,...",
    "cycle:2,0": "must be one or more numbers, each at least 1",
    "hold:1,": "must be hold:K,K,...",
    "steps:1": "must be steps:ROUND=K,ROUND=K,...",
    "steps:2=5": "first rounds must be 1 and then increase, one for each value",
    "steps:1=5,1=6": "first rounds must be 1 and then increase, one for each value",
    "steps:1=0": "must be one or more numbers, each at least 1",
    "uniform:5": "must be uniform:LEAST:MOST",
    "uniform:9:5": "the first must be at least 1 and at most the second",
    "uniform:0:5": "the first must be at least 1 and at most the second",
    "uniform:5:61": "K must be at most num_clients, 60",
    "poisson:x": "must be poisson:MEAN",
    "poisson:nan": "the mean must be above 0 and at most 1e+18",
    "poisson:1e20": "the mean must be above 0 and at most 1e+18",
    "poisson:0": "the mean must be above 0 and at most 1e+18",
    "markov:5": "must be markov:K,K,...:MEMORY",
    "markov:2,0:0.5": "must be one or more numbers, each at least 1",
    "markov:5:1": "memory must be in [0, 1)",
    "bytes:many": "must be bytes:BUDGET,...",
    "fixed:5": "must be a number alone",
}


def config(text: str) -> Any:
    name, _, arguments = text.partition(":")
    return REGISTRY.find("constraint", name).config(arguments=arguments)


@pytest.mark.parametrize("text", REFUSED)
def test_what_is_not_allowed_is_refused_with_the_text(text: str) -> None:
    settings = {"num_clients": 60, "constraint": text}
    for refuse in (
        lambda: config(text).build(60, 7, 4),
        lambda: config(text).check(Settings.of(settings)),
    ):
        with pytest.raises(ParameterError) as error:
            refuse()
        found = error.value
        assert (found.name, found.value, found.allowed) == ("constraint", text, REFUSED[text])


def test_without_a_number_of_clients_the_form_is_checked_alone() -> None:
    config("uniform:5:61").check(Settings.of({}))
    with pytest.raises(ParameterError, match=r"constraint = uniform:x: must be uniform:LEAST"):
        config("uniform:x").check(Settings.of({"num_clients": None}))


def test_a_fixed_k_is_at_most_the_number_of_clients() -> None:
    fixed = REGISTRY.find("constraint", "fixed").config(clients_per_round=61)
    for refuse in (
        lambda: fixed.build(60, 0, 4),
        lambda: fixed.check(Settings.of({"num_clients": 60})),
    ):
        with pytest.raises(ParameterError) as error:
            refuse()
        assert str(error.value) == "clients_per_round = 61: K must be at most num_clients, 60"
    fixed.check(Settings.of({}))


@pytest.mark.parametrize("name", REGISTRY.names("constraint"))
def test_every_constraint_says_its_form(name: str) -> None:
    form = REGISTRY.find("constraint", name).about.partition(": ")[0]
    assert form == "K" if name == "fixed" else form.partition(":")[0] == name
