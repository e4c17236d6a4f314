"""Properties of further scores: functions of the clients' scores alone."""

from __future__ import annotations

import math

import numpy as np

from f3ast_tff.conformance.case import Case


def score_of_the_clients(case: Case) -> str | None:
    """The order of the clients does not matter, and their scores stay."""
    further = case.experiment().further_score
    assert further is not None
    ids = further.ids
    means = np.random.default_rng(0).random(len(ids))
    order = np.roll(np.arange(len(ids)), 1)
    for higher in (True, False):
        given, handed = means.copy(), ids.copy()
        found = further.of(given, handed, higher)
        if not np.array_equal(given, means) or not np.array_equal(handed, ids):
            return "the clients' scores or numbers are changed: work on a copy"
        if not math.isfinite(found):
            return f"it is {found} for scores of clients from 0 to 1"
        turned = further.of(means[order], ids[order], higher)
        if not math.isclose(found, turned, rel_tol=1e-9, abs_tol=1e-12):
            return f"the same clients in another order have {turned}, not {found}"
    return None
