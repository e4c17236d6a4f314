"""The engine `auto`: fused where JAX is installed, else host; a run stays on its engine."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from f3ast_tff import load_run, simulate
from f3ast_tff.core.errors import ParameterError, RunFolderError
from f3ast_tff.settings.kinds import installed
from f3ast_tff.settings.resolve import resolve

WithoutJax = Callable[[bool], None]


@pytest.fixture
def without_jax(monkeypatch: pytest.MonkeyPatch) -> Iterator[WithoutJax]:
    """Hides JAX from the default engine, or shows it again."""
    find_spec = importlib.util.find_spec
    hidden = [True]

    def found(name: str, package: str | None = None) -> Any:
        return None if name == "jax" and hidden[0] else find_spec(name, package)

    monkeypatch.setattr(importlib.util, "find_spec", found)

    def hide(now: bool) -> None:
        hidden[0] = now
        installed.cache_clear()

    hide(True)
    yield hide
    installed.cache_clear()


@pytest.mark.parametrize("given", [{}, {"engine": "auto"}])
def test_the_default_engine(given: dict[str, Any], without_jax: WithoutJax) -> None:
    """The run's identity and name hold no `auto`; the default engine is no part of the name."""
    for hidden, name in ((True, "host"), (False, "fused")):
        without_jax(hidden)
        configuration = resolve(given)
        assert configuration.identity["engine"] == name
        assert "engine" not in configuration.settings["run_name"]
        assert ("device" in configuration.settings) == (name == "fused")


def test_a_network_that_needs_jax_says_so(without_jax: WithoutJax) -> None:
    configuration = resolve({"task": "mnist", "model": "small_cnn"})
    assert configuration.settings["engine"] == "fused"
    with pytest.raises(ParameterError, match=r"needs jax, .*pip install 'f3ast-tff\[fused\]'"):
        configuration.configs["engine"].check_installed()


def test_settings_of_another_engine_are_refused(without_jax: WithoutJax) -> None:
    with pytest.raises(ParameterError, match="num_workers.*only applies with.*the engine is host"):
        resolve({"num_workers": 2})


def broken_off(folder: Path, **given: Any) -> None:
    """Runs three rounds of five, with a checkpoint at round 2."""

    def stop(round_number: int, cohort: Any, outcome: Any) -> None:
        if round_number == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        simulate(rounds=5, checkpoint_every=2, folder=folder, on_round=stop, **given)


def test_a_run_stays_on_its_engine(tmp_path: Path, without_jax: WithoutJax) -> None:
    broken_off(tmp_path / "run")
    assert "engine host, by default (auto)" in (tmp_path / "run" / "run.log").read_text()
    without_jax(False)
    asked = []
    resumed = simulate(
        rounds=5,
        checkpoint_every=2,
        folder=tmp_path / "run",
        on_round=lambda t, cohort, outcome: asked.append(t),
    )
    assert asked == [3, 4, 5] and resumed.summary["engine"] == "host"
    saved = load_run(tmp_path / "run")
    assert saved.settings["engine"] == saved.config["identity"]["engine"] == "host"
    # Longer, by default and as asked for; another engine is another run.
    longer = simulate(rounds=6, checkpoint_every=2, folder=tmp_path / "run")
    assert longer.summary["engine"] == "host" and longer.summary["rounds"] == 6
    with pytest.raises(RunFolderError, match="engine 'host', now 'fused'"):
        simulate(rounds=6, checkpoint_every=2, folder=tmp_path / "run", engine="fused")


def test_a_run_without_a_checkpoint_takes_the_engine_that_is_there(
    tmp_path: Path, without_jax: WithoutJax
) -> None:
    def stop(*_: Any) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        simulate(rounds=5, folder=tmp_path / "run", on_round=stop)
    without_jax(False)
    assert simulate(rounds=1, folder=tmp_path / "run").summary["engine"] == "fused"
