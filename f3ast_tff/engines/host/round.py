"""The rules of a round in NumPy: where clients start, what they add up to, what is remembered."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from f3ast_tff.engines.host.server import weighted_sum
from f3ast_tff.engines.host.sums import Sent, clients_of, combined
from f3ast_tff.methods.parts.aggregation import Aggregation
from f3ast_tff.methods.parts.host_memory import Advanced, Delivered, HostMemory
from f3ast_tff.methods.parts.memory import ClientInit, ClientLosses, RoundContext, Values


@dataclass(frozen=True)
class Folded:
    """Contributions of a cohort, added up.

    Attributes:
        sent: The contributions, messages if a memory has some.
        delta: Delta of those that are finite, `float32 [num_weights]`, see `Memory`.
        changed: Server values that `Aggregation.combine_round` has changed.
    """

    sent: Sent
    delta: np.ndarray
    changed: Values


@dataclass(frozen=True)
class HostRound:
    """The rules of a round, of an aggregation and its memory; an engine trains and steps.

    The order is that of F3AST's Algorithm 1: clients train from their `starts`, `fold` adds up what
    they sent (line 9), the engine steps along Delta, and `remember` closes the round.

    Attributes:
        aggregation: Rule from the updates to Delta.
        memory: Its memory, if any.
        number: Round t.
        model: w_t, `float32 [num_weights]`.
        now: Values common to all clients, if there is a memory.
    """

    aggregation: Aggregation
    memory: HostMemory | None
    number: int
    model: np.ndarray
    now: RoundContext | None

    @classmethod
    def begin(
        cls,
        aggregation: Aggregation,
        memory: HostMemory | None,
        *,
        number: int,
        rate: float,
        model: np.ndarray,
    ) -> HostRound:
        """Returns round `number` of clients with learning rate `rate`."""
        now = None if memory is None else memory.now(number, rate, model)
        return cls(aggregation, memory, number, model, now)

    def starts(self, ids: np.ndarray, steps: np.ndarray) -> list[ClientInit]:
        """Returns the start of each client, `[m]`; empty without a memory."""
        if self.memory is None or self.now is None:
            return []
        return self.memory.starts(ids, steps, self.now)

    def at_this_rate(self, updates: np.ndarray, rates: np.ndarray | None) -> np.ndarray:
        """Returns late updates, `[m, num_weights]`, made at client rates `float32 [m]`, at now's.

        A memory of clients compares updates of several rounds, as gradients.
        """
        if rates is None or self.memory is None or not self.memory.rules.by_client:
            return updates
        assert self.now is not None
        return updates * np.reshape(self.now.learning_rate / rates, (-1, 1))

    def mean(self) -> bool:
        """Returns whether the cohort's weights are divided by their sum."""
        normalise = self.aggregation.normalise
        if self.memory is None or self.now is None:
            return normalise
        return self.memory.mean(normalise, self.now)

    def correction(self) -> np.ndarray:
        """Returns the term that a memory adds to Delta, `float32 [num_weights]`."""
        if self.memory is None or self.now is None:
            return np.zeros_like(self.model)
        return self.memory.correction(self.now)

    def fold(
        self, sent: Sent, losses: Callable[[], Sequence[ClientLosses]] | None = None
    ) -> Folded:
        """Adds up what clients sent; what is not finite is left out.

        Args:
            sent: Contributions of the cohort.
            losses: Function that returns each client's losses, for `Memory.message`.
        """
        memory, now = self.memory, self.now
        if memory is None or now is None:
            delta, changed = self._summed(sent)
            return Folded(sent, delta, changed)
        if memory.rules.has_messages and losses is not None:
            sent = sent.with_messages(memory, losses(), now)
        entered = self._entered(sent.weights, sent.steps, sent.finite)
        delta, changed = entered._summed(sent)
        assert entered.now is not None
        delta = memory.aggregated(delta, entered.now) + entered.correction()
        return Folded(sent, delta, changed)

    def _entered(self, weights: np.ndarray, steps: np.ndarray, finite: np.ndarray) -> HostRound:
        """The same with the sums of the cohort, for a memory."""
        if self.memory is None or self.now is None:
            return self
        return replace(self, now=self.memory.after_training(self.now, weights, steps, finite))

    def _summed(self, sent: Sent) -> tuple[np.ndarray, Values]:
        aggregation, memory = self.aggregation, self.memory
        if aggregation.stacks:
            server, kept = ({}, {}) if memory is None else memory.before_round(clients_of(sent))
            return combined(
                aggregation,
                sent.applied(),
                round_number=self.number,
                model=self.model,
                server=server,
                kept=kept,
            )
        delta = weighted_sum(
            sent.updates[sent.finite],
            sent.weights[sent.finite],
            [start for start, there in zip(sent.starts, sent.finite) if there],
            mean=self.mean(),
            echo_clip=None if memory is None else memory.rules.echo_clip,
            may_be_zero=memory is not None,
        )
        return delta, {}

    def remember(self, delivered: Delivered, weights: np.ndarray) -> Advanced:
        """Closes the round after the server's step along Delta.

        Args:
            delivered: The updates and the step.
            weights: Weights of the updates in Delta, `float [m]`.
        """
        if self.memory is None:
            counts = delivered.fine and bool(delivered.finite.any())
            return Advanced(counts, counts, delivered.model if counts else self.model, fits=True)
        entered = self._entered(weights, delivered.steps, delivered.finite)
        assert entered.now is not None
        return self.memory.advance(delivered, entered.now)
