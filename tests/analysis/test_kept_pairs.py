"""What kept studies know of two methods: `compare --kept A B`."""

from __future__ import annotations

import re
from collections import Counter
from types import SimpleNamespace

import pytest

from f3ast_tff.advice.candidates import candidate
from f3ast_tff.analysis.leaderboard import kept_pairs as module
from f3ast_tff.analysis.leaderboard.kept_pairs import COLUMNS, kept_pairs
from f3ast_tff.campaigns.study_folders import STUDIES
from f3ast_tff.settings import builtin_registry
from tests.commands import Cli

FEDAVG = "fedavg+baseline_sampling=without_replacement"
NAMES = ("availability_methods_48_draws", "fig2_course")


@pytest.fixture(autouse=True)
def few_studies(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two of the kept studies: all of them take ten seconds per pair."""
    grids = [STUDIES / name / "grid.toml" for name in NAMES]
    monkeypatch.setattr(module, "STUDIES", SimpleNamespace(glob=lambda pattern: grids))


@pytest.mark.long
def test_a_pair_is_found_with_its_plan_and_both_scores() -> None:
    """The front page's pair under staircase availability with p_k = 1 / N, on 40 and 8 draws."""
    a, b = (candidate(text, builtin_registry()) for text in ("f3ast", FEDAVG))
    table, left_out = kept_pairs(a, b, "availability=staircase,client_share=equal")
    assert list(table) == list(COLUMNS) and all("has no run of" in line for line in left_out)
    found = table.set_index(["study", "score"])
    assert found.loc[("availability_methods_48_draws", "user_accuracy"), "draws"] == 40
    assert found.loc[("availability_methods_48_draws", "sample_accuracy"), "round"] == 1000
    assert found.loc[("availability_methods_48_draws", "user_accuracy"), "asked"] == "2026-11-26"
    back, _ = kept_pairs(b, a, "availability=staircase,client_share=equal")
    assert back["difference"].tolist() == pytest.approx([-each for each in table["difference"]])


def test_conditions_have_names_of_their_own(monkeypatch: pytest.MonkeyPatch) -> None:
    """Quorums, which asynchronous runs of the same study do not have."""
    clinics = [STUDIES / "clinics/grid.toml"]
    monkeypatch.setattr(module, "STUDIES", SimpleNamespace(glob=lambda pattern: clinics))
    a, b = (candidate(text, builtin_registry()) for text in ("f3ast", "fedavg"))
    table, _ = kept_pairs(a, b)
    assert len(table) > 20 and not table.duplicated(["where", "client_share", "score"]).any()


@pytest.mark.long
def test_on_the_terminal(cli: Cli) -> None:
    out = cli.out("compare", "--kept", "f3ast", FEDAVG, "--availability=sine")
    first, counts, *more = out.splitlines()
    assert first == "F3AST minus FedAvg, without replacement, in the kept studies"
    numbers = [int(each) for each in re.findall(r"in (\d+)", counts)]
    verdicts = re.findall(r"; (better|worse|too close to call|not judged)", out)
    assert counts.endswith(f" of {sum(numbers)} comparisons")
    assert sorted(numbers) == sorted(Counter(verdicts).values())
    assert "  Sine, p_k = 1 / N: user accuracy +0.0" in out and "better, 40 draws" in out
    words = ["--availability=no_such", "--client_share=equal"]
    assert "no_such" in cli.err("compare", "--kept", "f3ast", "fedau", *words)


@pytest.mark.long
def test_a_pair_that_was_not_run_has_its_commands_and_their_cost(cli: Cli) -> None:
    words = ["--availability=home_devices", "--client_share=equal"]
    assert "fedasync+rounds=1" in cli.err("compare", "--kept", "feddyn", "fedasync+rounds=1")
    lines = cli.out("compare", "--kept", "feddyn", "oort_loss", *words).splitlines()
    assert lines[0].startswith("not run: no kept study has FedDyn and Oort (loss) under")
    assert "--algorithm=feddyn --rounds=1000 --data_seed=0-7 --output_dir=runs/pair" in lines[1]
    assert lines[3] == "  f3ast-tff compare runs/pair" and "minutes of a core" in lines[4]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["f3ast"], "--kept=f3ast: the other method must follow"),
        (["f3ast", "fedavgg"], "--against=fedavgg: algorithm fedavgg did you mean fedavg?"),
        (["f3ast", "fedavg", "--tasks=x"], "Unknown command line flag 'tasks'"),
    ],
)
def test_refused(words: list[str], message: str, cli: Cli) -> None:
    assert message in cli.err("compare", "--kept", *words)


@pytest.mark.long
def test_the_scores_of_every_study_fit_its_campaign(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()
    a, b = (candidate(text, builtin_registry()) for text in ("f3ast", FEDAVG))
    table, left_out = kept_pairs(a, b, "availability=staircase,client_share=equal")
    assert {*table["study"]} > {NAMES[0]} and all("has no run of" in line for line in left_out)
