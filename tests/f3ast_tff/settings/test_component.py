"""Components: registered, found by name, imported when needed; what cannot be one."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import dataclass, replace
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from f3ast_tff.cli.flags import flag_names, setting_flags
from f3ast_tff.core.errors import ComponentError
from f3ast_tff.datasets.task import TaskConfig
from f3ast_tff.methods.parts.algorithm import AlgorithmConfig
from f3ast_tff.settings import Published, builtin_registry, parameter, register
from f3ast_tff.settings.built_in import TABLE, in_order
from f3ast_tff.settings.component import component_of, registered_in
from f3ast_tff.settings.groups import GROUPS
from f3ast_tff.settings.kinds import KINDS
from f3ast_tff.settings.parameter import parameters_of
from tools.component_table import components_in_code, refuse_orders_twice, table_of


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


ROOT = Path(__file__).parents[3]
# Of one default run: files of this repository, and their lines.
MOST_FILES, MOST_LINES = 110, 17_000
RUN = """
import os, runpy, sys
sys.argv = ["run_experiments.py", "--rounds=2", "--output_dir=" + sys.argv[1], "--run_name=x"]
try:
    runpy.run_path("run_experiments.py", run_name="__main__")
except SystemExit as done:
    assert not done.code
files = {getattr(module, "__file__", None) or "" for module in list(sys.modules.values())}
print(*map(os.path.realpath, files), sep="\\n")
"""


def test_the_table_is_that_of_the_code() -> None:
    assert TABLE.read_text() == table_of(components_in_code()), "run `make docs-tables`"


def test_a_place_that_is_taken_is_refused() -> None:
    components = components_in_code()
    refuse_orders_twice(components)
    methods = [*components["algorithm"].values()]
    twice = in_order([*methods, replace(methods[-1], name="other")])
    order = methods[-1].order
    said = f"{methods[-1].name}, other: both order={order}; the next free one is {order + 1}"
    with pytest.raises(SystemExit, match=said):
        refuse_orders_twice(twice)


def test_a_component_is_imported_when_it_is_named() -> None:
    code = """
import sys
from dataclasses import replace
from f3ast_tff.settings import builtin_registry
registry = builtin_registry()
assert "mifa" in registry.names("algorithm") and "mifa" in registry.components["aggregation"]
assert "rate_beta" in registry.parameter_names
assert not [name for name in sys.modules if name.startswith("f3ast_tff.methods.")]
assert registry.find("algorithm", "MIFA").kind == "algorithm"
assert registry.find("aggregation", "mifa").kind == "aggregation"
assert "f3ast_tff.methods.mifa" in sys.modules and "f3ast_tff.methods.f3ast" not in sys.modules
assert registry.parameter("rate_beta").name == "rate_beta"
assert "f3ast_tff.methods.f3ast" in sys.modules
"""
    subprocess.run([sys.executable, "-c", code], check=True, cwd=ROOT)


def test_a_default_run_imports_little(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", RUN, str(tmp_path)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    mine = [ROOT / name for name in ("run_experiments.py", "f3ast_tff", "availability", "datasets")]
    files = {line for line in done.stdout.splitlines() if line.startswith(tuple(map(str, mine)))}
    assert len(files) > 80
    lines = sum(len(Path(file).read_text().splitlines()) for file in files)
    say = f"{len(files)} files, {lines} lines: import what one run in ten needs where it is used"
    assert len(files) <= MOST_FILES and lines <= MOST_LINES, say


def test_all_flags_are_known_by_name() -> None:
    registry = builtin_registry()
    assert flag_names(registry) == set(setting_flags(registry))
    assert {p.name for c in registry.all() for p in c.parameters} == set(registry.parameter_names)


def test_what_the_tasks_publish_is_read() -> None:
    """`resolve` checks this of plug-ins alone."""
    registry = builtin_registry()
    everywhere = [p for config in GROUPS.values() for p in parameters_of(config)]
    known = [*everywhere, *registry.parameters().values()]
    read = {p.name for p in known if isinstance(p.default, Published)}
    for task in registry.components["task"].values():
        assert set(task.config.published) <= read, task.name


def test_every_kind_has_its_table() -> None:
    assert list(json.loads(TABLE.read_text())) == list(KINDS)
