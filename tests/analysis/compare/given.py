"""Claims with a given difference."""

from __future__ import annotations

from f3ast_tff.analysis.compare.judge import Claim
from f3ast_tff.analysis.compare.paired_difference import PairedDifference
from f3ast_tff.analysis.compare.pairs import Paired
from f3ast_tff.analysis.compare.scored import Pair


def claim(
    found: PairedDifference | None,
    relation: str = "better",
    upwards: bool = True,
    printed: float | None = None,
    diverged: tuple[int, int] = (0, 0),
    obstacle: str = "",
    generates_data: bool = False,
) -> Claim:
    """Returns a claim of which only the difference is known; `None` for methods not run."""
    if found is None:
        return Claim(None, relation, printed, obstacle)
    seeds = found.num_pairs - found.num_draws
    pairs = [Pair(draw, 0) for draw in range(found.num_draws)]
    pairs += [Pair(0, 1 + seed) for seed in range(seeds)]
    scores = dict.fromkeys(pairs, 0.0)
    lost_a, lost_b = (frozenset(pairs[:number]) for number in diverged)
    paired = Paired(
        scores, scores, upwards, generates_data=generates_data, diverged_a=lost_a, diverged_b=lost_b
    )
    # In place of what the scores give.
    vars(paired)["found"] = found
    return Claim(paired, relation, printed, obstacle)
