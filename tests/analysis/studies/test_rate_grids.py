"""Whether methods had one grid of rates, on small grids by hand."""

from __future__ import annotations

import itertools

import pytest

from f3ast_tff.analysis.studies.rate_grids import Pair, best_of, edge_of, unequal_grids

GRID = list(itertools.product((0.01, 0.03, 0.1), (1.0, 3.0, 10.0)))
MIDDLE, CORNER = (0.03, 3.0), (0.1, 10.0)
# The pairs beside the corner.
BESIDE = [(0.03, 30.0), (0.1, 30.0), (0.3, 3.0), (0.3, 10.0), (0.3, 30.0)]


def means(pairs: list[Pair], *best: Pair) -> dict[Pair, float]:
    """Means of .5, and of .6, .7, ... for the best pairs."""
    return {pair: 0.6 + 0.1 * best.index(pair) if pair in best else 0.5 for pair in pairs}


def test_of_equal_means_the_smallest_rates_win() -> None:
    assert best_of({(0.1, 1.0): 0.5, (0.03, 3.0): 0.5, (0.03, 10.0): 0.5}) == (0.03, 3.0)


def test_the_corner_of_a_grid_has_five_pairs_beside_it() -> None:
    assert edge_of(MIDDLE, GRID) == ("", [])
    assert edge_of(CORNER, GRID) == ("both", BESIDE)
    assert edge_of((0.1, 3.0), GRID).rates == "client"


def test_the_same_pairs_are_one_grid_whatever_their_form() -> None:
    some = [(0.01, 1.0), (0.1, 30.0), (7.0, 0.2)]
    assert unequal_grids({"a": means(some), "b": means(some, some[2])}) == ""


def test_a_grid_extended_where_a_choice_lies_on_its_edge_is_the_same_grid() -> None:
    """Method b's best lies inside, so it has 9 pairs; c's best is on the new edge and stays."""
    extended = means([*GRID, *BESIDE], CORNER)
    at_new_edge = means([*GRID, *BESIDE], CORNER, (0.3, 30.0))
    inside = means(GRID, MIDDLE)
    assert unequal_grids({"a": extended, "b": inside, "c": at_new_edge}) == ""
    further = [(0.1, 100.0), (0.3, 100.0), (1.0, 10.0), (1.0, 30.0), (1.0, 100.0)]
    twice = means([*GRID, *BESIDE, *further], CORNER, (0.3, 30.0), (1.0, 30.0))
    assert unequal_grids({"b": inside, "c": at_new_edge, "d": twice}) == ""


def test_two_methods_may_share_a_part_of_their_further_pairs() -> None:
    """Pairs beside (0.1, 10) and beside (0.1, 3) share (0.3, 3) and (0.3, 10)."""
    side = [(0.3, 1.0), (0.3, 3.0), (0.3, 10.0)]
    one = means([*GRID, *BESIDE], CORNER)
    other = means([*GRID, *side], (0.1, 3.0), (0.3, 3.0))
    assert unequal_grids({"a": one, "b": other}) == ""


SMALL = [(0.01, 1.0), (0.03, 1.0), (0.1, 1.0)]


@pytest.mark.parametrize(
    ("one", "other", "why"),
    [
        (
            means(SMALL, SMALL[1]),
            means([*SMALL, *((client, 3.0) for client, _ in SMALL)], SMALL[1]),
            "b has client_lr 0.01, server_lr 3, not beside its best from the common grid of 3",
        ),
        (
            means(GRID, CORNER),
            means([*GRID, *BESIDE], CORNER),
            "a lacks client_lr 0.03, server_lr 30, beside its best of the common grid of 9",
        ),
        (
            means(GRID, MIDDLE),
            means([*GRID, (0.3, 3.0)], MIDDLE),
            "b has client_lr 0.3, server_lr 3, not beside its best from the common grid of 9",
        ),
        (means(SMALL), means([(1.0, 1.0)]), "no pair is common to all"),
    ],
    ids=["3 and 6 pairs", "only one was extended", "a pair on no edge", "nothing in common"],
)
def test_other_grids_are_unequal(
    one: dict[Pair, float], other: dict[Pair, float], why: str
) -> None:
    said = unequal_grids({"a": one, "b": other})
    for name, pairs in (("a", one), ("b", other)):
        assert f"{len(pairs)} pairs: {name}" in said
    assert said.endswith(f"({why})")
