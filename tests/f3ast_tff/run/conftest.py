"""Fixtures shared by the tests of the round loop."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.f3ast_tff.run.small_run import STRATEGIES, run


@pytest.fixture(scope="session")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Results of each strategy without interruption."""
    folders = {name: tmp_path_factory.mktemp(name) for name in STRATEGIES}
    for name, strategy in STRATEGIES.items():
        run(folders[name], strategy)
    return folders
