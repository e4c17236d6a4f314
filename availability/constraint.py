"""Communication constraints: how many clients the server can talk to in a round."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol


class CommunicationConstraint(Protocol):
    """K_t of Sec. III-A, a function of the round alone."""

    def k(self, round_number: int) -> int:
        """Returns the most clients that may take part in round t, at least 1."""
        ...


@dataclass(frozen=True)
class FixedK:
    """The same number every round.

    Attributes:
        clients_per_round: K, at least 1.
    """

    clients_per_round: int

    def k(self, round_number: int) -> int:
        """See `CommunicationConstraint.k`."""
        return self.clients_per_round
