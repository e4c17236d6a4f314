"""Start of the clients of a wave, and changes of their values, by the rules of a memory."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
from jax.flatten_util import ravel_pytree

from f3ast_tff.engines.jax.local_sgd import LocalStart, Trained
from f3ast_tff.engines.jax.optimizers import Tree
from f3ast_tff.engines.jax.server_step import ClientsKept, MemoryInputs, ServerState, with_average
from f3ast_tff.methods.parts.memory import (
    Client,
    ClientInit,
    ClientLosses,
    Memory,
    RoundContext,
    Values,
)


@dataclass(frozen=True)
class ClientRound:
    """`Memory.client` and `Memory.after_client` for the clients of a cohort, wave by wave.

    Attributes:
        memory: The rules.
        state: State before the round.
        now: The round.
        inputs: Share and number of each lane's client.
        steps: Local steps of each lane's client, `[waves, lanes]`.
        rates: Learning rate of each update, `[waves, lanes]`, if updates are of several rounds.
        weights: Weight of each update, `[waves, lanes]`; read by messages alone.
    """

    memory: Memory
    state: ServerState
    now: RoundContext
    inputs: MemoryInputs
    steps: Any
    rates: Any = None
    weights: Any = None

    def _clients(self, w: Any, clients: ClientsKept) -> Client:
        kept = {name: values[w] for name, values in clients.kept.items()}
        return Client(kept, self.inputs.share[w], self.steps[w])

    def train(
        self, w: Any, clients: ClientsKept, train: Callable[[LocalStart], Trained]
    ) -> tuple[Trained, Any, Any, Any]:
        """Trains a wave.

        Args:
            w: Number of the wave.
            clients: Memory before this wave's updates.
            train: `LocalSgd.wave` of this wave.

        Returns:
            The trained clients, their updates D_k and the sent updates, both
            `[lanes, num_weights]`, and the factors of their weights, `[lanes]` or `None`. With an
            `echo_clip` a sent update is scale * D_k followed by the shift.
        """
        _, unravel = ravel_pytree(self.state.weights)
        now, begin = self.now, self._starts(w, clients)
        start = LocalStart(self.state.weights)
        if begin.model is not None:
            start = start._replace(model=jax.vmap(unravel)(begin.model), own_model=True)
        if begin.offset is not None:
            start = start._replace(offset=jax.vmap(unravel)(begin.offset), own_offset=True)
        if begin.pull is not None:
            start = start._replace(pull=begin.pull)
        if begin.trains is not None:
            start = start._replace(trains=jax.vmap(unravel)(begin.trains))
        trained = train(start)
        before = now.model if begin.model is None else begin.model
        if self.memory.last_step:
            before = _flat_lanes(trained.previous)
        delta = _flat_lanes(trained.weights) - before
        sent = self._sent(begin, delta)
        if not self.memory.has_messages:
            return trained, delta, sent, None
        return trained, delta, *self._messages(w, clients, sent, trained)

    def sent(self, w: Any, clients: ClientsKept, delta: Any, trained: Trained) -> tuple[Any, Any]:
        """Returns sent updates and factors, as `train`, for D_k that were trained earlier."""
        sent = self._sent(self._starts(w, clients), delta)
        if not self.memory.has_messages:
            return sent, None
        return self._messages(w, clients, sent, trained)

    def _messages(
        self, w: Any, clients: ClientsKept, sent: Any, trained: Trained
    ) -> tuple[Any, Any]:
        """`Memory.message` of a wave: vectors and factors of the weights."""
        start = (
            trained.start_loss if self.memory.start_loss else jnp.full_like(trained.loss, jnp.nan)
        )
        losses = ClientLosses(trained.loss / trained.count, start / trained.count)
        now = self.now._replace(server=self.state.memory)

        def message(client: Client, update: Any, losses: ClientLosses) -> tuple[Any, Any]:
            vector, factor = self.memory.message(client, update, losses, now)
            return vector, jnp.asarray(factor, jnp.float32)

        of_wave = self._clients(w, clients)._replace(weight=self.weights[w], id=self.inputs.ids[w])
        found: tuple[Any, Any] = jax.vmap(message)(of_wave, sent, losses)
        return found

    def _starts(self, w: Any, clients: ClientsKept) -> ClientInit:
        server, now = self.state.memory, self.now
        start: ClientInit = jax.vmap(lambda client: self.memory.client(client, server, now))(
            self._clients(w, clients)
        )
        return start

    def _sent(self, begin: ClientInit, delta: Any) -> Any:
        if self.memory.echo_clip is None:
            return jax.vmap(ClientInit.sent)(begin, delta)
        scaled = jax.vmap(ClientInit.sent)(begin._replace(shift=None), delta)
        return jnp.concatenate([scaled, begin.shift], axis=1)

    def note(self, w: Any, clients: ClientsKept, delta: Any, finite: Any) -> ClientsKept:
        """Returns the memory after a wave's updates; only updates that are `finite` count."""
        before, now = self._clients(w, clients), self.now

        def noted_of(client: Client, update: Any, rate: Any = now.learning_rate) -> Values:
            of_client = now._replace(learning_rate=rate)
            return self.memory.after_client(client, update, self.state.memory, of_client)

        rates = () if self.rates is None else (self.rates[w],)
        noted = jax.vmap(noted_of)(before, delta, *rates)
        after = {
            name: jnp.where(finite.reshape(finite.shape + (1,) * (new.ndim - 1)), new, old)
            for (name, old), new in zip(before.kept.items(), (noted[name] for name in before.kept))
        }
        kept = {name: values.at[w].set(after[name]) for name, values in clients.kept.items()}
        server = dict(clients.server)
        for name in self.memory.totals:
            server[f"total_{name}"] += jnp.sum(after[name] - before.kept[name])
        for name in self.memory.averages:
            server = with_average(
                server,
                name,
                share=before.share,
                before=before.kept[name],
                after=after[name],
                changed=finite,
            )
        return ClientsKept(kept, clients.finite.at[w].set(finite), server)


def _flat_lanes(models: Tree) -> Any:
    """Models of a wave as vectors, `[lanes, num_weights]`."""
    return jax.vmap(lambda weights: ravel_pytree(weights)[0])(models)
