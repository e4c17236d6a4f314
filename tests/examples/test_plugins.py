"""The plug-ins of `examples/plugins`, as a user runs them: outside the checkout."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from f3ast_tff import simulate
from f3ast_tff.cli.main import main
from f3ast_tff.settings.registry import registry_with

TWO_CLASSES = Path(__file__).with_name("greedy_loss_in_two_classes.py")
ROOT = Path(__file__).resolve().parents[2]
PLUGINS = ROOT / "examples" / "plugins"
# Per plug-in, the setting that names its component, and one of its parameters.
CASES: dict[str, list[str]] = {
    "greedy_loss": ["--algorithm=greedy_loss", "--explore=0.5"],
    "commuters": ["--availability=commuters", "--commute_rounds=5"],
    "moons": ["--task=moons", "--hidden_units=8"],
    "smoothed_varp": ["--algorithm=fedavg", "--aggregation=smoothed_varp", "--smoothing=0.3"],
    "drifting_penalty": ["--aggregation=drifting_penalty", "--penalty_alpha=0.5"],
    "clipped_updates": ["--aggregation=clipped_updates", "--clip_update=0.05"],
    "sparse_updates": ["--aggregation=sparse_updates", "--sent_share=0.2"],
    "q_fedavg": ["--algorithm=fedavg", "--aggregation=q_fedavg", "--fair_q=0.5"],
    "robust": ["--algorithm=fedavg", "--aggregation=robust", "--wrong_share=0.3"],
    "adaptive_clip": ["--algorithm=fedavg", "--aggregation=adaptive_clip", "--clip_rate=0.5"],
    "centred_clip": ["--algorithm=fedavg", "--aggregation=centred_clip", "--bucket_size=2"],
    "clipped_mean": ["--algorithm=fedavg", "--aggregation=clipped_mean", "--clip_to=0.05"],
}
Command = Callable[..., str]
SMALL = ["--num_clients=10", "--clients_per_round=3", "--rounds=4", "--eval_every=2"]


@pytest.fixture
def command(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Command:
    """`f3ast-tff` in another folder; returns its output, or its error message."""

    def run(*arguments: str, cwd: Path, code: int = 0) -> str:
        monkeypatch.chdir(cwd)
        found = main(["f3ast-tff", *arguments])
        out, err = capsys.readouterr()
        assert found == code, err
        return err if code else out

    return run


@pytest.mark.parametrize("name", CASES)
def test_adding_a_component_takes_one_file(name: str) -> None:
    """No other file of the packages names the component."""
    file = PLUGINS / f"{name}.py"
    registry = registry_with([str(file)])
    component = registry.plugins[-1].components[-1]
    for folder in ("f3ast_tff", "availability", "datasets", "analysis"):
        for path in (ROOT / folder).rglob("*.py"):
            assert component.name not in path.read_text(), path


def test_a_plugin_whose_strategy_means_another_aggregation_is_refused(
    tmp_path: Path, command: Command
) -> None:
    """The plug-in's `Config` would otherwise let it run with F3AST's sum."""
    plugin = TWO_CLASSES.read_text()
    named = '    aggregation: ClassVar[str] = "mean"\n'
    place = plugin.rindex(named)
    (tmp_path / "mine.py").write_text(plugin[:place] + plugin[place + len(named) :])
    arguments = ["run", "--plugin=mine.py", "--algorithm=greedy_loss", *SMALL, "--run_name=x"]
    said = command(*arguments, cwd=tmp_path, code=2)
    assert "--aggregation=sum: the weights of GreedyLoss are meant for mean" in said


def test_a_strategy_with_its_config_runs_as_the_method_in_one_class() -> None:
    given: dict[str, Any] = {"rounds": 6, "clients_per_round": 2, "explore": 0.5, "engine": "host"}
    given |= {"num_clients": 6, "size_limit": 60}
    one, two = (
        simulate(None, "greedy_loss", "always", plugins=[str(plugin)], **given)
        for plugin in (PLUGINS / "greedy_loss.py", TWO_CLASSES)
    )
    for name, array in one.selection.items():
        np.testing.assert_array_equal(array, two.selection[name], err_msg=name)
    for a, b in zip(one.weights, two.weights, strict=True):
        np.testing.assert_array_equal(a, b)


# The other plug-ins run on the command line as part of a campaign, below.
ALONE = ("greedy_loss", "smoothed_varp")


@pytest.mark.parametrize(
    "name",
    [name if name in ALONE else pytest.param(name, marks=pytest.mark.slow) for name in CASES],
)
def test_a_plugin_on_the_command_line(name: str, tmp_path: Path, command: Command) -> None:
    plugin = f"--plugin={PLUGINS / name}.py"
    arguments = ["run", plugin, *CASES[name], *SMALL, "--run_name=x"]
    assert "x finished: round 4" in command(*arguments, cwd=tmp_path)
    config = json.loads((tmp_path / "runs/x/config.json").read_text())
    flag, value = CASES[name][-1][2:].split("=")
    assert str(config["settings"][flag]) == value
    (entry,) = config["plugins"]
    assert entry["name"] == name
    assert config["identity"]["plugins"] == {name: entry["sha256"]}
    assert "already finished" in command(*arguments, cwd=tmp_path)
    help_page = command("run", plugin, "--help", cwd=tmp_path)
    assert f"--{flag}" in help_page
    assert "nargs" not in help_page


def test_a_changed_plugin_is_another_run(tmp_path: Path, command: Command) -> None:
    plugin = tmp_path / "mine.py"
    plugin.write_text((PLUGINS / "commuters.py").read_text())
    arguments = ["run", f"--plugin={plugin}", "--availability=commuters", *SMALL, "--run_name=x"]
    command(*arguments, cwd=tmp_path)
    plugin.write_text(plugin.read_text() + "\n# changed\n")
    refused = command(*arguments, cwd=tmp_path, code=2)
    assert len(refused.splitlines()) == 1
    assert "a plug-in in use is another, or has changed" in refused


def test_misuse_is_one_line(tmp_path: Path, command: Command) -> None:
    plugin = f"--plugin={PLUGINS / 'greedy_loss.py'}"
    for arguments, says in [
        ([plugin, "--explore=0.5"], "--explore=0.5: only applies with algorithm greedy_loss"),
        ([plugin, "--algorithm=greedy_los"], "did you mean greedy_loss?"),
        ([plugin, "--algorithm=greedy_loss", "--explore=2"], "--explore=2.0: must be at least 0"),
        (
            ["--algorithm=greedy_loss"],
            "--algorithm=greedy_loss: did you mean oort_loss? It must be one of",
        ),
        (["--plugin=missing.py"], "--plugin=missing.py: not found"),
    ]:
        refused = command("run", *arguments, cwd=tmp_path, code=2)
        assert says in refused
        assert len(refused.splitlines()) == 1
    assert not (tmp_path / "runs").exists()


GRID = """
about = "Runs with and without each."

[settings]
num_clients = 10
clients_per_round = 3
rounds = 4
eval_every = 2
explore = 0.5

[[variants]]
name = "own-strategy"
engine = "host"
algorithm = "greedy_loss"

[[variants]]
name = "own-data-and-aggregation"
task = "moons"
algorithm = "fedavg"
aggregation = "clipped_mean"

[[variants]]
name = "own-availability"
engine = "host"
algorithm = "f3ast"
availability = "commuters"
"""
USED = {
    "own-strategy": {"greedy_loss"},
    "own-data-and-aggregation": {"moons", "clipped_mean"},
    "own-availability": {"commuters"},
}


@pytest.fixture(scope="module")
def campaign(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A finished campaign of all five plug-ins."""
    folder = tmp_path_factory.mktemp("campaign")
    (folder / "mine.toml").write_text(GRID)
    plugins = [f"--plugin={PLUGINS / name}.py" for name in CASES]
    handler, environment = signal.getsignal(signal.SIGTERM), dict(os.environ)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        assert main(["f3ast-tff", "campaign", "mine.toml", "--processes=1", *plugins]) == 0
    signal.signal(signal.SIGTERM, handler)
    os.environ.clear()
    os.environ.update(environment)
    return folder


@pytest.mark.long
def test_plugins_in_a_campaign(campaign: Path) -> None:
    """A setting reaches the runs whose component has it; each run records the plug-ins it uses."""
    configs = {
        path.parent.name: json.loads(path.read_text())
        for path in (campaign / "runs/mine/runs").glob("*/config.json")
    }
    used = {
        name: {plugin["name"] for plugin in config["plugins"]} for name, config in configs.items()
    }
    assert used == USED
    with_setting = [name for name, config in configs.items() if "explore" in config["settings"]]
    assert with_setting == ["own-strategy"]
    assert not (campaign / "runs/mine/.compiled").exists()


@pytest.mark.long
def test_plugins_in_the_report_without_being_loaded(campaign: Path, command: Command) -> None:
    """Runs record the display names of their components."""
    command("report", f"--runs={campaign / 'runs'}", "--out=report", cwd=campaign)
    page = (campaign / "report/report.html").read_text()
    for display in ("Greedy loss", "F3AST"):
        assert display in page
    compared = command("compare", f"--runs={campaign / 'runs'}", "--out=x.png", cwd=campaign)
    assert "Greedy loss" in compared
    assert (campaign / "x.png").stat().st_size > 1000


@pytest.mark.parametrize(
    ("name", "engine"),
    [
        *((name, "fused") for name in ("greedy_loss", "commuters", "clipped_mean")),
        # Plug-in parts that reach TFF: scoring of candidates, and an aggregation.
        *(pytest.param(n, "tff", marks=pytest.mark.long) for n in ("greedy_loss", "clipped_mean")),
        pytest.param("commuters", "tff", marks=pytest.mark.slow),
    ],
)
def test_plugins_in_one_call(name: str, engine: str) -> None:
    settings: dict[str, Any] = {}
    for flag in CASES[name]:
        key, value = flag[2:].split("=")
        settings[key] = float(value) if "." in value else int(value) if value.isdigit() else value
    small = {"num_clients": 10, "clients_per_round": 3, "rounds": 3, "engine": engine}
    result = simulate(plugins=[str(PLUGINS / f"{name}.py")], **settings, **small)
    assert list(result.metrics["round"]) == [3]
    assert np.isfinite(result.metrics["test_sample_loss"]).all()


def test_a_model_in_jax_alone_is_refused_by_tff(tmp_path: Path, command: Command) -> None:
    plugin = f"--plugin={PLUGINS / 'moons.py'}"
    refused = command("run", plugin, "--task=moons", "--engine=tff", *SMALL, cwd=tmp_path, code=2)
    assert refused.startswith("error: --engine=tff: ")
    assert len(refused.splitlines()) == 1


@pytest.mark.parametrize(
    ("before", "after", "says"),
    [
        (
            "def build(self, p: np.ndarray, seed: int)",
            "def build(self)",
            "must take (self, p, seed)",
        ),
        ("return Turns(", "return print(", "availability NoneType: has no num_clients, mask"),
        (
            "return Turns(",
            "return type('Own', (Turns,), {'mask': lambda self, t: np.ones(10)})(",
            "Own: mask(1) returned shape (10,) and dtype float64",
        ),
        ("(AvailabilityConfig)", "", "must derive from AvailabilityConfig"),
    ],
)
def test_a_plugin_that_breaks_a_protocol_ends_in_one_line(
    before: str, after: str, says: str, tmp_path: Path, command: Command
) -> None:
    source = (PLUGINS / "commuters.py").read_text()
    assert before in source
    (tmp_path / "broken.py").write_text(source.replace(before, after))
    run = ["run", "--plugin=broken.py", "--availability=commuters", *SMALL]
    refused = command(*run, cwd=tmp_path, code=2)
    errors = [line for line in refused.splitlines() if line]
    assert says in errors[-1]
    assert "Traceback" not in refused
