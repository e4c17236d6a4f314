"""Late updates: the server's choice among arrived updates, and the weight of stale updates."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from f3ast_tff.methods.parts.strategy import BaseStrategy, Round, Strategy

# s(tau), the factor of an update that is tau steps stale.
STALENESS_WEIGHTS = ("constant", "root", "inverse")


class Taken(NamedTuple):
    """The server's choice among the arrived updates; unchosen updates wait for a later round.

    Attributes:
        enters: Updates of this round's aggregate, `bool [m]`.
        dropped: Updates that never enter, `bool [m]`.

    Examples:
        >>> import numpy as np
        >>> from f3ast_tff.methods import Round, RoundConstraint
        >>> from f3ast_tff.methods.parts.late import Taken, taken_by
        >>> class Fresh:
        ...     def taken(self, now, asked_in):
        ...         fresh = now.number - asked_in < 3
        ...         return Taken(enters=fresh, dropped=~fresh)
        >>> now = Round(9, np.ones(4, bool), RoundConstraint(2))
        >>> taken_by(Fresh(), now, np.array([9, 8, 5])).dropped.tolist()
        [False, False, True]
    """

    enters: np.ndarray
    dropped: np.ndarray


def taken_by(strategy: Strategy, now: Round, asked_in: np.ndarray) -> Taken:
    """Returns a strategy's choice by its method `taken`; without that method, every update.

    Args:
        strategy: The strategy; its state does not move.
        now: The round.
        asked_in: Round in which the client of each update was asked, `int64 [m]`.
    """
    choose = getattr(strategy, "taken", None)
    if choose is None:
        return Taken(np.ones(len(asked_in), bool), np.zeros(len(asked_in), bool))
    found: Taken = choose(now, asked_in)
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


class Buffered(BaseStrategy):
    """Base of strategies whose server steps once M updates have arrived.

    Then all arrived updates enter. Updates arrive by rounds, so there may be more than M. Staleness
    is counted as in the papers: the server's steps between the model that the client was sent and
    the step that its update enters.

    Attributes:
        buffer: M, at least 1.
    """

    buffer: int

    def __init__(self, buffer: int) -> None:
        """Starts before the server's first step."""
        self.buffer = buffer
        # Rounds in which the server has stepped, rising.
        self._stepped = np.zeros(0, np.int64)

    def taken(self, now: Round, asked_in: np.ndarray) -> Taken:
        """See `taken_by`."""
        full = len(asked_in) >= self.buffer
        return Taken(np.full(len(asked_in), full), np.zeros(len(asked_in), bool))

    def staleness(self, asked_in: np.ndarray) -> np.ndarray:
        """Returns the number of steps since a client was asked, `int64 [m]`, before this round's.

        A client asked in a round is sent the model before that round's step.
        """
        return len(self._stepped) - np.searchsorted(self._stepped, asked_in)

    def step(self, round_number: int) -> None:
        """Records that the server steps in a round."""
        self._stepped = np.append(self._stepped, np.int64(round_number))

    def state(self) -> dict[str, np.ndarray]:
        """Returns the rounds in which the server has stepped."""
        return {"stepped": self._stepped.copy()}

    def restore(self, state: dict[str, Any]) -> None:
        """Restores a result of `state`.

        Raises:
            ValueError: If the rounds are missing.
        """
        if "stepped" not in state:
            raise ValueError("saved steps lack stepped")
        self._stepped = np.array(state["stepped"], np.int64)
