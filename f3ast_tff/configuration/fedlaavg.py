"""FedLaAvg and its variant from settings."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from f3ast_tff.selection import LongestAbsent, Proportional, Switching

if TYPE_CHECKING:
    from f3ast_tff.configuration.settings import Settings


def longest_absent(s: Settings, p: np.ndarray) -> LongestAbsent:
    """Returns FedLaAvg's selection."""
    return LongestAbsent(p, random_ties=s.ties == "random", seed=s.seed)


def fedavg_then_fedlaavg(s: Settings, p: np.ndarray, fedavg: Proportional) -> Switching:
    """Returns FedAvg's selection up to `--switch_round`, FedLaAvg's from it on."""
    return Switching(fedavg, longest_absent(s, p), s.switch_round)


def first_round(s: Settings) -> int:
    """Returns the round from which the model follows the latest updates of all clients."""
    return s.switch_round if s.algorithm == "fedavg_then_fedlaavg" else 1
