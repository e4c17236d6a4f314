"""Lists phrases of pages that state scores, with the numbers from kept CSV files.

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

import re
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

import numpy as np

from f3ast_tff.analysis.command_line import command
from f3ast_tff.analysis.kept_pages import without_tables
from f3ast_tff.analysis.paired_difference import paired_difference
from f3ast_tff.analysis.run_groups import RunGroup, summarised, varying
from f3ast_tff.analysis.runs import SCORES, Pair, RunsError
from f3ast_tff.analysis.texts import markdown_table
from f3ast_tff.analysis.tidy_scores import (
    KEPT_PERIODS,
    When,
    chosen,
    kept_groups,
    read_scores,
    scores_at,
)
from f3ast_tff.files.data_files import read_text, read_toml
from f3ast_tff.files.messages import one_line
from f3ast_tff.settings import parameter

OF_A_CASE = ("mean", "low", "high")
OVER_CASES = ("lowest", "highest")
_DECIMAL = re.compile(r"(?<![\w.])[+\-−]?\d?\.\d+(?![\w.]*\w)")
_POINTS = re.compile(r"(?<![\w.])[+\-−]?\d+(?:\.\d+)?(?![\w.]*\w)")
# A score or a difference of scores has three or four decimals.
_SCORE = re.compile(r"(?<![\w.])[+\-−]?0?\.\d{3,4}(?!\d)")
_CODE = re.compile(r"^```.*?^```\n?|`[^`\n]*`", re.DOTALL | re.MULTILINE)
Cells = Mapping[str, str]


@dataclass(frozen=True)
class Phrase:
    """A phrase of a page with the query for its numbers, from the TOML file.

    Attributes:
        page: Path of the page.
        text: The phrase, which occurs once on the page; white space counts as one blank.
        scores: Path of the file of scores.
        score: Score to read, of `SCORES`.
        when: A round, or one of `KEPT_PERIODS`.
        where: Cells that the runs have.
        a: Further cells of A.
        b: Further cells of B; `None` for the score of A, else A - B paired over draws and seeds.
        cases: Further cells of each case; the numbers of the cases follow one another.
        mean_over: Settings in which runs of a case differ; the scores of a pair of draw and seed
            are first averaged over these.
        of: Quantities stated for each case, of `OF_A_CASE`; or the least and greatest mean, of
            `OVER_CASES`.
        points: Whether the phrase states points of accuracy, 100 times the score.
        other: Numbers of the phrase from other sources, as written in the phrase.
    """

    page: str
    text: str
    scores: str
    score: str = "sample_accuracy"
    when: When = "final"
    where: Cells = field(default_factory=dict)
    a: Cells = field(default_factory=dict)
    b: Cells | None = None
    cases: Sequence[Cells] = ({},)
    mean_over: Sequence[str] = ()
    of: Sequence[str] = ("mean",)
    points: bool = False
    other: Sequence[str] = ()


@dataclass(frozen=True)
class Elsewhere:
    """A phrase whose numbers are not from a kept CSV, such as a paper's.

    Attributes:
        page: Path of the page.
        text: The phrase.
        reason: Source of its numbers.
    """

    page: str
    text: str
    reason: str


@dataclass(frozen=True)
class StatedNumbers:
    """The content of the TOML file.

    Attributes:
        complete: Pages on which each number with three or four decimals is part of a phrase.
        phrases: Phrases with numbers of a kept CSV.
        elsewhere: Phrases with numbers of other origin.
    """

    complete: Sequence[str]
    phrases: Sequence[Phrase]
    elsewhere: Sequence[Elsewhere]

    def texts(self) -> list[tuple[str, str]]:
        """Returns page and text of every phrase."""
        found = [(each.page, each.text) for each in self.phrases]
        return found + [(each.page, each.text) for each in self.elsewhere]


def read_stated(path: Path) -> StatedNumbers:
    """Reads the TOML file.

    Raises:
        RunsError: If it cannot be read, or has a wrong key or value.
    """
    try:
        content = read_toml(path)
    except (OSError, ValueError) as error:
        raise RunsError(f"cannot read {path}: {one_line(error)}") from error
    unknown = sorted({*content} - {"complete", "phrase", "elsewhere"})
    if unknown:
        raise RunsError(f"{path}: {unknown[0]} must be one of complete, phrase, elsewhere")
    phrases = [_made(path, Phrase, table) for table in content.get("phrase", ())]
    for phrase in phrases:
        _check(path, phrase)
    elsewhere = [_made(path, Elsewhere, table) for table in content.get("elsewhere", ())]
    return StatedNumbers(content.get("complete", ()), phrases, elsewhere)


def stated(phrase: Phrase) -> list[str]:
    """Returns the numbers of a phrase as written, except numbers from other sources."""
    found = (_POINTS if phrase.points else _DECIMAL).findall(phrase.text)
    for text in phrase.other:
        if text in found:
            found.remove(text)
    return found


def from_scores(phrase: Phrase, runs: Sequence[RunGroup]) -> list[float]:
    """Returns the numbers of a phrase from the runs in its file of scores, in order.

    Raises:
        RunsError: If a case has no runs, or its runs differ in a setting outside `mean_over`.
    """
    cases = [_case(phrase, runs, {**phrase.where, **case}) for case in phrase.cases]
    scale = 100 if phrase.points else 1
    if set(phrase.of) <= {*OVER_CASES}:
        means = [case["mean"] for case in cases]
        found = [min(means) if each == "lowest" else max(means) for each in phrase.of]
    else:
        found = [case[each] for case in cases for each in phrase.of]
    return [scale * each for each in found]


def as_stated(number: float, text: str) -> str:
    """Returns a number with the decimals, the sign and the first digit of a text of a page."""
    decimals = len(text.partition(".")[2])
    found = f"{abs(number):.{decimals}f}"
    if found.startswith("0.") and text.lstrip("+-−").startswith("."):
        found = found[1:]
    minus = "−" if text.startswith("−") else "-"
    # A mean of 0 may be off by rounding errors.
    negative = round(number, 12) < 0
    return f"{minus if negative else '+' if text.startswith('+') else ''}{found}"


def numbers_of(phrases: Sequence[Phrase]) -> list[list[float]]:
    """Returns the numbers from the scores of each phrase; each file is read once.

    Raises:
        RunsError: If a file of scores cannot be read, or has no such runs.
    """
    files = dict.fromkeys(phrase.scores for phrase in phrases)
    runs = {file: kept_groups(read_scores(Path(file))) for file in files}
    return [from_scores(phrase, runs[phrase.scores]) for phrase in phrases]


def wrong_phrases(content: StatedNumbers, from_files: Sequence[Sequence[float]]) -> list[str]:
    """Returns the faults, a line each: phrases not on their page once, numbers not of the CSV.

    Args:
        content: The phrases.
        from_files: Their numbers, of `numbers_of`.

    Raises:
        RunsError: If a page cannot be read.
    """
    wrong = []
    for page, text in content.texts():
        times = _words(_text(page)).count(_words(text))
        if times != 1:
            wrong.append(f"{page}: {text!r} stands there {times} times, must be once")
    for phrase, numbers in zip(content.phrases, from_files):
        texts = stated(phrase)
        if len(texts) != len(numbers):
            said = f"states {len(texts)} numbers, must be {len(numbers)}"
            wrong.append(f"{phrase.page}: {phrase.text!r} {said}")
            continue
        expected = [as_stated(number, text) for number, text in zip(numbers, texts)]
        if texts != expected:
            wrong.append(
                f"{phrase.page}: {phrase.text!r} states {', '.join(texts)}; {phrase.scores} "
                f"gives {', '.join(expected)}"
            )
    return wrong


def unlisted_numbers(content: StatedNumbers) -> list[str]:
    """Returns the numbers of complete pages that are in no phrase, one per line.

    Numbers of three or four decimals count, except in code and in tables that the command above
    them writes.
    """
    found = []
    for page in content.complete:
        text = _words(_CODE.sub(" ", without_tables(_text(page))))
        for phrase in [phrase for of, phrase in content.texts() if of == page]:
            # Code is removed from the phrase, as from the page.
            text = text.replace(_words(_CODE.sub(" ", phrase)), " … ")
        for number in _SCORE.finditer(text):
            around = text[max(0, number.start() - 60) : number.end() + 20]
            found.append(f"{page}: {number[0]} in '{around}' is of no phrase")
    return found


def _case(phrase: Phrase, runs: Sequence[RunGroup], cells: Cells) -> dict[str, float]:
    a = _scores(phrase, runs, {**cells, **phrase.a})
    if phrase.b is None:
        return {"mean": summarised(a).mean}
    b = _scores(phrase, runs, {**cells, **phrase.b})
    if len(a.keys() & b.keys()) < 2:
        raise RunsError(f"{phrase.page}: {phrase.text!r}: A and B share fewer than 2 runs")
    found = paired_difference(a, b)
    return {name: getattr(found, name) for name in OF_A_CASE}


def _scores(phrase: Phrase, runs: Sequence[RunGroup], cells: Cells) -> dict[Pair, float]:
    """A score by pair, the mean over settings of `mean_over`."""
    what = f"{phrase.page}: {phrase.text!r}: runs with {dict(cells)}"
    for name in (*cells, *phrase.mean_over):
        if name not in runs[0].settings:
            raise RunsError(f"{what}: {phrase.scores} has no column {name}")
    groups = chosen(runs, cells)
    if not groups:
        raise RunsError(f"{what}: there are none in {phrase.scores}")
    for name in varying(groups):
        if name not in phrase.mean_over:
            raise RunsError(f"{what}: differ in {name}; name it in where or mean_over")
    by_pair: dict[Pair, list[float]] = {}
    for group in groups:
        for pair, score in scores_at(group, phrase.score, phrase.when).items():
            by_pair.setdefault(pair, []).append(score)
    if len({len(scores) for scores in by_pair.values()}) > 1:
        raise RunsError(f"{what}: not every draw and seed has all of {phrase.mean_over}")
    return {pair: float(np.mean(scores)) for pair, scores in sorted(by_pair.items())}


def _made(path: Path, kind: type[Any], table: Mapping[str, Any]) -> Any:
    names = [each.name for each in fields(kind)]
    unknown = [name for name in table if name not in names]
    if unknown:
        raise RunsError(f"{path}: {unknown[0]} must be one of {', '.join(names)}")
    try:
        return kind(**table)
    except TypeError as error:
        raise RunsError(f"{path}: {dict(table)}: {one_line(error)}") from error


def _check(path: Path, phrase: Phrase) -> None:
    what = f"{path}: {phrase.text!r}"
    if phrase.score not in SCORES:
        raise RunsError(f"{what}: score {phrase.score!r} must be of {', '.join(SCORES)}")
    if isinstance(phrase.when, str) and phrase.when not in KEPT_PERIODS:
        allowed = f"must be a round or of {', '.join(KEPT_PERIODS)}"
        raise RunsError(f"{what}: when {phrase.when!r} {allowed}")
    if not any(set(phrase.of) <= {*allowed} for allowed in (OF_A_CASE, OVER_CASES)):
        allowed = f"of {', '.join(OF_A_CASE)}, or of {', '.join(OVER_CASES)}"
        raise RunsError(f"{what}: of {list(phrase.of)} must be {allowed}")
    if phrase.b is None and {*phrase.of} & {"low", "high"}:
        raise RunsError(f"{what}: low and high are of a difference; give b")


def _text(page: str) -> str:
    try:
        return read_text(Path(page))
    except (OSError, ValueError) as error:
        raise RunsError(f"cannot read {page}: {one_line(error)}") from error


def _words(text: str) -> str:
    return " ".join(text.split())


PHRASES = "analysis/results/stated_numbers.toml"


@dataclass(frozen=True)
class Flags:
    """Flags of this command."""

    phrases: str = parameter(PHRASES, "TOML file of the phrases", is_path=True)


@command(Flags, __doc__)
def main(flags: Flags) -> int:
    """Prints the table; returns 1 if a page differs from its CSV."""
    content = read_stated(Path(flags.phrases))
    from_files = numbers_of(content.phrases)
    rows = []
    for phrase, numbers in zip(content.phrases, from_files):
        found = ", ".join(map(as_stated, numbers, stated(phrase)))
        rows.append([phrase.page, " ".join(phrase.text.split()), found, Path(phrase.scores).name])
    print(markdown_table(["page", "phrase", "from the CSV", "CSV"], rows))
    wrong = wrong_phrases(content, from_files)
    for line in wrong:
        print(line, file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv))
