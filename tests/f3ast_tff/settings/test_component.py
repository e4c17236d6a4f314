"""Registering a component, and objects that cannot be one."""

from __future__ import annotations

from dataclasses import dataclass
from types import ModuleType
from typing import Any

import pytest

from f3ast_tff.core.errors import ComponentError
from f3ast_tff.datasets.task import TaskConfig
from f3ast_tff.methods.parts.algorithm import AlgorithmConfig
from f3ast_tff.settings import parameter, register
from f3ast_tff.settings.component import component_of, registered_in


def config(base: type = TaskConfig, **members: Any) -> type:
    return dataclass(frozen=True)(type("C", (base,), members))


def test_the_decorator_returns_the_class_with_its_component() -> None:
    made = register("algorithm", "mine", "Mine", about="picks", order=3)(config(AlgorithmConfig))
    component = component_of(made)
    assert (component.kind, component.name, component.display) == ("algorithm", "mine", "Mine")
    assert (component.about, component.order, component.config) == ("picks", 3, made)
    assert component.parameters == ()
    assert component_of(register("task", "data", about="x")(config())).display == "data"


@pytest.mark.parametrize(
    ("kind", "name", "about", "made", "says"),
    [
        ("strategy", "x", "x", config(), "its kind must be one of task, model"),
        ("task", "My-Task", "x", config(), "lower-case letters, digits and _"),
        ("task", "x", "", config(), "about must be one line"),
        ("task", "x", "two\nlines", config(), "about must be one line"),
        ("task", "x", "x", type("C", (), {}), "must be a frozen dataclass"),
        ("task", "x", "x", dataclass(type("C", (), {})), "a frozen dataclass"),
        ("task", "x", "x", type("C", (config(),), {}), "must be a frozen dataclass"),
        ("task", "x", "x", config(build=None), r"build must take \(self\)"),
        ("task", "x", "x", config(build=lambda self, p: p), r"its build must take \(self\)"),
        (
            "algorithm",
            "x",
            "x",
            config(AlgorithmConfig, build=None),
            r"its build must take \(self, world\)",
        ),
        ("aggregation", "x", "x", config(), "must derive from Aggregation"),
        (
            "task",
            "x",
            "x",
            config(x=parameter(None, "x"), __annotations__={"x": "dict"}),
            "parameter x: its type must be",
        ),
    ],
)
def test_what_cannot_be_a_component(kind: str, name: str, about: str, made: Any, says: str) -> None:
    with pytest.raises(ComponentError, match=says) as caught:
        register(kind, name, about=about)(made)
    assert str(caught.value).startswith(f"{kind} {name!r} (C): ")


def test_a_subclass_is_not_its_parents_component() -> None:
    parent = register("task", "parent", about="x")(config())
    module = ModuleType(parent.__module__)
    child = type("Child", (parent,), {"__module__": parent.__module__})
    vars(module).update(Parent=parent, Child=child)
    assert [c.name for c in registered_in(module)] == ["parent"]
    imported = ModuleType("another")
    vars(imported).update(Parent=parent)
    assert registered_in(imported) == []
