"""`f3ast-tff try`."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from f3ast_tff.advice import own_method
from f3ast_tff.cli.try_method import _warn
from f3ast_tff.settings.registry import registry_with
from tests.commands import Cli
from tests.f3ast_tff.conformance.right_plugins import SOURCES

ROOT = Path(__file__).resolve().parents[3]
PLUGIN = str(ROOT / "examples/plugins/greedy_loss.py")
MEMORY_METHOD = """
from dataclasses import dataclass

from f3ast_tff.methods.parts.aggregation import Aggregation
from f3ast_tff.settings import register


@register("aggregation", "mine", "Mine", about="a sum", order=900)
@dataclass(frozen=True)
class Mine(Aggregation):
    def memory(self):
        return None
"""
SMALL = ["--against=fedavg", "--tune=client_lr=0.01,0.1", "--rounds=2", "--processes=1"]


@pytest.mark.long
def test_from_a_plug_in_to_a_verdict_and_on_after_a_loss(
    cwd: Path, monkeypatch: pytest.MonkeyPatch, cli: Cli
) -> None:
    """The second call repeats the first, and makes anew only the run that is lost."""
    monkeypatch.setattr(own_method, "TUNING_DRAWS", "100")
    monkeypatch.setattr(own_method, "JUDGED_DRAWS", "0-1")
    verdicts = []
    for before in (0, 3):
        out = cli.out("try", PLUGIN, *SMALL)
        assert "4 runs to tune, then 4 to judge" in out
        assert f"4 of 4 runs finished ({before} of them before)" in out
        assert ("8 runs left" in out) == (before == 0)
        verdicts.append(out.partition("greedy_loss against FedAvg")[2])
        lost = next(cwd.glob("runs/try_greedy_loss/judged/runs/*"))
        shutil.rmtree(lost)
    assert verdicts[0] == verdicts[1] != ""
    assert "more: f3ast-tff report --runs=" in verdicts[0]
    page = cwd / "runs/try_greedy_loss/verdict.html"
    assert str(page) in verdicts[0]
    assert "2 settings tried of each method" in page.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([], "a plug-in must be named first"),
        (["gone.py"], "gone.py"),
        ([PLUGIN, "--against=x"], "algorithm x must be one of"),
        ([PLUGIN, "--seed=1"], "--seed=1: is set by the command"),
        ([PLUGIN, "--tune=x=1"], "--tune=x=1: no method here has a setting x"),
        ([PLUGIN, "--against=f3ast+x=1"], "--against=f3ast+x=1: Unknown command line flag 'x'"),
        (
            [str(ROOT / "examples/plugins/commuters.py")],
            "registers 0 methods; name one to run on it, such as f3ast",
        ),
        ([PLUGIN, "--rounds=0"], "--rounds=0: must be at least 1"),
    ],
)
def test_refused(words: list[str], message: str, cwd: Path, cli: Cli) -> None:
    assert message in cli.err("try", *words)
    assert not any(cwd.iterdir())


def test_a_score_that_the_runs_lack_is_refused_before_they_are_tuned(cwd: Path, cli: Cli) -> None:
    printed = cli.err("try", PLUGIN, *SMALL, "--score=user_mae")
    assert "--score=user_mae: must be one of sample_accuracy" in printed
    assert not any(cwd.glob("runs/*/tuning/runs"))


def test_a_memory_that_is_a_method(cwd: Path, cli: Cli) -> None:
    plugin = cwd / "mine.py"
    plugin.write_text(MEMORY_METHOD)
    assert "memory is a method, must be a value: write @property" in cli.err("try", plugin, *SMALL)


def test_a_fault_that_many_properties_meet_is_warned_of_once(cwd: Path, cli: Cli) -> None:
    code = "def select(self, now): return np.arange(1)\nMine.select = select"
    (cwd / "mine.py").write_text(SOURCES["algorithm"].replace("REPLACED", code))
    _warn(registry_with([str(cwd / "mine.py")]))
    assert cli.printed().err.count("WARNING") == 1


def test_help(cli: Cli) -> None:
    assert "--against" in cli.out("try", "--help")
