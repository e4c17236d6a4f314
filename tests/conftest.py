"""Fixtures and hooks shared by all tests."""

from __future__ import annotations

import functools
import gc
import importlib.util
import os
import signal
import sys
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path
from typing import Any

import pytest

# A background shell or nohup ignores these signals, and child processes inherit that.
signal.signal(signal.SIGINT, signal.default_int_handler)
for _signum in (signal.SIGTERM, signal.SIGHUP):
    signal.signal(_signum, signal.SIG_DFL)

# Compiling would take most of the time; `make test-long` and `test-slow` compile as runs do.
os.environ.setdefault("JAX_DISABLE_MOST_OPTIMIZATIONS", "1")

# A busy machine is no failure: no deadline. Flower's environment lacks Hypothesis.
if importlib.util.find_spec("hypothesis") is not None:
    import hypothesis

    hypothesis.settings.register_profile("same_draws", deadline=None, derandomize=True)
    hypothesis.settings.load_profile("same_draws")

# Files that take longest, also in `make test-long`, come first: no worker ends alone with one.
LONGEST = (
    "test_run_experiments.py",
    "f3ast_tff/engines/test_recorded_rounds.py",
    "f3ast_tff/engines/test_memories_alike.py",
    "analysis/studies/test_kept_results.py",
    "datasets/test_task_runs.py",
    "f3ast_tff/campaigns/test_interruption.py",
    "f3ast_tff/delivery/test_late_runs.py",
    "test_api_examples.py",
    "examples/test_plugins.py",
    "f3ast_tff/engines/test_which_optimum.py",
    "f3ast_tff/engines/tff/test_in_process.py",
    "f3ast_tff/engines/test_conformance.py",
    "f3ast_tff/models/test_keras_agreement.py",
    "fuzz/test_fuzz_kills.py",
    "analysis/test_simulated_studies.py",
    "f3ast_tff/engines/test_split_cohort.py",
    "f3ast_tff/engines/jax/test_lowering.py",
    "f3ast_tff/engines/test_engines_agree.py",
    "f3ast_tff/campaigns/test_command.py",
    "f3ast_tff/engines/test_by_client.py",
    "f3ast_tff/methods/parts/test_aggregation.py",
    "f3ast_tff/engines/jax/test_engine.py",
    "packaging/test_install.py",
    "f3ast_tff/engines/jax/test_client_tables.py",
    "analysis/studies/theory/test_theory_command.py",
    "test_docs.py",
    "analysis/test_kept_pairs.py",
    "datasets/test_synthetic.py",
    "f3ast_tff/settings/test_every_setting_reaches.py",
    "f3ast_tff/cli/test_advise.py",
    "f3ast_tff/engines/test_memory_methods.py",
    "f3ast_tff/methods/test_algorithms.py",
)


# Files whose tests share what takes seconds, so one worker gets them: all sources as trees, and
# TensorFlow, which a test imports that needs it.
TOGETHER = {
    "sources": ("f3ast_tff/test_imports.py", "f3ast_tff/test_floors.py", "test_docstrings.py"),
    "tensorflow": (
        "test_api_examples.py",
        "datasets/test_equality_with_tff.py",
        "f3ast_tff/core/test_preprocessing.py",
        "f3ast_tff/engines/test_components.py",
        "f3ast_tff/engines/test_cross_entropy.py",
        "f3ast_tff/engines/tff/test_client_data.py",
        "f3ast_tff/engines/tff/test_engine.py",
        "f3ast_tff/engines/tff/test_functions.py",
        "f3ast_tff/engines/tff/test_importance_weighted_sum.py",
        "f3ast_tff/engines/tff/test_in_process.py",
        "f3ast_tff/engines/tff/test_worker.py",
        "f3ast_tff/methods/parts/test_aggregation.py",
        "f3ast_tff/models/test_initializers.py",
        "f3ast_tff/optimizers/test_optimizers.py",
        "f3ast_tff/run/test_trained_part.py",
    ),
}

WITHOUT_TFF = "TensorFlow Federated is not installed: tests marked tff are skipped"
HAS_TFF = importlib.util.find_spec("tensorflow_federated") is not None
# Marks of files to leave out unimported, since a file may import TensorFlow at its top.
MARKED = ("\npytestmark = pytest.mark.tff\n", "\npytestmark = [pytest.mark.tff, ")


def pytest_report_header() -> str | None:
    """Reports the tests left out, if any."""
    return None if HAS_TFF else WITHOUT_TFF


def pytest_ignore_collect(collection_path: Path) -> bool | None:
    """Leaves out files marked `tff` if TFF is not installed."""
    if HAS_TFF or not collection_path.match("test_*.py"):
        return None
    text = collection_path.read_text()
    return any(mark in text for mark in MARKED) or None


def _needs_tff(item: pytest.Item) -> bool:
    """Whether a test is marked `tff` or has a TFF engine as a parameter."""
    parameters = item.callspec.params.values() if hasattr(item, "callspec") else ()
    engine = any(isinstance(value, str) and value.startswith("tff") for value in parameters)
    return engine or item.get_closest_marker("tff") is not None


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Skips tests whose engine is missing; runs the longest files first, each in its own order."""
    engines = Path(__file__).parent / "f3ast_tff" / "engines"
    for item in items:
        if engines in item.path.parents:
            item.add_marker(pytest.mark.engines)
        if not HAS_TFF and _needs_tff(item):
            item.add_marker(pytest.mark.skip(reason=WITHOUT_TFF))
    tests = Path(__file__).parent
    places = {tests / name: place for place, name in enumerate(LONGEST)}
    shared = (tests / name for files in TOGETHER.values() for name in files)
    assert all(path.exists() for path in (*places, *shared))
    items.sort(key=lambda item: places.get(item.path, len(places)))


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Gives the files of `TOGETHER` to one worker each, where `--dist loadfile` is asked for."""
    if config.getvalue("dist") != "loadfile":
        return None
    from xdist.scheduler import LoadFileScheduling

    groups = {f"tests/{file}": name for name, files in TOGETHER.items() for file in files}

    class Scheduling(LoadFileScheduling):
        def _split_scope(self, nodeid: str) -> str:
            file: str = super()._split_scope(nodeid)
            return groups.get(file, file)

    return Scheduling(config, log)


@pytest.fixture(scope="session", autouse=True)
def compiled_programs(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Lets JAX trace and compile each program once per worker, as most tests build alike engines.

    A run keeps the programs of the latest composition only. The settings are JAX's configuration,
    not the environment: processes that tests start compile for users.
    """
    if importlib.util.find_spec("jax") is not None:
        import jax

        from f3ast_tff.engines.jax import programs

        programs.latest_programs = functools.cache(programs.RoundPrograms)
        # Places in the source would take a fifth of a program's lowering.
        jax.config.update("jax_traceback_in_locations_limit", 0)
        jax.config.update("jax_compilation_cache_dir", str(tmp_path_factory.mktemp("compiled")))
        jax.config.update("jax_persistent_cache_min_compile_time_secs", 0)
        jax.config.update("jax_persistent_cache_min_entry_size_bytes", -1)


@pytest.fixture(autouse=True)
def built_processes() -> None:
    """The same of TFF's processes, once a test has imported TFF: each takes seconds to build."""
    for name, builder in (("composition", "latest_process"), ("runtime", "_taken_apart")):
        module = sys.modules.get(f"f3ast_tff.engines.tff.{name}")
        if module is not None and getattr(module, builder).cache_info().maxsize is not None:
            setattr(module, builder, functools.cache(getattr(module, builder).__wrapped__))
    engine = sys.modules.get("f3ast_tff.engines.tff.engine")
    if engine is not None:
        # What is kept is no garbage, and looking through it takes half a second per engine.
        engine.return_free_memory = lambda: None  # type: ignore[attr-defined]


@pytest.fixture(scope="session", autouse=True)
def no_power_failure() -> Iterator[None]:
    """Leaves writes to the system, which needs none on the disk while it runs.

    Waiting for the disk would be a third of the time of a run's tests. A test of the calls
    replaces the function itself; processes that tests start wait as users' do.
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fsync", lambda descriptor: None)
        yield


@pytest.fixture(scope="session", autouse=True)
def same_packages() -> Iterator[None]:
    """Reads once per worker which plug-ins are installed: a run reads the files of all packages."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(metadata, "entry_points", functools.cache(metadata.entry_points))
        yield


@pytest.fixture
def cwd(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Makes the folder of the test the current one."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def cli(capsys: pytest.CaptureFixture[str]) -> Any:
    """Runs commands in this process, and returns what they print (`tests.commands.Cli`)."""
    from tests.commands import Cli

    return Cli(capsys)


@pytest.fixture(scope="module")
def host_by_default() -> Iterator[None]:
    """Runs that ask for no engine take `host`, which compiles nothing: for tests of other parts."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("f3ast_tff.settings.kinds.has_jax", lambda: False)
        yield


def pytest_collection_finish() -> None:
    """Keeps imported objects out of garbage collection, and makes collections rare.

    Tracing a program makes many objects and little garbage: by default the collector would take a
    sixth of the time of engine tests.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(100_000, 10, 10)
