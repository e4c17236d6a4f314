"""Ranks algorithms by their mean score, with paired differences over the seeds they share.

python -m f3ast_tff.analysis.ordering --runs runs/cafed_fig1a
"""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
from absl import flags

from f3ast_tff.analysis.command_line import fail, parse
from f3ast_tff.analysis.grouping import NAMES, OF_AN_ALGORITHM, Group, describe, group_runs
from f3ast_tff.analysis.paired_difference import paired_difference
from f3ast_tff.analysis.runs import SCORES, Run, RunsError, finished_runs, load_runs

LAST = "LAST"
# What algorithms that are ranked together may differ in, beside settings of their own.
_OF_AN_ARM = ("reading", "clients_per_round", *OF_AN_ALGORITHM)
_FLAGS = {
    "runs": "folder of runs, searched at any depth",
    "score": f"one of {', '.join(SCORES)} (sample_accuracy)",
    "round": "round to compare at, one that every run evaluated (LAST)",
    "against": "algorithm with which all others are compared, beside the next one",
}


@dataclass(frozen=True)
class Arm:
    """What is ranked: runs that differ by the seed alone.

    Attributes:
        name: In words, with what sets it apart from others of its algorithm.
        algorithm: As in the settings.
        scores: Score by seed.
    """

    name: str
    algorithm: str
    scores: dict[int, float]

    @property
    def mean(self) -> float:
        """Mean score."""
        return float(np.mean(list(self.scores.values())))


def main(argv: Sequence[str]) -> int:
    """Parses the command line and prints the rankings; returns the exit code."""
    values = flags.FlagValues()
    defaults = {"score": "sample_accuracy", "round": LAST}
    for name, text in _FLAGS.items():
        flags.DEFINE_string(name, defaults.get(name), text, flag_values=values)
    code = parse(argv, values, __doc__ or "", _FLAGS, ["runs"])
    if code is not None:
        return code
    score, at = values["score"].value, values["round"].value
    if score not in SCORES:
        return fail(f"--score={score}: must be one of {', '.join(SCORES)}")
    if at != LAST and not at.isdigit():
        return fail(f"--round={at}: must be {LAST} or a number")
    try:
        runs = finished_runs(load_runs(Path(values["runs"].value)))
        found = rankings(runs, score, None if at == LAST else int(at))
        print("\n\n".join(render(*ranking, score, values["against"].value) for ranking in found))
    except RunsError as error:
        return fail(str(error))
    return 0


def rankings(
    runs: Sequence[Run], score: str, round_number: int | None
) -> list[tuple[str, list[Arm]]]:
    """Ranks what can be compared with each other.

    Args:
        runs: Finished runs.
        score: One of `SCORES`.
        round_number: Where to read it; `None` for each run's last round.

    Returns:
        For each set of equal conditions, these in words and the arms, the best first (a loss that
        is low); one whose score is not finite comes last.

    Raises:
        RunsError: If a run was not evaluated in that round, or is there twice.
    """
    worlds: dict[tuple[object, ...], list[Group]] = {}
    groups = group_runs(runs)
    names = [name for name in groups[0].condition if name not in _OF_AN_ARM]
    for group in groups:
        worlds.setdefault(tuple(group.condition[name] for name in names), []).append(group)
    sign = 1 if score.endswith("loss") else -1
    found = []
    for members in worlds.values():
        arms = [
            Arm(
                _name(group, members),
                group.algorithm,
                {run.settings["seed"]: _score(run, score, round_number) for run in group.runs},
            )
            for group in members
        ]
        arms.sort(key=lambda arm: sign * arm.mean if math.isfinite(arm.mean) else math.inf)
        found.append((describe(members[0].condition, names), arms))
    return found


def render(condition: str, arms: Sequence[Arm], score: str, against: str | None) -> str:
    """Returns a ranking as text.

    Args:
        condition: What all arms have in common.
        arms: The best first.
        score: What they are ranked by.
        against: An algorithm to compare all others with; `None` for none.

    Raises:
        RunsError: If there is no such algorithm, or there are several forms of it.
    """
    columns = {
        "seeds": [str(len(arm.scores)) for arm in arms],
        score.replace("_", " "): [_spread(arm) for arm in arms],
        "minus the next": [_minus(*pair) for pair in zip(arms, [*arms[1:], None])],
    }
    if against is not None:
        references = [arm for arm in arms if arm.algorithm == against]
        if len(references) != 1:
            said = ", ".join(arm.name for arm in references) or "none"
            raise RunsError(f"--against={against}: must be one of those compared; found {said}")
        columns[f"minus {references[0].name}"] = [_minus(arm, references[0]) for arm in arms]
    table = pd.DataFrame(columns, index=[arm.name for arm in arms])
    text = f"{condition}\n\n{table.to_string()}"
    if any(len(arm.scores) > 1 for arm in arms):
        text += "\n\nmean ± standard deviation over seeds; differences are over the seeds of both,"
        text += "\nwith 95% t intervals"
    return text


def _name(group: Group, members: Sequence[Group]) -> str:
    """Names an algorithm, and what is different between several forms of it."""
    same = [other for other in members if other.algorithm == group.algorithm]
    apart = [
        name
        for name in group.condition
        if any(other.condition[name] != group.condition[name] for other in same)
    ]
    said = describe(group.condition, apart)
    name = NAMES.get(group.algorithm, group.algorithm)
    return f"{name} ({said})" if said else name


def _score(run: Run, score: str, round_number: int | None) -> float:
    metrics = run.metrics.set_index("round")[f"test_{score}"]
    if round_number is None:
        return float(metrics.iloc[-1])
    if round_number not in metrics.index:
        raise RunsError(f"{run.path} has no evaluation of round {round_number}")
    return float(metrics.loc[round_number])


def _spread(arm: Arm) -> str:
    values = list(arm.scores.values())
    if len(values) == 1:
        return f"{values[0]:.4f}"
    return f"{arm.mean:.4f} ± {np.std(values, ddof=1):.4f}"


def _minus(arm: Arm, other: Arm | None) -> str:
    if other is None or other is arm or len(arm.scores.keys() & other.scores.keys()) < 2:
        return "-"
    difference = paired_difference(arm.scores, other.scores)
    return f"{difference.mean:+.4f} [{difference.low:+.4f}, {difference.high:+.4f}]"


if __name__ == "__main__":
    sys.exit(main(sys.argv))
