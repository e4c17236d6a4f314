"""What is checked and set before a framework is imported."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

from f3ast_tff.command_line import run as main
from f3ast_tff.configuration.framework_environment import prepare_environment
from f3ast_tff.configuration.resolve import resolve


@pytest.mark.parametrize(
    ("engine", "framework"), [("fused", "jax"), ("tff", "tensorflow_federated")]
)
def test_missing_framework_is_one_line(
    engine: str,
    framework: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    find_spec = importlib.util.find_spec

    def without(name: str, *rest: object) -> object:
        return None if name == framework else find_spec(name, *rest)

    monkeypatch.setattr(importlib.util, "find_spec", without)
    assert main.run({"engine": engine, "output_dir": str(tmp_path / "runs")}) == 2
    err = capsys.readouterr().err
    assert err.startswith(f"error: --engine={engine}: needs {framework}, not installed here")
    assert f"f3ast-tff[{engine}]" in err
    assert len(err.splitlines()) == 1
    assert not (tmp_path / "runs").exists()


def test_what_is_set_already_stands() -> None:
    environment = {"TF_CPP_MIN_LOG_LEVEL": "0", "JAX_PLATFORMS": "cuda", "XLA_FLAGS": "--xla_x=1"}
    prepare_environment(resolve({"device": "cpu"}), environment)
    assert environment["TF_CPP_MIN_LOG_LEVEL"] == "0"
    assert environment["JAX_PLATFORMS"] == "cuda"
    prepare_environment(resolve({"device": "gpu"}), environment)
    assert environment["XLA_FLAGS"] == "--xla_x=1 --xla_gpu_deterministic_ops=true"
    environment["XLA_FLAGS"] = "--xla_gpu_deterministic_ops=false"
    prepare_environment(resolve({"device": "gpu"}), environment)
    assert environment["XLA_FLAGS"] == "--xla_gpu_deterministic_ops=false"


def test_tff_needs_nothing_of_xla() -> None:
    environment: dict[str, str] = {}
    prepare_environment(resolve({"engine": "tff"}), environment)
    assert set(environment) == {"TF_CPP_MIN_LOG_LEVEL"}


def test_the_fused_engine_runs_where_it_is_told() -> None:
    environment: dict[str, str] = {}
    prepare_environment(resolve({"engine": "fused", "device": "cpu"}), environment)
    assert environment["JAX_PLATFORMS"] == "cpu"
