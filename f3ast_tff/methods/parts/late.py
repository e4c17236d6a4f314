"""Late updates: the server's choice among arrived updates, and the weight of stale updates."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from f3ast_tff.methods.parts.strategy import Round, Strategy

# s(tau), the factor of an update that is tau steps stale.
STALENESS_WEIGHTS = ("constant", "root", "inverse")


class Admitted(NamedTuple):
    """The server's choice among the arrived updates; unchosen updates wait for a later round.

    Attributes:
        enters: Updates of this round's aggregate, `bool [m]`.
        dropped: Updates that never enter, `bool [m]`.

    Examples:
        >>> import numpy as np
        >>> from f3ast_tff.methods import Round, RoundConstraint
        >>> from f3ast_tff.methods.parts.late import Admitted, admitted_by
        >>> class Fresh:
        ...     def admit(self, now, asked_in):
        ...         fresh = now.number - asked_in < 3
        ...         return Admitted(enters=fresh, dropped=~fresh)
        >>> now = Round(9, np.ones(4, bool), RoundConstraint(2))
        >>> admitted_by(Fresh(), now, np.array([9, 8, 5])).dropped.tolist()
        [False, False, True]
    """

    enters: np.ndarray
    dropped: np.ndarray


def admitted_by(strategy: Strategy, now: Round, asked_in: np.ndarray) -> Admitted:
    """Returns a strategy's choice by its method `admit`; without that method, every update.

    Args:
        strategy: The strategy; its state does not move.
        now: The round.
        asked_in: Round in which the client of each update was asked, `int64 [m]`.
    """
    choose = getattr(strategy, "admit", None)
    if choose is None:
        return Admitted(np.ones(len(asked_in), bool), np.zeros(len(asked_in), bool))
    found: Admitted = choose(now, asked_in)
    return found


def staleness_weight(kind: str, staleness: np.ndarray) -> np.ndarray:
    """Returns s(tau), `float64 [m]`: 1, 1 / sqrt(1 + tau) or 1 / (1 + tau).

    Args:
        kind: One of `STALENESS_WEIGHTS`.
        staleness: tau, at least 0, `int [m]`.

    Examples:
        >>> import numpy as np
        >>> from f3ast_tff.methods.parts.late import staleness_weight
        >>> staleness_weight("root", np.array([0, 3])).tolist()
        [1.0, 0.5]
    """
    power = {"constant": 0.0, "root": 0.5, "inverse": 1.0}[kind]
    return (1.0 + staleness) ** -power
