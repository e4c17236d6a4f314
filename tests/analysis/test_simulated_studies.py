"""Coverage and error of intervals and verdicts, over many simulated studies.

A study is drawn from the two-level model: a difference of draw i and seed j is mu + a_i + e_ij with
a_i ~ N(0, 0.05^2) and e_ij ~ N(0, 0.03^2), as F3AST minus FedAvg on draws of Synthetic(1, 1).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from f3ast_tff.analysis.paired_difference import PairedDifference, paired_difference
from f3ast_tff.analysis.run_groups import Pair
from f3ast_tff.analysis.verdicts import HOLDS, MARGIN, Question, judge_family

BETWEEN, WITHIN = 0.05, 0.03
STUDIES = 3000
BALANCED = (1,) * 12
UNEQUAL = (1, 2, 3, 4, 6, 8)


def study(
    random: np.random.Generator,
    num_seeds: Sequence[int],
    mu: float,
    between: float = BETWEEN,
    within: float = WITHIN,
) -> PairedDifference:
    """One study: `num_seeds` of each draw, differences around `mu`."""
    differences = {}
    for draw, n in enumerate(num_seeds):
        effect = mu + between * random.standard_normal()
        for seed, noise in enumerate(random.standard_normal(n)):
            differences[Pair(draw, seed)] = effect + within * noise
    return paired_difference(differences, dict.fromkeys(differences, 0.0))


def coverage(num_seeds: Sequence[int], **given: float) -> float:
    random = np.random.default_rng(15)
    found = [study(random, num_seeds, 0.02, **given).interval(0.95) for _ in range(STUDIES)]
    return float(np.mean([low <= 0.02 <= high for low, high in found]))


@pytest.mark.parametrize(
    ("num_seeds", "within"),
    [
        (BALANCED, WITHIN),
        ((3,) * 5, WITHIN),
        (UNEQUAL, WITHIN),
        # Seeds that differ more than draws.
        (UNEQUAL, 3 * BETWEEN),
    ],
)
def test_intervals_over_draws_cover_the_mean_over_draws(
    num_seeds: tuple[int, ...], within: float
) -> None:
    assert 0.93 <= coverage(num_seeds, within=within) <= 0.97


def test_intervals_over_seeds_of_one_draw_do_not() -> None:
    """They cover mu + a_1: with ten seeds a standard error of 0.0095 where a_1 varies by 0.05."""
    assert coverage((10,)) < 0.4
    # What they are an interval of.
    assert 0.93 <= coverage((10,), between=0.0) <= 0.97


@pytest.mark.parametrize("num_seeds", [BALANCED, UNEQUAL])
@pytest.mark.parametrize(
    ("relation", "mu"), [("better", 0.0), ("not worse", -MARGIN), ("same", MARGIN)]
)
def test_a_family_without_effect_seldom_holds_anything(
    num_seeds: tuple[int, ...], relation: str, mu: float
) -> None:
    """Ten claims, each at the edge of its null hypothesis."""
    random = np.random.default_rng(7)
    families, false, uncorrected = 500, 0, 0
    # `same` has no power at all against draws that vary by 0.05.
    between, within = (0.004, 0.002) if relation == "same" else (BETWEEN, WITHIN)
    for _ in range(families):
        family = [
            Question(relation, True, None, study(random, num_seeds, mu, between, within))
            for _ in range(10)
        ]
        false += any(verdict.verdict == HOLDS for verdict in judge_family(family))
        uncorrected += any(judge_family([each])[0].verdict == HOLDS for each in family)
    assert false / families <= 0.05
    # Without the correction: 1 - 0.975^10 = 22%.
    assert uncorrected / families > 0.12


def test_a_true_effect_is_found_among_claims_without_one() -> None:
    """A mean of 2 standard deviations over 12 draws; nine claims without effect beside it."""
    random = np.random.default_rng(3)
    held = 0
    for _ in range(200):
        family = [
            Question("better", True, None, study(random, BALANCED, 0.12 if n == 0 else 0.0))
            for n in range(10)
        ]
        held += judge_family(family)[0].verdict == HOLDS
    assert held / 200 > 0.95
