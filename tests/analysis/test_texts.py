"""Words on the population that numbers cover."""

from __future__ import annotations

from pathlib import Path

from f3ast_tff.analysis.paired_difference import PairedDifference
from f3ast_tff.analysis.run_groups import Score, collect
from f3ast_tff.analysis.texts import of_intervals, of_spread, over
from tests.analysis.conftest import MakeRun


def difference(num_pairs: int, num_draws: int) -> PairedDifference:
    return PairedDifference(0.1, 0.1, num_pairs, num_draws)


def test_over() -> None:
    assert over(difference(24, 12)) == "12 draws"
    assert over(difference(3, 1)) == "3 seeds"
    assert over(Score(0.5, 0.1, 1, 1)) == "1 seed"
    assert over(None) == "–"


def test_intervals_over_draws_and_over_seeds_are_told_apart() -> None:
    seeds, six, nine = difference(3, 1), difference(6, 6), difference(18, 9)
    assert of_intervals([seeds, None]) == "intervals cover seeds of one draw of the data"
    assert of_intervals([six, nine]) == ("intervals cover draws of the data, 6 to 9 of them")
    assert of_intervals([six, seeds]) == (
        "intervals cover draws of the data, 6 of them, or (rows that count seeds) seeds of one "
        "draw of the data"
    )
    assert of_intervals([None]) == ""


def test_spread_names_the_shared_availability(make_run: MakeRun, tmp_path: Path) -> None:
    make_run("a", seed=0)
    make_run("b", seed=1)
    make_run("c", algorithm="poc", data_seed=0)
    make_run("d", algorithm="poc", data_seed=1)
    groups = collect(tmp_path).groups
    assert of_spread(groups) == "± over 2 draws of the data or 2 seeds of one draw of the data"
    make_run("e", algorithm="fedavg", availability_draws="by_round_only")
    assert "share one draw of the availability" in of_spread(collect(tmp_path).groups)
