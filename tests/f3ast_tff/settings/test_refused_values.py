"""Every component refuses, when it is made, the values that its declarations exclude."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from f3ast_tff.core.errors import ParameterError
from f3ast_tff.settings import Parameter, builtin_registry


def refused(parameter: Parameter) -> Iterator[Any]:
    """Yields a value on the wrong side of each bound, and values of another kind."""
    if parameter.minimum is not None:
        yield parameter.kind(parameter.minimum - 1)
    if parameter.above is not None:
        yield parameter.kind(parameter.above)
    if parameter.maximum is not None:
        yield parameter.kind(parameter.maximum + 1)
    if parameter.below is not None:
        yield parameter.kind(parameter.below)
    if parameter.choices:
        yield "none of these"
    if parameter.kind is float:
        yield from (float("nan"), float("inf"))
    yield 1 if parameter.kind is str else "text"


CASES = [
    (component, parameter, value)
    for component in builtin_registry().all()
    for parameter in component.parameters
    for value in refused(parameter)
]


@pytest.mark.parametrize(
    ("component", "parameter", "value"),
    CASES,
    ids=[f"{c.kind}-{c.name}-{p.name}-{v}" for c, p, v in CASES],
)
def test_a_value_that_is_not_allowed_is_refused(
    component: Any, parameter: Parameter, value: Any
) -> None:
    with pytest.raises(ParameterError, match=f"^{parameter.name} = {value}: must"):
        component.config(**{parameter.name: value})


def test_values_take_their_canonical_form() -> None:
    config = builtin_registry().find("availability", "four_classes").config
    made = config(markov_g=0, markov_order="Blocks")
    assert (type(made.markov_g), made.markov_order) == (float, "blocks")
