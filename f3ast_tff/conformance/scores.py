"""Properties of further scores: functions of the clients' scores alone."""

from __future__ import annotations

import itertools
import math

import numpy as np

from f3ast_tff.conformance.case import Case, NotDecided


@np.errstate(all="ignore")
def score_of_the_clients(case: Case) -> str | None:
    """The order of the clients does not matter, and their scores stay."""
    further = case.experiment().further_score
    assert further is not None
    ids = further.ids
    means = np.random.default_rng(0).random(len(ids))
    whole = further.of(means.copy(), ids.copy(), True)
    for higher, there in itertools.product((True, False), (slice(None), slice(1, None), slice(1))):
        scores, numbers = means[there], ids[there]
        order = np.roll(np.arange(len(numbers)), 1)
        given, handed = scores.copy(), numbers.copy()
        found = further.of(given, handed, higher)
        if not np.array_equal(given, scores) or not np.array_equal(handed, numbers):
            return "the clients' scores or numbers are changed: work on a copy"
        if not math.isfinite(found):
            return f"it is {found} for scores of clients from 0 to 1, {len(given)} of them"
        turned = further.of(scores[order], numbers[order], higher)
        if not math.isclose(found, turned, rel_tol=1e-9, abs_tol=1e-12):
            return f"asked again, in another order, the same clients have {turned}, not {found}"
    for lost in (np.nan, np.inf):
        further.of(np.append(means[1:], lost), ids, False)
    raised = [further.of(each, ids, True) for each in (means, *(means + np.eye(len(ids))))]
    if raised[0] != whole:
        return f"asked later, the same clients have {raised[0]}, not {whole}: it must keep nothing"
    declared = case.configuration().configs["score_of"].higher_is_better
    if declared is None and min(raised) < raised[0] - 1e-9:
        raise NotDecided(
            "a client's better accuracy makes it lower, and higher_is_better is not declared"
        )
    return None
