"""Fixtures shared by the tests of the round loop."""

from __future__ import annotations

import functools
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.f3ast_tff.run.small_run import DELIVERIES, STRATEGIES, run


@pytest.fixture(scope="session")
def with_delivery(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str, str], Path]:
    """Results of a strategy without interruption, by its name and the delivery's."""

    @functools.cache
    def played(name: str, delivery: str) -> Path:
        folder = tmp_path_factory.mktemp(name)
        run(folder, STRATEGIES[name], delivery=DELIVERIES[delivery]())
        return folder

    return played


@pytest.fixture(scope="session")
def undisturbed(with_delivery: Callable[[str, str], Path]) -> dict[str, Path]:
    """Results of each strategy without interruption; all updates arrive."""
    return {name: with_delivery(name, "certain") for name in STRATEGIES}
