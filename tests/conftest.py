"""Shared by all tests."""

from __future__ import annotations

import gc
import signal
from pathlib import Path

import pytest

# What a background shell or nohup ignores, the programs that tests start would ignore too.
signal.signal(signal.SIGINT, signal.default_int_handler)
for _signum in (signal.SIGTERM, signal.SIGHUP):
    signal.signal(_signum, signal.SIG_DFL)

# What takes longest comes first, so that one worker of two does not end with it alone.
LONGEST = (
    "test_run_experiments.py",
    "datasets/test_task_runs.py",
    "f3ast_tff/engines/test_memories_alike.py",
    "f3ast_tff/engines/test_engines_agree.py",
    "examples/test_plugins.py",
    "f3ast_tff/engines/tff/test_in_process.py",
    "f3ast_tff/models/test_keras_agreement.py",
    "f3ast_tff/engines/test_split_cohort.py",
    "f3ast_tff/engines/test_runtimes_agree.py",
    "f3ast_tff/engines/test_models_agree.py",
    "f3ast_tff/campaigns/test_interruption.py",
    "packaging/test_install.py",
    "f3ast_tff/engines/tff/processes/test_fed_avg_equivalence.py",
    "f3ast_tff/engines/tff/test_engine.py",
)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Sorts files, not what is in them."""
    places = {Path(__file__).parent / name: place for place, name in enumerate(LONGEST)}
    assert all(path.exists() for path in places)
    items.sort(key=lambda item: places.get(item.path, len(places)))


def pytest_collection_finish() -> None:
    """Leaves what is imported out of every later collection of garbage."""
    gc.collect()
    gc.freeze()
