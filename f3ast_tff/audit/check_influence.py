"""Whom a step is of under a rule without linear weights."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from f3ast_tff.audit.findings import NOTE, OPEN, RIGHT, Finding
from f3ast_tff.audit.influence import Influence, influence_by_presence, influence_of_all
from f3ast_tff.audit.plays import NoStepError
from f3ast_tff.audit.targets import Target

_CHECK = "weights"
# Distance from a gain of 1, and a share of the steps that is worth saying.
_WHOLE, _OFTEN = 0.05, 0.02


def influences_of(target: Target, examples: np.ndarray) -> tuple[list[Influence], str]:
    """Returns the influence with all there and by presence, and why there is none."""
    try:
        return [influence_of_all(target, examples), influence_by_presence(target, examples)], ""
    except NoStepError as error:
        return [], str(error)


def check_influence(found: Sequence[Influence], why: str) -> Iterator[Finding]:
    """Says how often clients are selected, and how far each moves the step."""
    if not found:
        yield Finding(_CHECK, OPEN, f"no linear weights, and no influence is seen: {why}")
        return
    everybody, by_presence = found
    order = np.argsort(everybody.noise)
    low, high = order[0], order[-1]
    share, error = everybody.shares, everybody.errors * len(everybody.mean)
    about = (
        "no linear weights. With all there the client that strays least has "
        f"{share[low]:.2f} +- {error[low]:.2f} of the influence that an equal mean gives, and is "
        f"selected in {everybody.selected[low]:.0%} of the coordinates; the one that strays most "
        f"{share[high]:.2f} +- {error[high]:.2f}, {everybody.selected[high]:.0%}"
    )
    if (often := float(everybody.own.sum())) > _OFTEN:
        about += f"; {often:.0%} of the steps are one client's own reply"
    yield Finding(_CHECK, NOTE, about, value=float(share[low]), error=float(error[low]))
    about = f"if all replies move by 1, the step moves by {everybody.gain:.2f}"
    verdict = RIGHT if abs(everybody.gain - 1) <= _WHOLE else NOTE
    yield Finding("scale", verdict, about, value=everybody.gain)
    if by_presence.still:
        about = (
            f"of rounds with some of the clients {by_presence.still:.0%} leave the model as it is"
        )
        yield Finding("scale", NOTE, about, value=by_presence.still)
