"""The cells of a study's tables and pictures: groups of kept runs, their scores and their order."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress

from f3ast_tff.analysis.method_names import order_of
from f3ast_tff.analysis.run_groups import RunGroup, varying
from f3ast_tff.analysis.runs import PERIODS, Pair, RunsError
from f3ast_tff.analysis.tidy_scores import Key
from f3ast_tff.settings.kinds import KINDS

# Best score of a run over all its evaluations, as FedLaAvg's Table 2 prints it; its mean over their
# second half, and the mean size of its change between them there.
BEST, SECOND_HALF, CHANGE = "best", "second_half", "change"
_OF_ALL = (BEST, SECOND_HALF, CHANGE)
KEPT_PERIODS = (*PERIODS, *_OF_ALL)
# A round, or one of `KEPT_PERIODS`.
When = int | str


def scores_at(group: RunGroup, score: str, when: When) -> dict[Pair, float]:
    """Returns a score of kept runs by pair: of a round, over a period, the best, or its change.

    Raises:
        RunsError: If the file does not have that round of a run, or too few rounds for a change.
    """
    for pair, run in group.runs.items():
        what = ", ".join(f"{name} {text}" for name, text in group.settings.items() if text)
        if isinstance(when, int) and when not in run.metrics["round"].to_numpy():
            raise RunsError(f"round {when} of the run {what}, {pair} was not kept")
        if when == CHANGE and len(run.metrics) < 3:
            few = f"needs 3 evaluations or more, has {len(run.metrics)} of the run {what}, {pair}"
            raise RunsError(f"period {when} {few}")
    return group.scores(f"{when}_{score}" if when in _OF_ALL else score, when)


def ordered_keys(keys: Iterable[Key], names: Sequence[str]) -> list[Key]:
    """Returns distinct values of settings in the order of tables.

    Components are in the order of their kind, numbers rise, other texts are in order of appearance.
    """
    distinct = list(dict.fromkeys(keys))
    ranks = []
    for name, values in zip(names, zip(*distinct)):
        texts = list(dict.fromkeys(values))
        if name in KINDS:
            texts.sort(key=lambda each: order_of(name, each))
        else:
            with suppress(ValueError):
                texts.sort(key=lambda each: float(each) if each else -math.inf)
        ranks.append({text: rank for rank, text in enumerate(texts)})
    return sorted(distinct, key=lambda key: [rank[text] for rank, text in zip(ranks, key)])


def chosen(groups: Iterable[RunGroup], cells: Mapping[str, str]) -> list[RunGroup]:
    """Returns the groups with these settings."""
    return [g for g in groups if all(g.setting(name) == text for name, text in cells.items())]


def only_group(groups: Sequence[RunGroup], of: str, advice: str) -> RunGroup:
    """Returns the group of one cell, line or point.

    Raises:
        RunsError: If there are several, which differ in a setting, or none.
    """
    if len(groups) != 1:
        fault = f"differ in {', '.join(varying(groups))}" if groups else "are missing"
        raise RunsError(f"runs of one {of} {fault}; {advice}")
    return groups[0]
