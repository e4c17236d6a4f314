"""Fixtures shared by the tests of engines."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import fields
from functools import partial
from typing import Any

import pytest

from benchmarks.tiny import engine_parts
from f3ast_tff.engines import Engine
from f3ast_tff.engines.engine import EngineParts
from f3ast_tff.engines.host.engine import HostEngine


@pytest.fixture(scope="module")
def make_engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[..., Any]]:
    """Makes engines by name from `engine_parts` and options, and closes them at the end."""
    engines: list[Engine] = []
    of_parts = {field.name for field in fields(EngineParts)}

    def make(name: str, *common: Any, client: Any = None, **named: Any) -> Engine:
        given = {key: value for key, value in named.items() if key in of_parts}
        options = {key: value for key, value in named.items() if key not in of_parts}
        if client is not None:
            given["client"] = client
        if name.startswith("tff"):
            from f3ast_tff.engines.tff.choosing import tff_engine

            parts = engine_parts(*common, folder=tmp_path_factory.mktemp("engine"), **given)
            runtime = {"tff": "worker", "tff_in_process": "tf"}[name]
            engines.append(tff_engine(parts, runtime=runtime, **options))
        elif name == "host":
            engines.append(HostEngine(engine_parts(*common, **given)))
        else:
            from f3ast_tff.engines.jax.choosing import fused_engine

            lanes = {"fused": 1, "fused_lanes": 2}[name]
            parts = engine_parts(*common, **given)
            engines.append(fused_engine(parts, num_lanes=lanes, device="cpu", **options))
        return engines[-1]

    yield make
    for engine in engines:
        engine.close()


@pytest.fixture
def made(make_engine: Callable[..., Any], name: str) -> Callable[..., Any]:
    """Makes engines of the name that is a parameter of the test."""
    return partial(make_engine, name)
