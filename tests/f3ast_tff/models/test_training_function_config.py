"""A training function as a plug-in's component: where it runs, and what it is compared with."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from f3ast_tff import compare, load_run, simulate
from f3ast_tff.analysis.compare.methods import differences, methods_of
from f3ast_tff.analysis.run_groups import collect
from f3ast_tff.core.errors import ParameterError

PAGE = Path(__file__).parents[3] / "docs" / "library.md"


@pytest.fixture
def plugin(tmp_path: Path) -> Path:
    """The plug-in of the page on one's own training."""
    found = re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)
    (code,) = [each for each in found if "TrainingFunctionConfig" in each]
    path = tmp_path / "centers.py"
    path.write_text(code)
    return path


@pytest.mark.long
def test_it_runs_on_the_host_and_is_compared(plugin: Path, tmp_path: Path) -> None:
    """With another model on another engine, from folders and in memory; the page says in what."""
    for name, given in {"own": {"model": "centers"}, "plain": {"engine": "fused"}}.items():
        plugins = [str(plugin)] if name == "own" else []
        simulate(rounds=2, folder=tmp_path / "runs" / name, plugins=plugins, **given)
    run = load_run(tmp_path / "runs" / "own")
    assert (run.settings["engine"], run.settings["centers_pull"]) == ("host", 0.5)
    (row,) = differences(methods_of(collect(tmp_path / "runs").groups)).to_dict("records")
    assert row["differs_in"].startswith("model (")
    assert "engine (" in row["differs_in"]
    mine = {"algorithm": "f3ast", "model": "centers", "plugins": [str(plugin)]}
    found = compare({"own": mine, "F3AST": {"engine": "fused"}}, seeds=[0], rounds=2)
    assert len(found.differences(baseline="F3AST")) == 1


def test_models_that_train_alike_are_not_mixed(tmp_path: Path) -> None:
    """Without a training function another engine is another condition."""
    for engine in ("host", "fused"):
        simulate(rounds=2, folder=tmp_path / engine, engine=engine)
    assert not len(differences(methods_of(collect(tmp_path).groups)))


def test_another_base_class_is_named(plugin: Path) -> None:
    plugin.write_text(plugin.read_text().replace("TrainingFunctionConfig", "ModelConfig"))
    with pytest.raises(ParameterError, match="derives from TrainingFunctionConfig"):
        simulate(rounds=1, plugins=[str(plugin)], model="centers", engine="host")
