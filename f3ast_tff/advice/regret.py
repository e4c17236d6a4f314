"""Costs of following the kept study under availability that it has not seen.

python -m f3ast_tff.advice.regret

Each kind of availability is left out in turn. The regret of a method is the accuracy of the best
method under the left-out kind minus its own. The rule may choose the method of highest mean
accuracy under the remaining kinds, or always the same.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path

from f3ast_tff.advice.study import Study, read_studies
from f3ast_tff.analysis.command_line import command
from f3ast_tff.analysis.texts import markdown_table
from f3ast_tff.files.messages import show
from f3ast_tff.settings import parameter

# Rules that always choose the same method.
FIXED = ("F3AST", "FedAvg, without replacement", "FedAvg")
_OBJECTIVES = {"examples": "n_k / n", "equal": "1 / N"}


@dataclass(frozen=True)
class Flags:
    """Flags of this command."""

    scores: str | None = parameter(
        None, "CSV file of tidy_scores; by default the kept study's", is_path=True
    )


@command(Flags, __doc__)
def main(flags: Flags) -> None:
    """Prints the regrets as a Markdown table."""
    show(regret_table(read_studies(Path(flags.scores) if flags.scores else None)))


def regret_table(studies: dict[str, Study]) -> str:
    """Returns mean and largest regret of each rule in each objective, as a Markdown table."""
    rows = []
    for share, study in studies.items():
        for rule in (None, *(name for name in FIXED if name in study.scores.index)):
            regrets = study.regrets(rule)
            said = "best of the other kinds" if rule is None else f"always {rule}"
            worst = f"{regrets.max():.3f} ({regrets.idxmax()})"
            rows.append([_OBJECTIVES.get(share, share), said, f"{regrets.mean():.3f}", worst])
    return markdown_table(["p_k", "rule", "mean regret", "largest"], rows)


if __name__ == "__main__":
    sys.exit(main(sys.argv))
