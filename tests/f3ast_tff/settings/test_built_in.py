"""Components are found by name; a default run imports only its own."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from f3ast_tff.cli.flags import flag_names, parse, setting_flags
from f3ast_tff.settings import Published, builtin_registry
from f3ast_tff.settings.built_in import TABLE, in_order
from f3ast_tff.settings.groups import GROUPS
from f3ast_tff.settings.kinds import KINDS
from f3ast_tff.settings.parameter import parameters_of
from tools.component_table import components_in_code, refuse_orders_twice, table_of

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


@pytest.mark.parametrize("words", [["--rate_beta=0.2"], ["--rate_beta", "0.2"]])
def test_a_given_flag_is_parsed(words: list[str]) -> None:
    assert parse(words).settings == {"rate_beta": 0.2}


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
