"""Constraints as one word."""

from __future__ import annotations

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
from f3ast_tff.errors import SettingError


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
    assert constraint_from_text(text, 60, seed=7) == expected


def test_a_budget_needs_sizes() -> None:
    found = constraint_from_text("bytes:5e6,10", 2, 0, np.array([3, 4]))
    assert isinstance(found, ByteBudget)
    assert found.budgets == (5_000_000, 10)
    with pytest.raises(SettingError, match="--communication=bytes:10: no sizes"):
        constraint_from_text("bytes:10", 2, 0)


@pytest.mark.parametrize(
    "text",
    ["", "ten", "1,2", "cycle:", "cycle:a", "steps:1", "uniform:5", "poisson:x", "markov:5", "x:1"],
)
def test_what_has_no_form_is_refused_and_the_forms_are_named(text: str) -> None:
    with pytest.raises(SettingError, match=f"--communication={text}: must be one of: K, cycle:"):
        constraint_from_text(text, 60, 0)


@pytest.mark.parametrize(
    ("text", "allowed"),
    [
        ("0", "at least 1"),
        ("61", "at most num_clients, 60"),
        ("uniform:5:61", "at most num_clients, 60"),
        ("uniform:9:5", "at most the second"),
        ("poisson:nan", "above 0 and finite"),
        ("markov:5:1", r"memory must be in \[0, 1\)"),
        ("steps:2=5", "first rounds must be 1"),
    ],
)
def test_a_value_that_is_not_allowed_is_refused_with_the_text(text: str, allowed: str) -> None:
    with pytest.raises(SettingError, match=f"--communication={text}: .*{allowed}"):
        constraint_from_text(text, 60, 0)
