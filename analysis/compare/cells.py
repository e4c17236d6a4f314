"""The cells of a study's tables and pictures: groups of kept runs, and their order."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress

from f3ast_tff.analysis.compare.scored import RunsError, varying
from f3ast_tff.analysis.method_names import order_of
from f3ast_tff.analysis.run_groups import G
from f3ast_tff.analysis.tidy_scores import Key
from f3ast_tff.settings.kinds import KINDS

# A round, or one of `KEPT_PERIODS`.
When = int | str


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


def chosen(groups: Iterable[G], cells: Mapping[str, str]) -> list[G]:
    """Returns the groups with these settings."""
    return [g for g in groups if all(g.setting(name) == text for name, text in cells.items())]


def only_group(groups: Sequence[G], of: str, advice: str) -> G:
    """Returns the group of one cell, line or point.

    Raises:
        RunsError: If there are several, which differ in a setting, or none.
    """
    if len(groups) != 1:
        fault = f"differ in {', '.join(varying(groups))}" if groups else "are missing"
        raise RunsError(f"runs of one {of} {fault}; {advice}")
    return groups[0]
