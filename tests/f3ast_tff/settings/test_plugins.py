"""Plug-ins: loading, digests, names in use, and errors."""

from __future__ import annotations

import hashlib
import os
import py_compile
import sys
import textwrap
from importlib import metadata
from pathlib import Path

import pytest

from f3ast_tff.core.errors import ParameterError
from f3ast_tff.settings import registry as registry_module
from f3ast_tff.settings.plugin_files import load_plugin
from f3ast_tff.settings.registry import builtin_registry, registry_with

PLUGIN = """
from dataclasses import dataclass
from f3ast_tff.availability import AvailabilityConfig
from f3ast_tff.settings import parameter, register

@register({kind!r}, {name!r}, {display!r}, about="mine")
@dataclass(frozen=True)
class Config(AvailabilityConfig):
    {parameter}: {annotation} = parameter({default}, "mine")
    def build(self, p, seed):
        return None
"""


def write(path: Path, **changes: str) -> str:
    values = {
        "kind": "availability",
        "name": "mine",
        "display": "Mine",
        "parameter": "mine_q",
        "annotation": "float",
        "default": "0.5",
        **changes,
    }
    path.write_text(PLUGIN.format(**values))
    return str(path)


def test_a_file_is_loaded_with_its_digest(tmp_path: Path) -> None:
    source = write(tmp_path / "mine.py")
    plugin = load_plugin(source)
    assert (plugin.name, plugin.source) == ("mine", source)
    assert plugin.sha256 == hashlib.sha256(Path(source).read_bytes()).hexdigest()
    assert [(c.kind, c.name, c.display) for c in plugin.components] == [
        ("availability", "mine", "Mine")
    ]
    assert load_plugin(source).components[0] is plugin.components[0]


def test_a_changed_file_is_another_plugin(tmp_path: Path) -> None:
    source = write(tmp_path / "mine.py")
    before = load_plugin(source)
    write(tmp_path / "mine.py", default="0.25")
    after = load_plugin(source)
    assert after.sha256 != before.sha256
    assert [p.components[0].parameters[0].default for p in (before, after)] == [0.5, 0.25]


@pytest.mark.parametrize("changed", ["helper.py", "deep.py", "late/part.py"])
def test_a_file_counts_with_the_modules_beside_it_that_it_imports(
    changed: str, tmp_path: Path
) -> None:
    """Imports within functions and imports of imports count; other files do not."""
    (tmp_path / "late").mkdir()
    for name in ("deep.py", "other.py", "late/__init__.py", "late/part.py", "late/data.csv"):
        (tmp_path / name).write_text("x = 1\n")
    (tmp_path / "helper.py").write_text("if False:\n    import deep, os\n")
    source = write(tmp_path / "mine.py")
    alone = load_plugin(source).sha256
    inside = "\ndef late():\n    import late.part\n    from helper import f\n    import f3ast_tff\n"
    (tmp_path / "mine.py").write_text(Path(source).read_text() + inside)
    before = load_plugin(source).sha256
    assert before not in (alone, hashlib.sha256(Path(source).read_bytes()).hexdigest())
    for name in ("other.py", "late/data.csv"):
        (tmp_path / name).write_text("x = 2\n")
    assert load_plugin(source).sha256 == before
    (tmp_path / changed).write_text("x = 2\n")
    assert load_plugin(source).sha256 != before


def test_a_file_imports_the_modules_beside_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """None of them hides a library's."""
    monkeypatch.setattr(sys, "path", [*sys.path])
    (tmp_path / "beside_this_plugin.py").write_text("q = 0.75\n")
    (tmp_path / "colorsys.py").write_text("raise ImportError\n")
    source = write(tmp_path / "mine.py", default="beside_this_plugin.q")
    head = "import beside_this_plugin, colorsys\n"
    Path(source).write_text(head + Path(source).read_text())
    assert load_plugin(source).components[0].parameters[0].default == 0.75


def test_what_runs_is_what_the_digest_is_of(tmp_path: Path) -> None:
    """A compiled file of earlier content, with the same second and size, is not used."""
    source = write(tmp_path / "mine.py")
    py_compile.compile(source, doraise=True)
    times = os.stat(source)
    write(tmp_path / "mine.py", default="0.7")
    os.utime(source, ns=(times.st_atime_ns, times.st_mtime_ns))
    plugin = load_plugin(source)
    assert plugin.sha256 == hashlib.sha256(Path(source).read_bytes()).hexdigest()
    assert plugin.components[0].parameters[0].default == 0.7


def test_a_file_runs_as_the_module_that_it_is(tmp_path: Path) -> None:
    """It has its own name and path, and not the loader's `from __future__ import`."""
    path = tmp_path / "mine.py"
    write(path)
    path.write_text(path.read_text() + "\nPLACE = __file__\n")
    config = load_plugin(str(path)).components[0].config
    module = sys.modules[config.__module__]
    assert module.__name__.startswith("f3ast_tff_plugin_mine_")
    assert (module.__file__, module.PLACE) == (str(path), str(path))
    assert config.__annotations__ == {"mine_q": float}


def test_a_package_counts_with_all_its_modules(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = tmp_path / "a_package_of_plugins"
    package.mkdir()
    (package / "__init__.py").write_text("from a_package_of_plugins import part\n")
    write(package / "part.py")
    monkeypatch.syspath_prepend(str(tmp_path))
    plugin, module = (load_plugin(f"a_package_of_plugins{part}") for part in ("", ".part"))
    assert [c.name for c in plugin.components] == ["mine"]
    assert module.sha256 == plugin.sha256
    write(package / "part.py", default="0.25")
    assert load_plugin("a_package_of_plugins").sha256 != plugin.sha256


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ("1 / 0", "cannot be imported: ZeroDivisionError: division by zero"),
        ("import no_such_module", "cannot be imported: ModuleNotFoundError: No module named"),
        ("def f(:", "cannot be imported: SyntaxError:"),
        ("raise SystemExit(3)", "cannot be imported: SystemExit: 3"),
        ("x = 1", "registers no component"),
        (
            "from f3ast_tff.settings import register\n"
            "@register('algorithm', 'x', about='x')\nclass C: pass",
            "cannot be imported: ComponentError: algorithm 'x' (C): must be a frozen dataclass",
        ),
    ],
)
def test_what_breaks_is_one_line(content: str, says: str, tmp_path: Path) -> None:
    path = tmp_path / "broken.py"
    path.write_text(textwrap.dedent(content))
    modules = set(sys.modules)
    with pytest.raises(ParameterError) as caught:
        load_plugin(str(path))
    assert caught.value.name == "plugin"
    assert caught.value.allowed.startswith(says)
    assert "\n" not in str(caught.value)
    if "cannot" in says:
        assert not {name for name in set(sys.modules) - modules if "broken" in name}


@pytest.mark.parametrize(
    ("source", "says"),
    [
        ("./mine.txt", "must be a Python file"),
        ("mine.txt", "must be a Python file"),
        ("./mine.pyc", "must be a Python file"),
        ("missing.py", "not found"),
        ("no/such/file.py", "not found"),
    ],
)
def test_what_is_no_python_file_is_refused(source: str, says: str, cwd: Path) -> None:
    for name in ("mine.txt", "mine.pyc"):
        (cwd / name).write_bytes(b"\0")
    with pytest.raises(ParameterError, match=f"plugin = {source}: {says}"):
        load_plugin(source)


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"name": "scarce"}, "its availability scarce: the name is taken"),
        ({"display": "Scarce"}, "its availability mine: its display name Scarce is taken"),
        ({"parameter": "rounds"}, "its parameter rounds: the name is taken"),
        ({"parameter": "task", "annotation": "str"}, "its parameter task: the name is taken"),
        (
            {"parameter": "scarce_q", "annotation": "int", "default": "1"},
            "its parameter scarce_q is of type int, that of availability scarce of type float",
        ),
    ],
)
def test_taken_names_are_refused(changes: dict[str, str], says: str, tmp_path: Path) -> None:
    source = write(tmp_path / "mine.py", **changes)
    with pytest.raises(ParameterError) as caught:
        registry_with([source], reserved={"rounds"})
    assert caught.value.value == source
    assert says in caught.value.allowed


def test_a_parameter_may_be_shared(tmp_path: Path) -> None:
    """Two parameters with the same name and type share one flag."""
    registry = registry_with([write(tmp_path / "mine.py", parameter="scarce_q")])
    assert [c.name for c in registry.takers("scarce_q")] == ["scarce", "mine"]


def test_plugins_extend_and_leave_the_built_in_registry_alone(tmp_path: Path) -> None:
    source = write(tmp_path / "mine.py")
    registry = registry_with([source, source])
    assert registry.names("availability")[-1] == "mine"
    assert len(registry.plugins) == 1
    assert registry.plugin_of(registry.find("availability", "MINE")) == registry.plugins[0]
    assert registry.plugin_of(registry.find("availability", "scarce")) is None
    assert "mine" not in builtin_registry().names("availability")


@pytest.mark.parametrize(
    ("second", "name", "says"),
    [
        ("two.py", "mine", "two.py: its availability mine: the name is taken"),
        # A run's identity holds plug-ins by name.
        ("deeper/one.py", "other", "another plug-in has the name one"),
    ],
)
def test_two_plugins_of_one_name_are_refused(
    second: str, name: str, says: str, tmp_path: Path
) -> None:
    (tmp_path / "deeper").mkdir()
    sources = [write(tmp_path / "one.py"), write(tmp_path / second, name=name)]
    with pytest.raises(ParameterError, match=says):
        registry_with(sources)


def test_entry_points_are_loaded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path / "an_installed_plugin.py", name="installed")
    monkeypatch.syspath_prepend(str(tmp_path))
    point = metadata.EntryPoint("x", "an_installed_plugin", "f3ast_tff")

    def entry_points(group: str) -> list[metadata.EntryPoint]:
        return [point] if group == "f3ast_tff" else []

    monkeypatch.setattr(registry_module.metadata, "entry_points", entry_points)
    registry = registry_with()
    assert [plugin.name for plugin in registry.plugins] == ["an_installed_plugin"]
    assert "installed" in registry.names("availability")
