"""Each component, when made, refuses the values that its declarations exclude."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from f3ast_tff.core.errors import ParameterError
from f3ast_tff.settings import Parameter, builtin_registry, parameters_of
from f3ast_tff.settings.groups import GROUPS
from f3ast_tff.settings.resolve import resolve


def refused(parameter: Parameter) -> Iterator[Any]:
    """Yields a value beyond each bound, and values of another type."""
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
    if parameter.kind in (int, float):
        yield from (float("nan"), float("inf"), -float("inf"))
    yield 1 if parameter.kind is str else "text"


# Objects made from settings: a component, or else a configuration.
MAKERS: dict[str, tuple[type, Callable[..., Any]]] = {
    **{f"{c.kind}-{c.name}": (c.config, c.config) for c in builtin_registry().all()},
    **{name: (group, lambda **given: resolve(given)) for name, group in GROUPS.items()},
}


@pytest.mark.parametrize("name", MAKERS)
def test_a_value_that_is_not_allowed_is_refused(name: str) -> None:
    """NaN compares false with each bound, so a careless declaration would let it through."""
    config, make = MAKERS[name]
    for parameter in parameters_of(config):
        for value in refused(parameter):
            with pytest.raises(ParameterError, match=f"^{parameter.name} = {value}: must"):
                make(**{parameter.name: value})
        for choice in parameter.choices:
            assert parameter.checked(choice.upper()) == choice


def test_values_take_their_canonical_form() -> None:
    config = builtin_registry().find("availability", "four_classes").config
    made = config(markov_g=0, markov_order="Blocks")
    assert (type(made.markov_g), made.markov_order) == (float, "blocks")
