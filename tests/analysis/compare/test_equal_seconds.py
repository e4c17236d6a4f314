"""Methods at equal simulated seconds, and the time until a score, with runs that never have it."""

from __future__ import annotations

from pathlib import Path

import pytest

from f3ast_tff.analysis.compare.equal_seconds import AtSeconds, arrived
from f3ast_tff.analysis.compare.scored import RunsError
from f3ast_tff.analysis.compare.times import Time
from f3ast_tff.analysis.report.build import build
from f3ast_tff.analysis.report.document import Text
from f3ast_tff.analysis.results_frame import read_results
from f3ast_tff.analysis.run_groups import collect
from f3ast_tff.cli.compare import main
from f3ast_tff.core.errors import ParameterError
from tests.analysis.conftest import MakeRun
from tests.analysis.test_analysis_curves import with_columns
from tests.commands import Cli

FAST, SLOW = [10.0, 20.0], [40.0, 80.0]


@pytest.fixture
def runs(make_run: MakeRun, tmp_path: Path) -> Path:
    """Five draws: F3AST is evaluated at 10 and 20 s, .25 and .6; FedAvg at 40 and 80 s.

    FedAvg has .25, and .5 at the end but in draw 0, where it has .7.
    """
    for draw in range(5):
        for algorithm, seconds in (("f3ast", FAST), ("fedavg", SLOW)):
            last = {"f3ast": 0.6 + 0.01 * draw, "fedavg": 0.7 if draw == 0 else 0.5}[algorithm]
            folder = make_run(
                f"{algorithm}{draw}",
                last,
                algorithm=algorithm,
                data_seed=draw,
                rounds=4 if algorithm == "f3ast" else 5,
                delivery="asynchronous",
            )
            late = [seconds[0], seconds[1] + (60 if algorithm == "f3ast" else draw)]
            with_columns(folder, simulated_seconds=late)
    return tmp_path / "runs"


def test_scores_are_those_of_the_last_evaluation_up_to_s(runs: Path) -> None:
    groups = collect(runs).groups
    at = AtSeconds(80)
    assert at.time(groups) == AtSeconds().time(groups) == Time(seconds=80)
    for fedavg, f3ast, when in ((*at.cut(groups), Time()), (*groups, at.time(groups))):
        assert list(f3ast.at("sample_accuracy", when).values()) == pytest.approx(
            [0.6, 0.61, 0.62, 0.63, 0.64]
        )
        # Only draw 0 has its second evaluation by 80 s.
        assert list(fedavg.at("sample_accuracy", when).values()) == [0.7, *[0.25] * 4]
    with pytest.raises(ParameterError, match="seconds = 81: must be at most 80, when .*f3ast"):
        AtSeconds(81).cut(groups)
    with pytest.raises(RunsError, match="fedavg0 has no evaluation up to 20 seconds"):
        AtSeconds(20).cut(groups)


def test_a_run_that_never_has_the_score_counts_as_s(runs: Path) -> None:
    groups = collect(runs).groups
    time = AtSeconds(80, reach=0.6).time(groups)
    fedavg, f3ast = (group.at("sample_accuracy", time) for group in groups)
    assert list(f3ast.values()) == [80] * 5 and list(fedavg.values()) == [80] * 5
    assert [arrived(group, "sample_accuracy", time) for group in groups] == [1, 5]
    low = Time(seconds=80, reach=0.25)
    assert [set(g.at("sample_accuracy", low).values()) for g in groups] == [{40.0}, {10.0}]
    loss = Time(seconds=80, reach=1.5)
    assert loss.name_of("user_loss") == "user_seconds_to_1.5_loss"
    assert [arrived(group, "sample_loss", loss) for group in groups] == [1, 5]


@pytest.mark.long
def test_compare_judges_at_equal_seconds(runs: Path, tmp_path: Path, cli: Cli) -> None:
    flags = [f"--runs={runs}", f"--out={tmp_path / 'a.png'}"]
    said = cli.said(main(["compare", *flags, "--reach=0.25"])).out
    assert "FedAvg: 5 of 5 runs reach sample accuracy 0.25, 40 s on average" in said
    words = "by 30.000 [30.000, 30.000] (simulated seconds until 0.25, at most 80) over 5 draws."
    assert f"F3AST is better than FedAvg {words}" in said
    assert "They differ in rounds (4, 5)." in said
    printed = cli.said(main(["compare", *flags, "--x=simulated_seconds"])).out
    assert "at 80 simulated seconds" in " ".join(printed.split())
    printed = cli.said(main(["compare", *flags])).out
    assert "Not compared: F3AST with FedAvg, they differ in rounds" in printed
    assert main(["compare", *flags, "--seconds=0"]) == 2
    assert main(["compare", *flags, "--x=bytes", "--reach=.5"]) == 2


def test_report_and_results_compare_asynchronous_runs_at_equal_seconds(runs: Path) -> None:
    section = build(collect(runs), "final").sections[0]
    texts = [block.text for block in section.blocks if isinstance(block, Text)]
    assert any("on test data at 80 simulated seconds, over runs" in text for text in texts)
    (row,) = read_results(runs).differences(at=AtSeconds()).to_dict("records")
    assert row["a"] == "F3AST" and row["difference"] == pytest.approx(0.62 - (0.7 + 4 * 0.25) / 5)
    (row,) = read_results(runs).differences(at=AtSeconds(reach=0.25)).to_dict("records")
    assert row["difference"] == -30


@pytest.mark.parametrize(
    "given", [{"seconds": 0}, {"seconds": float("inf")}, {"reach": float("nan")}]
)
def test_refused(given: dict[str, float]) -> None:
    with pytest.raises(ParameterError):
        AtSeconds(**given)
