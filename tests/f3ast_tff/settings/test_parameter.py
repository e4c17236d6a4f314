"""Declared parameters: types, ranges, choices, refused values, and names of loggers."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Optional

import numpy as np
import pytest

from f3ast_tff.core.errors import ParameterError
from f3ast_tff.settings import (
    REQUIRED,
    Derived,
    Parameter,
    Published,
    Reading,
    builtin_registry,
    parameter,
    parameters_of,
)
from f3ast_tff.settings.groups import GROUPS
from f3ast_tff.settings.logger_names import logger_names
from f3ast_tff.settings.parameter import nearest, one_of
from f3ast_tff.settings.resolve import resolve


@dataclass(frozen=True)
class Config:
    share: float = parameter(0.5, "a share", above=0, maximum=1, units="of N")
    count: int | None = parameter(None, "a number", minimum=2)
    mode: str = parameter("Fast", "a mode", choices=("Fast", "slow"))
    file: str = parameter(REQUIRED, "a file", is_path=True)
    flag: bool = parameter(False, "yes or no")
    spread: float = parameter(0.0, "a number", minimum=0)
    seed: int = parameter(0, "a large number", maximum=2**63 - 1)


FLOAT32 = np.finfo(np.float32)
P = {p.name: p for p in parameters_of(Config)}


def test_type_and_default_come_from_the_field() -> None:
    kinds = {name: (p.kind, p.optional) for name, p in P.items()}
    assert kinds == {
        "share": (float, False),
        "count": (int, True),
        "mode": (str, False),
        "file": (str, False),
        "flag": (bool, False),
        "spread": (float, False),
        "seed": (int, False),
    }
    assert (Config().share, Config().count, P["file"].default) == (0.5, None, REQUIRED)


def test_annotations_need_not_be_texts() -> None:
    def make(annotation: Any) -> type:
        field = parameter(None, "x")
        return dataclass(frozen=True)(
            type("C", (), {"x": field, "__annotations__": {"x": annotation}})
        )

    assert parameters_of(make(int))[0].kind is int
    (found,) = parameters_of(make(Optional[float]))  # noqa: UP045
    assert (found.kind, found.optional) == (float, True)
    (found,) = parameters_of(make("Optional[str]"))
    assert (found.kind, found.optional) == (str, True)
    with pytest.raises(TypeError, match="parameter x: its type must be int, float, str or bool"):
        parameters_of(make("list[int]"))


@pytest.mark.parametrize(
    ("name", "value", "canonical"),
    [
        ("share", 1, 1.0),
        ("count", None, None),
        ("count", 2, 2),
        ("count", 2**31 - 1, 2**31 - 1),
        ("seed", 2**63 - 1, 2**63 - 1),
        ("mode", "FAST", "Fast"),
        ("mode", " Slow ", "slow"),
        ("file", Path("a/b"), "a/b"),
        ("flag", True, True),
    ],
)
def test_allowed_values_in_canonical_form(name: str, value: Any, canonical: Any) -> None:
    checked = P[name].checked(value)
    assert checked == canonical
    assert type(checked) is type(canonical)


def test_home_is_expanded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/somewhere")
    assert P["file"].checked("~/x.csv") == "/somewhere/x.csv"


@pytest.mark.parametrize(
    ("name", "value", "allowed"),
    [
        ("share", 0.0, "must be above 0 and at most 1"),
        ("share", 1.5, "must be above 0 and at most 1"),
        ("share", math.nan, "must be above 0 and at most 1 and finite"),
        ("share", "0.5", "must be a number"),
        ("share", True, "must be a number"),
        ("share", 10**400, "must be finite"),
        ("share", None, "must be given"),
        ("count", 1, "must be at least 2"),
        ("count", 2.0, "must be an integer"),
        ("count", 2**31, "must be at least 2 and at most 2147483647 in magnitude"),
        ("seed", 2**63, "must be at most 9223372036854775807"),
        ("spread", 1e39, f"must be at least 0 and at most {FLOAT32.max} in magnitude"),
        ("spread", 1e-45, f"must be at least 0 and at least {FLOAT32.tiny} in magnitude unless 0"),
        ("mode", "fats", "did you mean Fast? It must be one of Fast, slow"),
        ("mode", 3, "must be a text"),
        ("flag", 1, "must be true or false"),
    ],
)
def test_other_values_are_refused(name: str, value: Any, allowed: str) -> None:
    with pytest.raises(ParameterError) as caught:
        P[name].checked(value)
    assert (caught.value.name, caught.value.allowed) == (name, allowed)
    assert str(caught.value) == f"{name} = {'' if value is None else value}: {allowed}"


def test_minus_zero_is_zero() -> None:
    assert math.copysign(1, P["spread"].checked(-0.0)) == 1


def test_a_name_far_from_all_gets_no_suggestion() -> None:
    with pytest.raises(ParameterError, match="must be one of f3ast, fedavg$"):
        one_of("algorithm", "zzz", ("f3ast", "fedavg"))


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("client_learning_rate", "client_lr"),
        ("learning_rate", "client_lr"),
        ("client_lr_deca", "client_lr_decay"),
        ("num_clients_per_round", "clients_per_round"),
        ("number_of_rounds", "rounds"),
        ("seeds", "seed"),
        # It was --lora; other programs' words.
        ("lr", "client_lr"),
        ("num_users", "num_clients"),
        ("K", "clients_per_round"),
        ("x", None),
    ],
)
def test_the_nearest_name_has_the_words_or_their_initials(name: str, meant: str | None) -> None:
    known = (
        "client_lr client_lr_decay clients_per_round in_time_rounds num_clients rounds seed lora"
    )
    assert nearest(name, known.split()) == meant


def test_defaults_that_are_not_one_value() -> None:
    """A `Config` made by hand takes the values that depend on no other settings."""

    @dataclass(frozen=True)
    class Other:
        rate: float = parameter(Published(0.1), "x")
        reading: str = parameter(Reading("R0", "a", "b"), "x")
        rule: str = parameter(Reading("R0", Derived(lambda known: "a", "x"), "b"), "x")
        half: int = parameter(Derived(lambda known: known["rounds"] // 2, "half"), "x")

    assert (Other().rate, Other().reading, Other().rule, Other().half) == (0.1, "a", None, None)
    reading = Reading("R0", "a", "b", "c")
    assert [reading.value(p) for p in ("paper", "released", "ca_fed")] == ["a", "b", "c"]
    assert Reading("R0", "a", "b").value("ca_fed") == "a"


def refused(declared: Parameter) -> Iterator[Any]:
    """Yields a value beyond each bound, and values of another type."""
    if declared.minimum is not None:
        yield declared.kind(declared.minimum - 1)
    if declared.above is not None:
        yield declared.kind(declared.above)
    if declared.maximum is not None:
        yield declared.kind(declared.maximum + 1)
    if declared.below is not None:
        yield declared.kind(declared.below)
    if declared.choices:
        yield "none of these"
    if declared.kind in (int, float):
        yield from (float("nan"), float("inf"), -float("inf"))
    yield 1 if declared.kind is str else "text"


# Objects made from settings: a component, or else a configuration.
MAKERS: dict[str, tuple[type, Callable[..., Any]]] = {
    **{f"{c.kind}-{c.name}": (c.config, c.config) for c in builtin_registry().all()},
    **{name: (group, lambda **given: resolve(given)) for name, group in GROUPS.items()},
}


@pytest.mark.parametrize("name", MAKERS)
def test_a_value_that_is_not_allowed_is_refused(name: str) -> None:
    """NaN compares false with each bound, so a careless declaration would let it through."""
    config, make = MAKERS[name]
    for each in parameters_of(config):
        for value in refused(each):
            with pytest.raises(ParameterError, match=f"^{each.name} = {value}: must"):
                make(**{each.name: value})
        for choice in each.choices:
            assert each.checked(choice.upper()) == choice


def test_values_take_their_canonical_form() -> None:
    config = builtin_registry().find("availability", "four_classes").config
    made = config(markov_g=0, markov_order="Blocks")
    assert (type(made.markov_g), made.markov_order) == (float, "blocks")


def test_names_are_checked() -> None:
    assert logger_names("CSV, tensorboard,csv") == ["csv", "tensorboard"]
    with pytest.raises(ParameterError, match="'comet' is none of them"):
        logger_names("csv,comet")
