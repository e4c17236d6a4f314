"""Ranks algorithms by their mean score, with paired differences over draws and seeds they share.

python -m f3ast_tff.analysis.studies.ordering --runs runs/cafed_fig1a
"""

from __future__ import annotations

import math
import re
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pandas as pd

from f3ast_tff.analysis.command_line import command, read_finished, runs_flag, say_left_out
from f3ast_tff.analysis.paired_difference import difference_of_common
from f3ast_tff.analysis.run_groups import (
    RunGroup,
    comparable_groups,
    describe,
    is_own,
    partition,
    summarised,
    varying,
)
from f3ast_tff.analysis.runs import SCORES, Pair, Run, RunsError
from f3ast_tff.analysis.score_directions import higher_is_better
from f3ast_tff.analysis.texts import (
    ONE_AVAILABILITY,
    counted,
    interval,
    one_availability,
    over,
    spread_text,
)
from f3ast_tff.core.errors import ParameterError
from f3ast_tff.files.messages import show
from f3ast_tff.settings import parameter

LAST = "LAST"
# `str.isdigit` also allows characters that `int` cannot read, such as superscripts.
_ROUND = re.compile(r"[0-9]{1,18}")
# Settings in which methods of one ranking may differ, besides their own settings.
_RANKED_TOGETHER = ("reading", "clients_per_round", "constraint")
_INTERVALS = """\
differences are over the pairs of data draw and seed of both; their 95% intervals,
not corrected for their number, cover draws of the data, or, where seeds are
counted, seeds of one draw"""


@dataclass(frozen=True)
class Flags:
    """Flags of this command."""

    runs: str = runs_flag()
    score: str = parameter("sample_accuracy", "what to rank by", choices=SCORES)
    round: str = parameter(LAST, "round to compare at, one that every run evaluated")
    against: str | None = parameter(
        None, "algorithm with which all others are compared, beside the next one"
    )


@dataclass(frozen=True, eq=False)
class Ranking:
    """Methods under equal conditions; `condition` describes these in words.

    `methods` holds the name, the runs, and the scores by pair of data draw and seed of each method,
    best first.
    """

    condition: str
    score: str
    methods: list[tuple[str, RunGroup, dict[Pair, float]]]

    def forms(self, algorithm: str) -> list[tuple[str, RunGroup, dict[Pair, float]]]:
        """Returns the methods of one algorithm."""
        return [each for each in self.methods if each[1].algorithm == algorithm]


@command(Flags, __doc__)
def main(flags: Flags) -> None:
    """Prints the rankings."""
    if flags.round != LAST and not _ROUND.fullmatch(flags.round):
        raise ParameterError("round", flags.round, f"must be {LAST} or a number")
    at = "final" if flags.round == LAST else int(flags.round)
    found = rankings(read_finished(flags.runs), flags.score, at)
    without = [ranking for ranking in found if flags.against and not ranking.forms(flags.against)]
    if len(without) < len(found):
        found = [ranking for ranking in found if ranking not in without]
        say_left_out(f"{ranking.condition}: has no {flags.against}" for ranking in without)
    show("\n\n".join(render(ranking, flags.against) for ranking in found))


def rankings(runs: Sequence[Run], score: str, at: str | int) -> list[Ranking]:
    """Ranks comparable finished runs by one of `SCORES`, read as `RunGroup.scores` does.

    Returns:
        A ranking per set of equal conditions, best method first; methods with a score that is not
        finite come last.

    Raises:
        RunsError: If a run was not evaluated in that round, or occurs twice.
    """
    groups, settings = comparable_groups(runs)
    free = [n for n in settings if n in _RANKED_TOGETHER or is_own(n, groups)]
    names = [name for name in settings if name not in free]
    sign = -1 if higher_is_better(score) else 1

    def place(scores: Mapping[Pair, float]) -> float:
        mean = summarised(scores).mean
        return sign * mean if math.isfinite(mean) else math.inf

    found = []
    for members in partition(groups, names):
        scored = [
            (_name(group, members, free), group, group.scores(score, at)) for group in members
        ]
        scored.sort(key=lambda each: place(each[2]))
        found.append(Ranking(describe(members[0].condition(names), names), score, scored))
    return found


def render(ranking: Ranking, against: str | None) -> str:
    """Returns a ranking as text, with all methods compared to `against` if given.

    Raises:
        RunsError: If there is no such algorithm, or several forms of it.
    """
    every = [scores for _, _, scores in ranking.methods]
    columns = {
        "draws": [str(len({pair.draw for pair in scores})) for scores in every],
        "runs": [str(len(scores)) for scores in every],
        ranking.score.replace("_", " "): [spread_text(summarised(scores)) for scores in every],
        "minus the next": [_minus(a, b) for a, b in zip(every, [*every[1:], None])],
    }
    if against is not None:
        references = ranking.forms(against)
        if len(references) != 1:
            said = ", ".join(name for name, _, _ in references) or "none"
            raise RunsError(f"--against={against}: must be one of those compared; found {said}")
        ((reference, _, theirs),) = references
        columns[f"minus {reference}"] = [_minus(scores, theirs) for scores in every]
    table = pd.DataFrame(columns, index=[name for name, _, _ in ranking.methods])
    text = f"{ranking.condition}\n\n{table.to_string()}"
    if any(len(scores) > 1 for scores in every):
        text += f"\n\nmean ± standard deviation over {counted(every)};"
        text += f"\n{_INTERVALS}"
        if one_availability(group for _, group, _ in ranking.methods):
            text += f"\n{ONE_AVAILABILITY}"
    return text


def _name(group: RunGroup, members: Sequence[RunGroup], free: Sequence[str]) -> str:
    """Name of an algorithm, with the settings that differ between its forms or set it apart."""
    forms = [other for other in members if other.algorithm == group.algorithm]
    apart = [n for n in free if n in {*varying(forms, free), *varying(members, _RANKED_TOGETHER)}]
    said = describe(group.condition(apart), apart)
    return f"{group.display} ({said})" if said else group.display


def _minus(scores: Mapping[Pair, float], other: Mapping[Pair, float] | None) -> str:
    difference = None if other is None or other is scores else difference_of_common(scores, other)
    if difference is None:
        return "-"
    covers = "" if difference.num_diverged else f" ({over(difference)})"
    return f"{interval(difference)}{covers}"


if __name__ == "__main__":
    sys.exit(main(sys.argv))
