"""Judges the claim that a plain mean of available clients beats weights for participation.

python -m f3ast_tff.analysis.studies.availability_methods_synthetic.plain_mean_claim \
    --scores analysis/studies/availability_methods_synthetic/scores.csv

Rahimi and Kalogerias, "Convergence of Agnostic Federated Averaging", arXiv 2507.10325: it
"outperforms common (and suboptimal) weighted aggregation FedAvg variants, even with server-side
knowledge of participation weights". Here A is the mean over the clients that come, with p_k = 1/N
the plain mean, and each B is the same selection or nearly so with other weights. The score of a
draw is its mean over all regimes. The claims of both objectives are one family of Holm's rule.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from f3ast_tff.analysis.command_line import command
from f3ast_tff.analysis.compare import judge
from f3ast_tff.analysis.compare.paired_difference import PairedDifference
from f3ast_tff.analysis.compare.pairs import mean_over
from f3ast_tff.analysis.compare.scored import RunsError
from f3ast_tff.analysis.study_runs import SHARE, StudyRuns, read_study
from f3ast_tff.analysis.texts import markdown_table
from f3ast_tff.files.messages import show
from f3ast_tff.settings import REQUIRED, parameter

PLAIN = {"algorithm": "fedavg_all", "aggregation": "mean", "clients_per_round": "10"}
# Weights of the compared methods, and the settings that identify the methods.
WEIGHTED: Mapping[str, Mapping[str, str]] = {
    "p_k, absent as 0": {"algorithm": "fedavg_all", "aggregation": "sum"},
    "p_k / pi_k, pi known": {"algorithm": "unbiased"},
    "p_k omega_k, learnt (FedAU)": {"algorithm": "fedau"},
    "p_k / r_k, learnt (F3AST)": {"algorithm": "f3ast", "aggregation": "sum"},
}
_SHARES = {"equal": "1 / N", "examples": "n_k / n"}


@dataclass(frozen=True)
class Flags:
    """Flags of this command."""

    scores: str = parameter(REQUIRED, "CSV file of tidy_scores", is_path=True)


@dataclass(frozen=True)
class Claim:
    """A claim that the plain mean is better than other weights in an objective, and its verdict.

    `found` is the plain mean minus that method, over draws.
    """

    share: str
    weights: str
    found: PairedDifference
    verdict: judge.Verdict


@command(Flags, __doc__)
def main(flags: Flags) -> None:
    """Prints the verdicts."""
    claims = judged(read_study(Path(flags.scores), ["availability"]))
    rows = [
        [
            _SHARES[claim.share],
            claim.weights,
            f"{claim.found.mean:+.3f}",
            f"[{claim.found.low:+.3f}, {claim.found.high:+.3f}]",
            str(claim.verdict.word),
        ]
        for claim in claims
    ]
    show("The plain mean of 10 clients that come, minus a method with weights:\n")
    show(markdown_table(["p_k", "weights", "difference", "95% interval", "claim"], rows))
    show(
        "\nA score is the mean over all regimes, of user accuracy with p_k = 1 / N and of sample "
        f"accuracy with n_k / n; intervals are over {claims[0].found.num_draws} draws. "
        "The claim is judged at 5% over all rows together, by Holm's rule."
    )


def judged(study: StudyRuns) -> list[Claim]:
    """Judges the claim against each method with weights, in each objective.

    Raises:
        RunsError: If a method lacks runs, or has several per regime and draw.
    """
    asked = {}
    for share in _SHARES:
        plain = _runs_of(study, share, PLAIN)
        for weights, method in WEIGHTED.items():
            other = _runs_of(study, share, method)
            asked[share, weights] = mean_over(study.by_regime(plain, other))
    verdicts = judge.judge([judge.Claim(each) for each in asked.values()])
    return [
        Claim(share, weights, paired.found, verdict)
        for ((share, weights), paired), verdict in zip(asked.items(), verdicts)
        if paired.found is not None
    ]


def _runs_of(study: StudyRuns, share: str, method: Mapping[str, str]) -> pd.DataFrame:
    """Runs of a method in one objective, of each draw and seed one per regime."""
    runs = study.runs[study.runs[SHARE] == share]
    for name, value in method.items():
        runs = runs[runs[name] == value]
    pairs = runs.groupby(["draw", "seed"])
    regimes = len(study.regime_values())
    if not len(runs) or (pairs.size() != regimes).any():
        raise RunsError(f"{dict(method)} with {SHARE} {share} needs one run per regime and draw")
    return runs


if __name__ == "__main__":
    sys.exit(main(sys.argv))
