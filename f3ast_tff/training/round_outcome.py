"""What a round has come to, for the strategy and for the log."""

from __future__ import annotations

import logging

import numpy as np

from f3ast_tff.engines.engine import RoundOutcome
from f3ast_tff.selection.strategy import Outcome
from f3ast_tff.training.delivering import Delivered


def what_came_back(delivered: Delivered, outcome: RoundOutcome) -> Outcome:
    """Returns what the strategy learns of those it selected; of the lost, that they are.

    Args:
        delivered: The cohort.
        outcome: What the engine did with those received, by client.
    """
    received, losses = delivered.received.copy(), np.full(len(delivered.asked), np.nan)
    if len(delivered.cohort):
        assert outcome.received is not None and outcome.client_losses is not None
        losses[received] = outcome.client_losses
        received[received] = outcome.received
    return Outcome(delivered.asked, received, losses)


def warn_of_trouble(t: int, delivered: Delivered, outcome: RoundOutcome) -> None:
    """Logs round t if nobody was received, or updates or their aggregate were not finite."""
    dropped, received = outcome.num_dropped, len(delivered.cohort)
    if received == 0:
        done = "model left alone" if outcome.rejected else "step along the remembered updates"
        asked = len(delivered.asked)
        why = f"no update received of {asked} clients" if asked else "no client available"
        why = f"failed, too few updates of {asked} clients arrived" if delivered.failed else why
        logging.warning("round %d: %s, %s", t, why, done)
    elif dropped:
        logging.warning("round %d: dropped %d non-finite updates of %d", t, dropped, received)
    if outcome.rejected and dropped < received:
        logging.warning("round %d: the aggregate is not finite, model left alone", t)
