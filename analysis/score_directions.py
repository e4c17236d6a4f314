"""The scores of runs, and which direction of each is better."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from f3ast_tff.analysis.run_groups import RunGroup
from f3ast_tff.analysis.runs import DIRECTIONS, SCORES
from f3ast_tff.core.errors import ParameterError


def higher_is_better(metric: str) -> bool:
    """Whether a score of classes is an accuracy, not a loss."""
    return metric.endswith("accuracy")


def scores_in(groups: Iterable[RunGroup]) -> list[str]:
    """Returns every score that a group has, in order."""
    return list(dict.fromkeys(name for group in groups for name in group.score_names))


def shared_scores(groups: Sequence[RunGroup]) -> list[str]:
    """Returns `scores_in` without further scores that a group lacks.

    In a table of numbers its missing score would be that of training that diverged.
    """
    found = scores_in(groups)
    return [name for name in found if all(name.partition("_")[0] in g.kinds for g in groups)]


def check_score(groups: Sequence[RunGroup], score: str) -> bool:
    """Returns whether a higher score is better.

    Raises:
        ParameterError: If a group has no such score, or groups differ in which is better.
    """
    if not groups:
        return higher_is_better(score)
    common = [name for name in scores_in(groups) if all(name in g.score_names for g in groups)]
    if score not in common:
        raise ParameterError("score", score, f"must be one of {', '.join(common)}")
    found = {group.higher_is_better(score) for group in groups}
    if len(found) > 1:
        allowed = "must be better in one direction: higher is better in some runs, lower in others"
        raise ParameterError("score", score, allowed)
    return found.pop()


def own_scores_said(groups: Sequence[RunGroup]) -> str:
    """Describes which models' own and further scores are better lower or higher; `""` without."""
    found = [item for g in groups for item in (*g.first.directions.items(), *g.ways.items())]
    own = {name: up for name, up in found if name not in DIRECTIONS}
    parts = [
        f"{words} is better: {', '.join(names)}"
        for words, way in (("lower", False), ("higher", True))
        if (names := [name for name, up in own.items() if up == way])
    ]
    return "; ".join(parts)


def score_of_objective(groups: Sequence[RunGroup]) -> str:
    """Returns the accuracy of the runs' objective: over users if all have p_k = 1 / N.

    It is the loss if the labels of a run are values, which have no accuracy.
    """
    shares = {str(group.settings.get("client_share")) for group in groups}
    have = all(SCORES[0] in group.score_names for group in groups)
    samples, users = SCORES[:2] if have else SCORES[2:]
    return users if shares == {"equal"} else samples
