"""Lists the phrases of pages that state scores, each with its numbers from the kept CSV.

python -m f3ast_tff.analysis.stated_numbers

The TOML file has a [[phrase]] for each, of which `docs/results.md` is the page:

    page = "docs/results.md"
    text = "at 40% by chance by .009 [.006, .012] sample accuracy"
    scores = "analysis/results/delivery_synthetic.csv"
    where = {delivery = "bernoulli", loss_probability = "0.4", loss_follows = "none"}
    a = {algorithm = "f3ast", rates_follow = "delivered"}
    b = {algorithm = "f3ast", rates_follow = "selected"}
    of = ["mean", "low", "high"]

`where`, `a` and `b` give the texts of cells; without `b` the number is a's score. `cases` is a list
of further conditions, with the numbers of each in turn. Run it from the root of the repository,
where paths start.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path

from f3ast_tff.analysis.command_line import command
from f3ast_tff.analysis.stated_phrases import (
    as_stated,
    numbers_of,
    read_stated,
    stated,
    wrong_phrases,
)
from f3ast_tff.analysis.texts import markdown_table
from f3ast_tff.settings import parameter

PHRASES = "analysis/results/stated_numbers.toml"


@dataclass(frozen=True)
class Flags:
    """Flags of this command."""

    phrases: str = parameter(PHRASES, "TOML file of the phrases", is_path=True)


@command(Flags, __doc__)
def main(flags: Flags) -> int:
    """Prints the table; returns 1 if a page differs from its CSV."""
    content = read_stated(Path(flags.phrases))
    rows = []
    for phrase, numbers in zip(content.phrases, numbers_of(content.phrases)):
        found = ", ".join(map(as_stated, numbers, stated(phrase)))
        rows.append([phrase.page, " ".join(phrase.text.split()), found, Path(phrase.scores).name])
    print(markdown_table(["page", "phrase", "from the CSV", "CSV"], rows))
    wrong = wrong_phrases(content)
    for line in wrong:
        print(line, file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv))
