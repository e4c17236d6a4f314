"""How to read the numbers of the report."""

from __future__ import annotations

from f3ast_tff.analysis.report.document import Section, Text
from f3ast_tff.analysis.report.networks import SMALL_ROUNDS
from f3ast_tff.analysis.verdicts import ERROR, FEWEST_DRAWS, MARGIN

_PERIODS = {"final": "at the last round", "mean_of_last_10_percent": "averaged over the last 10%"}


def explanation(period: str) -> Section:
    """Returns the section; `period` is what a run's score is."""
    scores = (
        f"Scores are those {_PERIODS[period]}, on test data. Only runs whose other settings agree "
        "(those that algorithms may differ in aside) are compared."
    )
    small = ", ".join(str(rounds) for rounds in SMALL_ROUNDS.values())
    return Section(
        "How to read this",
        [
            Text(scores),
            Text(
                "± is one standard deviation (n - 1) over draws of the data, of each draw's mean "
                "over its seeds, or over the seeds of a single draw. Percentages are improvements "
                "relative to the baseline (F3AST over FedAvg, F3AST+Adam over FedAdam). A − B is a "
                "paired difference over common pairs of data draw and seed, which share data and "
                "availability, with its 95% t interval and p value: over draws by a two-level "
                "model (draws, and seeds within a draw) where there are several draws, over the "
                "seeds of one draw otherwise. An interval over seeds says nothing of other draws."
            ),
            Text(
                "Intervals and p values are not corrected for their number; verdicts are. The "
                "claims of one table are one family: Holm's rule sets the level of the interval "
                "that judges each, in brackets, so that a family without effects has a false "
                f"'holds' in at most {ERROR:.0%} of studies. 'Better' holds if that interval lies "
                "above 0; it does not hold if the interval lies below 0, or holds 0 and leaves out "
                f"the paper's difference (where it prints none: {MARGIN}). 'Not worse' holds if "
                f"the interval lies above -{MARGIN} and fails if it lies below; 'the same' holds "
                f"within ±{MARGIN} and fails if the interval lies outside. Otherwise there are not "
                f"enough runs, as with fewer than {FEWEST_DRAWS} draws of data that the task "
                "generates, fewer runs than the paper averages over, or fewer rounds than the "
                "paper's (the task's where it gives none). 'Better' that holds is followed by the "
                "difference as a share of the paper's, with the 95% interval."
            ),
            Text(
                "Runs with another network than the paper's have tables and verdicts of their own. "
                "These ask for the direction alone: the paper's difference stands beside them and "
                "judges nothing. Small networks are a small CNN on CIFAR-100 and an LSTM of 32 "
                f"units on Shakespeare; a verdict on them needs {small} rounds."
            ),
        ],
    )
