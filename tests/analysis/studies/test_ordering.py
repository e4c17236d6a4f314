"""The ranking of algorithms with paired differences."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from f3ast_tff.analysis.runs import Pair, load_runs
from f3ast_tff.analysis.studies.ordering import main, rankings
from tests.analysis.conftest import MakeRun


@pytest.fixture
def order(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> Callable[..., tuple[int, list[str], str]]:
    def call(*args: object) -> tuple[int, list[str], str]:
        code = main(["ordering", f"--runs={tmp_path / 'runs'}", *map(str, args)])
        out, err = capsys.readouterr()
        return code, out.splitlines(), err

    return call


def three_seeds(make_run: MakeRun, algorithm: str, accuracies: list[float], **more: object) -> None:
    for seed, accuracy in enumerate(accuracies):
        name = f"{algorithm}-{seed}-{'-'.join(map(str, more.values()))}"
        make_run(name, accuracy, loss=1 - accuracy, algorithm=algorithm, seed=seed, **more)


def test_best_first_with_the_difference_to_the_next(make_run: MakeRun, order: Callable) -> None:
    """Differences 0.1, 0.2, 0.3: mean 0.2, standard error 0.1 / sqrt 3, t(2) = 4.3027."""
    three_seeds(make_run, "unbiased", [0.3, 0.3, 0.3])
    three_seeds(make_run, "ca_fed", [0.4, 0.5, 0.6], kappa2=1.0)
    three_seeds(make_run, "adafed", [0.2, 0.2, 0.2])
    code, lines, err = order()
    assert (code, err) == (0, "")
    assert lines[0] == "synthetic, always, 4 rounds, engine tff"
    rows = [line.split() for line in lines if "±" in line and "[" in line or line[:3] == "Ada"]
    assert [row[0] for row in rows] == ["CA-Fed", "Unbiased", "AdaFed"]
    assert " ".join(rows[0][1:]) == "1 3 0.5000 ± 0.1000 +0.2000 [-0.0484, +0.4484] (3 seeds)"
    assert rows[1][-5:] == ["+0.1000", "[+0.1000,", "+0.1000]", "(3", "seeds)"]
    assert rows[2][-1] == "-"


def test_differences_over_draws(make_run: MakeRun, order: Callable) -> None:
    """Draw means 0.5, 0.6, 0.7 over 0.3: differences 0.2, 0.3, 0.4, standard error 0.1 / sqrt 3.

    Five more seeds on draw 0 do not change the mean over draws.
    """
    for draw, accuracy in enumerate([0.5, 0.6, 0.7]):
        for seed in range(6 if draw == 0 else 1):
            make_run(f"a{draw}{seed}", accuracy, algorithm="ca_fed", data_seed=draw, seed=seed)
            make_run(f"b{draw}{seed}", 0.3, algorithm="unbiased", data_seed=draw, seed=seed)
    _, lines, _ = order()
    found = " ".join(lines[3].split())
    assert found == "CA-Fed 3 8 0.6000 ± 0.1000 +0.3000 [+0.0516, +0.5484] (3 draws)"
    text = "\n".join(lines)
    assert "over 3 draws of the data;" in text and "cover draws of the data" in text
    assert "share one draw of the availability" not in text


def test_one_draw_of_the_availability_is_said(make_run: MakeRun, order: Callable) -> None:
    for algorithm in ("ca_fed", "unbiased"):
        three_seeds(make_run, algorithm, [0.3, 0.4], availability_draws="by_round_only")
    assert "share one draw of the availability" in order()[1][-1]


def test_a_low_loss_and_another_round(make_run: MakeRun, order: Callable, tmp_path: Path) -> None:
    three_seeds(make_run, "unbiased", [0.3, 0.3])
    three_seeds(make_run, "ca_fed", [0.4, 0.5])
    _, lines, _ = order("--score=sample_loss")
    assert [line.split()[0] for line in lines if " ± " in line][:2] == ["CA-Fed", "Unbiased"]
    assert "-0.1500" in lines[3]
    ranked = rankings(load_runs(tmp_path / "runs"), "sample_accuracy", 2)
    both = {Pair(0, 0): 0.25, Pair(0, 1): 0.25}
    assert [scores for _, _, scores in ranked[0].methods] == [both, both]


def test_a_condition_without_the_one_is_left_out(make_run: MakeRun, order: Callable) -> None:
    three_seeds(make_run, "unbiased", [0.3, 0.3, 0.3])
    three_seeds(make_run, "adafed", [0.2, 0.2, 0.2])
    three_seeds(make_run, "adafed", [0.2, 0.2, 0.2], availability="scarce")
    code, lines, err = order("--against=unbiased")
    assert code == 0
    assert err == "left out: synthetic, scarce, 4 rounds, engine tff: has no unbiased\n"
    assert sum("AdaFed" in line for line in lines) == 1


def test_all_against_one(make_run: MakeRun, order: Callable) -> None:
    three_seeds(make_run, "unbiased", [0.3, 0.3])
    three_seeds(make_run, "ca_fed", [0.5, 0.5])
    three_seeds(make_run, "adafed", [0.4, 0.4])
    _, lines, _ = order("--against=unbiased")
    assert lines[2].endswith("minus Unbiased")
    assert lines[3].endswith("+0.2000 [+0.2000, +0.2000] (2 seeds)")
    assert lines[5].endswith("-")
    code, _, err = order("--against=poc")
    assert code == 2
    assert "--against=poc: must be one of those compared; found none" in err


def test_two_forms_of_an_algorithm_are_told_apart(make_run: MakeRun, order: Callable) -> None:
    """One ranking holds F3AST in two readings, and an algorithm with another K."""
    three_seeds(make_run, "f3ast", [0.3, 0.3])
    three_seeds(make_run, "f3ast", [0.2, 0.2], reading="released", ties="lowest_id")
    three_seeds(make_run, "unbiased", [0.4, 0.4], clients_per_round=9)
    _, lines, _ = order()
    names = [line.split("  ")[0] for line in lines[3:6]]
    assert names[0] == "Unbiased (reading paper, 9 clients a round)"
    assert names[1].startswith("F3AST (reading paper")
    assert names[2].startswith("F3AST (reading released")


def test_other_conditions_are_ranked_apart(make_run: MakeRun, order: Callable) -> None:
    three_seeds(make_run, "f3ast", [0.3, 0.3])
    three_seeds(make_run, "f3ast", [0.2, 0.2], batch_size=5)
    _, lines, _ = order()
    assert [line for line in lines if "batch_size" in line] == [
        "synthetic, always, 4 rounds, engine tff, batch_size 5",
        "synthetic, always, 4 rounds, engine tff, batch_size 20",
    ]


def test_one_seed_has_no_interval_and_divergence_is_last(
    make_run: MakeRun, order: Callable
) -> None:
    make_run("a", None, algorithm="unbiased")
    make_run("b", 0.1, algorithm="ca_fed")
    _, lines, _ = order()
    assert [line.split() for line in lines[3:5]] == [
        ["CA-Fed", "1", "1", "0.1000", "-"],
        ["Unbiased", "1", "1", "diverged", "-"],
    ]
