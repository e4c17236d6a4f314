"""Configurations of engines: refused values, and variables set before a framework is imported."""

from __future__ import annotations

import importlib.metadata
import importlib.util
from dataclasses import dataclass
from typing import Any

import pytest

from f3ast_tff import simulate
from f3ast_tff.core.errors import ParameterError
from f3ast_tff.engines.components import FusedConfig, TffConfig
from f3ast_tff.engines.engine import Engine, EngineConfig, EngineParts
from f3ast_tff.settings import register
from f3ast_tff.settings.resolve import resolve
from tests.fake_engine import FakeEngine


@pytest.mark.parametrize(
    ("given", "runtime"),
    [
        ({}, "tf"),
        ({"tff_runtime": "worker", "round_timeout": 3.0, "tff_clients_at_once": 2}, "worker"),
        ({"num_workers": 2, "round_timeout": 3.0, "ray_address": "auto"}, "tf"),
        ({"device": "gpu"}, "tf"),
        ({"algorithm": "fedlaavg"}, "tf"),
    ],
)
def test_tff_runs_in_process_unless_told(given: dict[str, Any], runtime: str) -> None:
    assert resolve({"engine": "tff", **given}).settings["tff_runtime"] == runtime


@pytest.mark.parametrize(
    "config", [FusedConfig(), pytest.param(TffConfig(), marks=pytest.mark.tff)]
)
def test_missing_framework_is_named(config: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    config.check_installed()
    find_spec = importlib.util.find_spec

    def without(name: str, *rest: object) -> object:
        return None if name == config.framework else find_spec(name, *rest)

    monkeypatch.setattr(importlib.util, "find_spec", without)
    engine = config.component.name
    message = f"^engine = {engine}: needs {config.framework}, not installed here: .*{engine}"
    with pytest.raises(ParameterError, match=message):
        config.check_installed()


def test_an_old_release_of_tff_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: "found")
    monkeypatch.setattr(importlib.metadata, "version", lambda name: "0.33.0")
    said = "0.80 or newer, found 0.33.0: .*take Python 3.11"
    with pytest.raises(ParameterError, match=said):
        TffConfig().check_installed()


def test_what_is_set_already_stands() -> None:
    environment = {"TF_CPP_MIN_LOG_LEVEL": "0", "JAX_PLATFORMS": "cuda", "XLA_FLAGS": "--xla_x=1"}
    FusedConfig(device="cpu").prepare_environment(environment)
    assert environment["TF_CPP_MIN_LOG_LEVEL"] == "0"
    assert environment["JAX_PLATFORMS"] == "cuda"
    FusedConfig(device="gpu").prepare_environment(environment)
    assert environment["XLA_FLAGS"] == "--xla_x=1 --xla_gpu_deterministic_ops=true"
    environment["XLA_FLAGS"] = "--xla_gpu_deterministic_ops=false"
    FusedConfig(device="gpu").prepare_environment(environment)
    assert environment["XLA_FLAGS"] == "--xla_gpu_deterministic_ops=false"


def test_tff_needs_nothing_of_xla() -> None:
    environment: dict[str, str] = {}
    TffConfig().prepare_environment(environment)
    assert set(environment) == {"TF_CPP_MIN_LOG_LEVEL"}


def test_the_fused_engine_runs_where_it_is_told() -> None:
    environment: dict[str, str] = {}
    FusedConfig(device="cpu").prepare_environment(environment)
    assert environment["JAX_PLATFORMS"] == "cpu"


@pytest.mark.parametrize("algorithm", ["f3ast", "fedvarp"])
def test_an_own_engine_takes_the_models_and_aggregations_that_are_there(algorithm: str) -> None:
    @register("engine", "own_engine", about="of one's own")
    @dataclass(frozen=True)
    class OwnConfig(EngineConfig):
        def build(self, parts: EngineParts) -> Engine:
            return FakeEngine(num_clients=100)

    result = simulate(algorithm=algorithm, engine=OwnConfig(), rounds=10, seed=1)
    assert result.metrics["round"].tolist() == [10]
